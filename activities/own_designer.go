package activities

import (
	"context"

	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/plan"
)

// OwnDesigner is the experiment's own model as a designer: it is made to answer while
// it is asked, in a workflow's design and in a replay of one.
type OwnDesigner struct {
	// Model is the sha256 of the model's model.json, as in plan.Design.
	Model string

	acts   *Activities
	in     DesignInput
	model  model
	prices *endpoint.Prices
}

// NewOwnDesigner finds the model that a design of kind trained or base asks. Of the
// activities it needs Steps, Models, Asker and Folder. Prices are those of the model;
// nil: they are not known. It starts no server: Propose does.
func NewOwnDesigner(ctx context.Context, acts *Activities, in DesignInput, prices *endpoint.Prices) (*OwnDesigner, error) {
	m, err := acts.ownModel(ctx, in)
	if err != nil {
		return nil, err
	}
	return &OwnDesigner{Model: m.sum, acts: acts, in: in, model: m, prices: prices}, nil
}

// Propose implements designer.Designer: the model is made to answer, asked, and let go.
func (d *OwnDesigner) Propose(ctx context.Context, r designer.Request) (designer.Proposal, error) {
	label := plan.LabelBase
	if d.model.Checkpoint != nil {
		label = plan.LabelRound(d.in.Where.Round)
	}
	use, err := d.acts.use(ctx, d.in.Spec, d.model, label, func(_, _ int, note string) { r.Beat(note) })
	if err != nil {
		return designer.Proposal{}, err
	}
	defer func() { use.Done(givenUp(ctx)) }()
	asked, err := d.acts.Asker(use)
	if err != nil {
		return designer.Proposal{}, err
	}
	return asked.Propose(ctx, r)
}

// Price is what so many tokens cost; false if that is not known.
func (d *OwnDesigner) Price(promptTokens, replyTokens int) (money float64, known bool) {
	if d.prices == nil {
		return 0, false
	}
	return d.prices.Cost(promptTokens, replyTokens), true
}
