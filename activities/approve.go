package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"floe/internal/artifact"
	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/plan"
)

// FileDecision is what a person decided about a proposal, and why.
const FileDecision = "decision.json"

// DocDecision is the document that finds a round's decision again when the
// experiment is run again.
func DocDecision(round int) string { return plan.DocDecision(round) }

// decisionVersion changes whenever the same decision would be used differently.
const decisionVersion = "1"

// Decision is what a person says about a proposal.
type Decision struct {
	Verdict string `json:"verdict"` // experiment.VerdictApproved, ...
	By      string `json:"by"`
	At      string `json:"at"` // RFC 3339, UTC
	Note    string `json:"note,omitempty"`
	// Rationale and Curriculum are of an edit.
	Rationale  string                 `json:"rationale,omitempty"`
	Curriculum *experiment.Curriculum `json:"curriculum,omitempty"`
}

// DecideInput makes a decision durable.
type DecideInput struct {
	Where      Where             `json:"where"`
	Spec       experiment.Spec   `json:"spec"`
	Curriculum experiment.StepID `json:"curriculum"` // of the round, which a rejection keeps
	Scorecard  experiment.StepID `json:"scorecard"`  // of the round, which the guard reads
	Proposal   experiment.StepID `json:"proposal"`
	Reason     string            `json:"reason"` // why a person was waited for
	Decision   Decision          `json:"decision"`
}

// Decided is a stored decision.
type Decided struct {
	Done
	Verdict   string `json:"verdict"`
	By        string `json:"by"`
	At        string `json:"at"`
	Outcome   string `json:"outcome"` // of the design, as decided
	Rationale string `json:"rationale"`
	Changes   int    `json:"changes"` // against the round's curriculum
}

// foundDecision is the document DocDecision.
type foundDecision struct {
	Proposal experiment.StepID `json:"proposal"`
	Decided  Decided           `json:"decided"`
}

// Decide stores what a person decided about a proposal and what is used from
// then on. An edited curriculum is brought into the legal space as a designer's
// is; one of which nothing can be drawn is bad input.
func (a *Activities) Decide(ctx context.Context, in DecideInput) (Decided, error) {
	inputs := struct {
		Version string `json:"version"` // of the code
		Name    string `json:"name"`
		DecideInput
	}{decisionVersion, in.Spec.Name, in}
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindDecision, inputs, func(ctx context.Context, _ *artifact.Hold, _ func(int, int, string)) ([]artifact.Body, error) {
		t, err := a.decide(ctx, in)
		if err != nil {
			return nil, err
		}
		return jsonFiles(FileTranscript, t, FileCurriculum, t.Used, FileDecision, t.Decision)
	})
	if err != nil {
		return Decided{}, err
	}
	var t experiment.Transcript
	if err := a.Steps.ReadJSON(ctx, m, FileTranscript, &t); err != nil {
		return Decided{}, classify(ctx, err)
	}
	out := Decided{
		Done: done, Verdict: t.Decision.Verdict, By: t.Decision.By, At: t.Decision.At,
		Outcome: t.Outcome, Rationale: brief(t.Rationale), Changes: len(t.Changes),
	}
	return out, classify(ctx, a.putJSON(ctx, in.Spec.Name, DocDecision(in.Where.Round), foundDecision{in.Proposal, out}))
}

// decide is the transcript of the proposal as the decision leaves it.
func (a *Activities) decide(ctx context.Context, in DecideInput) (experiment.Transcript, error) {
	t, err := plan.Load[experiment.Transcript](ctx, a.Steps, in.Proposal, FileTranscript)
	if err != nil {
		return t, err
	}
	present, err := plan.Load[experiment.Curriculum](ctx, a.Steps, in.Curriculum, FileCurriculum)
	if err != nil {
		return t, err
	}
	d := &experiment.Decision{
		Verdict: in.Decision.Verdict, By: in.Decision.By, At: in.Decision.At, Note: in.Decision.Note, Reason: in.Reason,
		Proposal: in.Proposal, Proposed: t.Used, Outcome: t.Outcome, Rationale: t.Rationale,
	}
	switch d.Verdict {
	case experiment.VerdictApproved:
	case experiment.VerdictRejected:
		t.Used, t.Outcome = present.Clone(), d.Verdict
		t.Rationale = fmt.Sprintf("The last curriculum stays: %s rejected the proposal: %s", d.By, d.Note)
	case experiment.VerdictEdited:
		if err := a.edit(in, present, &t, d); err != nil {
			return t, err
		}
	default:
		return t, badInput(fmt.Errorf("verdict %q; want %s, %s or %s", d.Verdict, experiment.VerdictApproved, experiment.VerdictEdited, experiment.VerdictRejected))
	}
	if d.Verdict != experiment.VerdictApproved {
		if t.Warning, err = a.warning(ctx, in, t.Used); err != nil {
			return t, err
		}
	}
	d.Changes = append([]experiment.Change{}, curriculum.Diff(d.Proposed, t.Used)...)
	t.Changes = append([]experiment.Change{}, curriculum.Diff(present, t.Used)...)
	t.By, t.Decision = d.By, d
	return t, nil
}

// warning says what the guard against trivial environments finds in what is used
// in place of a proposal. It asks nobody any more: a person has just decided.
func (a *Activities) warning(ctx context.Context, in DecideInput, used experiment.Curriculum) (string, error) {
	if in.Spec.Designer.Trivial == designer.TrivialIgnore {
		return "", nil
	}
	card, err := plan.Load[experiment.Scorecard](ctx, a.Steps, in.Scorecard, FileScorecard)
	return designer.TrivialWarning(used, card), err
}

// edit puts the person's curriculum in the place of the proposed one.
func (a *Activities) edit(in DecideInput, present experiment.Curriculum, t *experiment.Transcript, d *experiment.Decision) error {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return badInput(err)
	}
	if in.Decision.Curriculum == nil {
		return badInput(errors.New("an edit without a curriculum"))
	}
	used, repairs, err := orders.Legal(in.Spec, e, in.Where.Round+1, *in.Decision.Curriculum, present)
	if err != nil {
		return badInput(err)
	}
	d.Asked, d.Repairs = in.Decision.Curriculum, repairs
	t.Used, t.Outcome = used, d.Verdict
	t.Rationale = "Edited by " + d.By + "."
	for _, words := range []string{in.Decision.Rationale, in.Decision.Note} {
		if words = strings.TrimSpace(words); words != "" {
			t.Rationale = words
			break
		}
	}
	return nil
}

// found is the decision about a proposal that an earlier run of the experiment
// stored; nil if there is none.
func (a *Activities) found(ctx context.Context, in DesignInput, proposal experiment.StepID) (*Decided, error) {
	doc := DocDecision(in.Where.Round)
	body, err := a.Steps.GetDoc(ctx, in.Spec.Name, doc)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f foundDecision
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", doc, in.Spec.Name, err)
	}
	if f.Proposal != proposal {
		return nil, nil // about a proposal that other evidence or other code has replaced
	}
	if _, there, err := a.Steps.Find(ctx, f.Decided.ID); err != nil || !there {
		return nil, err // set aside, perhaps: then a person is asked again
	}
	f.Decided.Reused = true
	return &f.Decided, nil
}

// person is the designer of kind human. It proposes what stands: the person
// changes it, or not, while the round waits.
type person struct{}

func (person) Propose(context.Context, designer.Request) (designer.Proposal, error) {
	return designer.Proposal{Rationale: "The last curriculum, for a person to edit."}, nil
}
