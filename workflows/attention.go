package workflows

import (
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// Retry is the answer to a failure: try again, perhaps from an earlier step, or
// with another spec.
type Retry struct {
	// Round to go on from; the one that failed when absent. The rounds after it
	// are done again as far as what they start from has changed.
	Round *int `json:"round,omitempty"`
	// From is the step to make anew although it is done: generate, train,
	// validate, design, or benchmark-K.
	From string `json:"from,omitempty"`
	// Spec is the whole new spec, and Set says in words what it changes.
	Spec   *experiment.Spec `json:"spec,omitempty"`
	Set    []string         `json:"set,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

// decision is what somebody decided about a failure.
type decision struct {
	verb   string
	reason string
	retry  Retry
}

// adopts says whether a decision goes on with the job that a failed training left: a
// retry with the same spec from the same step.
func (d decision) adopts() bool {
	return d.verb == VerbRetry && d.retry.Spec == nil && d.retry.Round == nil && d.retry.From == ""
}

// errAgain says that the course is to be gone through again.
var errAgain = errors.New("again")

// try does one piece of the experiment. A piece that fails for good leaves the
// experiment waiting until somebody decides: to try again (errAgain), to leave
// the piece out, or to give up.
func (e *arm) try(ctx workflow.Context, step string, piece func(workflow.Context) error) error {
	if err := e.hold(ctx); err != nil {
		return err
	}
	err := piece(ctx)
	if e.status.State == StateOutage {
		if err := e.enter(ctx, e.before); err != nil {
			return err
		}
	}
	if err == nil || !e.waits || ctx.Err() != nil {
		return err
	}
	f := failureOf(err, e.where.Round, step, e.spec.Limits)
	f.Skippable = f.Step == "design" || f.Step == "publish" || strings.HasPrefix(f.Step, "benchmark-")
	d, waitErr := e.attention(ctx, f)
	if !d.adopts() {
		e.stopLeft(ctx, f.Round, f.Job)
	}
	if waitErr != nil {
		return waitErr
	}
	switch d.verb {
	case VerbAbort:
		return temporal.NewNonRetryableApplicationError("aborted: "+d.reason+"; "+f.place(e.spec.Rounds)+": "+f.Message, KindAborted, err)
	case VerbSkip:
		return e.leaveOut(f, d.reason)
	case VerbRetry:
		e.rewind(f, d.retry)
	}
	return errAgain
}

// attention waits for a decision. What failed is said wherever a person may
// look: in the status, on top of the page in the UI, in the search attributes.
func (e *arm) attention(ctx workflow.Context, f Failure) (decision, error) {
	e.decided, e.status.Failure, e.status.Cause = nil, &f, f.Sentence(e.spec.Name, e.spec.Rounds)
	e.note(ctx, activities.Event{Verb: StateAttention, Reason: f.Message, Round: f.Round, Step: f.Step})
	if err := e.enter(ctx, StateAttention); err != nil {
		return decision{}, err
	}
	if err := workflow.Await(ctx, func() bool { return e.decided != nil }); err != nil {
		return decision{}, err
	}
	return *e.decided, nil
}

// leaveOut goes on without a step: the curriculum stays where a design failed, a
// benchmark becomes a hole, the report stays as it was last written.
func (e *arm) leaveOut(f Failure, reason string) error {
	switch f.Step {
	case "publish":
		return nil
	case "design":
		e.skip = reason
	default:
		e.status.Skipped = append(e.status.Skipped, f.Step)
	}
	return errAgain
}

// rewind puts the experiment back to where a retry wants it to go on. Artifacts
// stay; what is not to be made anew is found done.
func (e *arm) rewind(f Failure, r Retry) {
	if f.Kind == activities.KindMissing && r.Round == nil && r.From == "" {
		e.fromStart()
	}
	round := f.Round
	if r.Round != nil {
		round = *r.Round
	}
	if r.From != "" {
		e.redo = append(e.redo, activities.Redo{Round: round, Step: r.From})
	}
	if r.Spec != nil {
		e.spec, e.registered, e.status.Rounds = *r.Spec, false, r.Spec.Rounds
	}
	if keep := max(0, round); keep < len(e.refs.Rounds) {
		e.refs.Rounds = e.refs.Rounds[:keep]
		e.refs.Benchmarks = nil
		e.status.Done = e.status.doneBefore(keep)
	}
}

// fromStart has the experiment go through all its steps again: those that are there
// are reused, and one that was lost is made anew.
func (e *arm) fromStart() {
	e.refs = activities.Refs{}
	e.registered, e.forked = false, false
	e.status.Base, e.status.Done = nil, nil
}
