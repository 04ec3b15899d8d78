package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// KindDecision is a person's word about a design. It belongs to one experiment.
const KindDecision = "decision"

// DocDecision is the document that finds a round's decision again when the
// experiment is run again.
func DocDecision(round int) string { return fmt.Sprintf("decision-round-%d.json", round) }

// NeedsApproval says why a person must decide about a design; "" if none must.
// After the last round nobody does: no round would use what is decided. Of a
// design that is still to come, the zero transcript says what is known before.
func NeedsApproval(spec experiment.Spec, round int, t experiment.Transcript) string {
	switch d := spec.Designer; {
	case round+1 >= spec.Rounds:
		return ""
	case d.Kind == "human":
		return "the designer is a person"
	case t.NeedsApproval != "":
		return t.NeedsApproval
	case d.Approve:
		return "the experiment wants each proposal approved"
	}
	return ""
}

// decide is what the next round uses: the proposal, or what a person makes of it.
// What they will say is not known, so the open key of a decision is the
// experiment's own, and nothing after it counts as shared.
func (d *draft) decide(at string, n int, proposal output) output {
	sure, maybe := d.gated(n, proposal)
	if !sure && !maybe {
		return proposal
	}
	inputs := struct {
		Experiment string `json:"experiment"`
		Round      int    `json:"round"`
	}{d.spec.Name, n}
	if !sure { // the guard may ask: no step of its own yet, and no promise of sharing either
		identity, err := Identify(d.spec, KindDecision, unfinished{inputs, ids([]output{proposal})}, 0)
		d.fail(err)
		return output{id: identity.ID}
	}
	d.steps[len(d.steps)-1].Path = at + "proposal"
	if id, ok := d.decided(n, proposal); ok {
		return d.add(at+"design", id, false, []output{proposal})
	}
	return d.open(at+"design", KindDecision, inputs, proposal)
}

// gated says whether a person decides about a proposal for sure, or perhaps.
func (d *draft) gated(n int, proposal output) (sure, maybe bool) {
	var t experiment.Transcript
	if proposal.done() {
		var err error
		t, err = Load[experiment.Transcript](d.ctx, *d.planner.steps, proposal.id, FileTranscript)
		d.fail(err)
	}
	sure = NeedsApproval(d.spec, n, t) != ""
	return sure, !sure && !proposal.done() && n+1 < d.spec.Rounds && d.spec.Designer.Trivial == designer.TrivialStop
}

// decided finds the decision that an earlier run of this experiment stored.
func (d *draft) decided(n int, proposal output) (experiment.StepID, bool) {
	var none experiment.StepID
	if !proposal.done() {
		return none, false
	}
	body, err := d.planner.steps.GetDoc(d.ctx, d.spec.Name, DocDecision(n))
	if errors.Is(err, artifact.ErrNotFound) {
		return none, false
	}
	id, about, err := Decided(body, err)
	d.fail(err)
	return id, err == nil && about == proposal.id && d.look(id) != nil
}

// Decided reads from a document DocDecision which step holds the decision, and
// about which proposal it is.
func Decided(body []byte, err error) (decision, proposal experiment.StepID, _ error) {
	var doc struct {
		Proposal experiment.StepID `json:"proposal"`
		Decided  struct {
			ID experiment.StepID `json:"id"`
		} `json:"decided"`
	}
	if err == nil {
		err = json.Unmarshal(body, &doc)
	}
	if err != nil {
		err = fmt.Errorf("read a decision: %w", err)
	}
	return doc.Decided.ID, doc.Proposal, err
}
