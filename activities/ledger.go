package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// callDoc begins the names of the documents that hold an experiment's model
// calls, one document a call. Together they are its ledger: a call that was served
// counts as soon as it was made, whatever becomes of the attempt, the workflow or the
// worker that made it, so that no number of retries spends more than the experiment
// may. Earlier versions entered calls that were not served too; they count for nothing.
const callDoc = "model-call-"

// modelCall is one entry of the ledger.
type modelCall struct {
	Round int                `json:"round"` // whose evidence was shown
	Try   string             `json:"try"`   // the activity's attempt, as artifacts name it
	Call  experiment.Attempt `json:"call"`
}

// purse is what this design may still spend, and the ledger it is entered in: the
// experiment's limits less all calls that were ever served under its name. Nothing
// else counts calls.
func (a *Activities) purse(ctx context.Context, in DesignInput) (designer.Limits, error) {
	made, err := ledger(ctx, a.Steps, in.Spec.Name)
	if err != nil {
		return designer.Limits{}, err
	}
	limits := in.Spec.Limits
	l := designer.Limits{Record: func(call experiment.Attempt) error {
		if call.Class == string(designer.ClassUnavailable) {
			activity.GetLogger(ctx).Warn("a model call was served and brought no reply", "fault", call.Fault)
		}
		return a.enter(ctx, in, call)
	}}
	for _, doc := range made {
		c, err := a.readCall(ctx, in.Spec.Name, doc)
		if err != nil {
			return designer.Limits{}, err
		}
		l.Served.Add(c)
	}
	l.Calls, l.Tokens = limits.ModelCalls-l.Served.Calls, limits.ModelTokens-l.Served.Tokens
	if limits.ModelCost > 0 {
		cost := limits.ModelCost - l.Served.Cost
		l.Cost = &cost
	}
	return l, nil
}

// ledger names the entries of an experiment's ledger.
func ledger(ctx context.Context, steps artifact.Steps, name string) ([]string, error) {
	docs, err := steps.ListDocs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list the model calls of %s: %w", name, err)
	}
	return slices.DeleteFunc(docs, func(doc string) bool { return !strings.HasPrefix(doc, callDoc) }), nil
}

func (a *Activities) readCall(ctx context.Context, name, doc string) (experiment.Attempt, error) {
	var c modelCall
	body, err := a.Steps.GetDoc(ctx, name, doc)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		return c.Call, fmt.Errorf("read the model call %s: %w", doc, err)
	}
	return c.Call, nil
}

// enter puts a call into the ledger. The worker going down must not keep a call
// that was made from being counted.
func (a *Activities) enter(ctx context.Context, in DesignInput, call experiment.Attempt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	try := a.claimant(ctx, in.Where).Attempt
	doc := callDoc + time.Now().UTC().Format("20060102T150405.000000000Z") + "-" + try + ".json"
	return a.putJSON(ctx, in.Spec.Name, doc, modelCall{Round: in.Where.Round, Try: try, Call: call})
}

const ledgerPatience = 10 * time.Second
