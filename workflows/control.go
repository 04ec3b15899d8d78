package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/retry"
)

// Verbs of a Control.
const (
	VerbPause  = "pause"  // finish the running step, begin no other
	VerbResume = "resume" // go on
	VerbStop   = "stop"   // finish the running round, then end with a report
	VerbCancel = "cancel" // end now
	VerbSkip   = "skip"   // go on without the step that failed
	VerbAbort  = "abort"  // give up after a failure
	VerbRetry  = "retry"  // try the step that failed again
)

// Control steers an experiment.
type Control struct {
	Verb   string `json:"verb"`
	Reason string `json:"reason,omitempty"`
}

// listen takes in what activities, rounds and people say.
func (e *arm) listen(ctx workflow.Context) error {
	every(ctx, SignalProgress, func(ctx workflow.Context, p activities.Progress) {
		if Outdated(p, e.status.Progress) || e.status.Reported(p.Round) {
			return // of a step that has ended
		}
		e.status.Progress = p
		e.outage(ctx, p.Outage)
		e.status.show(ctx)
	})
	every(ctx, SignalControl, func(ctx workflow.Context, c Control) {
		if err := e.mayControl(c); err != nil {
			workflow.GetLogger(ctx).Warn("refused", "verb", c.Verb, "error", err)
			return
		}
		e.control(ctx, c)
	})
	every(ctx, SignalHeld, e.held)
	every(ctx, SignalTags, func(ctx workflow.Context, tags []string) {
		if err := workflow.UpsertTypedSearchAttributes(ctx, AttrTags.ValueSet(tags)); err != nil {
			workflow.GetLogger(ctx).Warn("tags", "error", err)
		}
	})
	if e.waits {
		workflow.Go(ctx, func(ctx workflow.Context) {
			ctx.Done().Receive(ctx, nil)
			e.cancelling(ctx)
		})
	}
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSteer, func(ctx workflow.Context, c Control) (Status, error) {
			e.control(ctx, c)
			return e.status, nil
		}, workflow.UpdateHandlerOptions{Validator: e.mayControl, Description: "pause, resume, stop, cancel, skip or abort"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateRetry, func(ctx workflow.Context, r Retry) (Status, error) {
			e.retry(ctx, r)
			return e.status, nil
		}, workflow.UpdateHandlerOptions{Validator: e.mayRetry, Description: "try the step that failed again"}),
	)
}

// outage makes a state of waiting for a service, and ends that state.
func (e *arm) outage(ctx workflow.Context, o *retry.Outage) {
	state := e.status.State
	switch {
	case o != nil && slices.Contains([]string{StatePreparing, StateRunning, StateBenchmarking}, state):
		e.before, state = state, StateOutage
	case o == nil && state == StateOutage:
		state = e.before
	default:
		return
	}
	if err := e.enter(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("state", "error", err)
	}
}

// every calls f with each signal of a name.
func every[T any](ctx workflow.Context, signal string, f func(workflow.Context, T)) {
	ch := workflow.GetSignalChannel(ctx, signal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var v T
			if !ch.Receive(ctx, &v) {
				return
			}
			f(ctx, v)
		}
	})
}

// mayControl says why a verb makes no sense now.
func (e *arm) mayControl(c Control) error {
	waiting := e.status.State == StateAttention && e.decided == nil
	now := fmt.Sprintf("%s is %s", e.spec.Name, e.status.Line())
	switch c.Verb {
	case VerbPause:
		if e.pausing {
			return fmt.Errorf("%s; it is paused already", now)
		}
		if waiting {
			return fmt.Errorf("%s; nothing runs that could be paused", now)
		}
	case VerbResume:
		if !e.pausing {
			return fmt.Errorf("%s; it is not paused", now)
		}
	case VerbStop:
		if e.stopping {
			return fmt.Errorf("%s; it stops already", now)
		}
	case VerbSkip:
		if !waiting {
			return fmt.Errorf("%s; nothing failed that could be skipped", now)
		}
		if !e.status.Failure.Skippable {
			return fmt.Errorf("%s needs the step %s; a design, a benchmark and a report can be skipped", e.spec.Name, e.status.Failure.Step)
		}
	case VerbAbort, VerbRetry:
		if !waiting {
			return fmt.Errorf("%s; nothing failed that could be decided on", now)
		}
	case VerbCancel:
	default:
		return fmt.Errorf("found verb %q; want pause, resume, stop, cancel, skip, abort or retry", c.Verb)
	}
	return nil
}

// control does what a verb says, and notes it.
func (e *arm) control(ctx workflow.Context, c Control) {
	event := activities.Event{Verb: c.Verb, Reason: c.Reason, Round: e.status.Progress.Round, Step: e.status.Progress.Step}
	if f := e.status.Failure; f != nil {
		event.Round, event.Step = f.Round, f.Step
	}
	e.note(ctx, event)
	e.status.Reason = c.Reason
	waiting := e.status.State == StateAttention
	switch c.Verb {
	case VerbPause:
		e.pausing = true
		e.tellRound(ctx)
	case VerbResume:
		e.pausing = false
		e.tellRound(ctx)
	case VerbStop:
		e.stopping = true
		e.release(ctx)
		if e.pausing {
			e.pausing = false
			e.tellRound(ctx)
		}
	case VerbCancel:
		e.cancel()
	}
	if waiting && slices.Contains([]string{VerbSkip, VerbAbort, VerbRetry, VerbStop}, c.Verb) {
		e.decide(decision{verb: c.Verb, reason: cmp.Or(c.Reason, "no reason given")})
	}
	e.status.Stopping, e.status.Pausing = e.stopping, e.pausing
	e.status.show(ctx)
}

// mayRetry checks a retry against what there is.
func (e *arm) mayRetry(r Retry) error {
	if err := e.mayControl(Control{Verb: VerbRetry}); err != nil {
		return err
	}
	f := e.status.Failure
	var errs []error
	if r.Round != nil && (*r.Round < 0 || *r.Round > len(e.refs.Rounds) || *r.Round >= e.spec.Rounds) {
		errs = append(errs, fmt.Errorf("round %d; want one from 0 to %d, which %s has reached", *r.Round, min(len(e.refs.Rounds), e.spec.Rounds-1), e.spec.Name))
	}
	round := f.Round
	if r.Round != nil {
		round = *r.Round
	}
	errs = append(errs, CheckFrom(r.From, round, e.spec))
	if r.Spec != nil {
		errs = append(errs, CheckAmended(e.spec, *r.Spec, max(len(e.refs.Rounds), round+1)))
	}
	return errors.Join(errs...)
}

// CheckFrom says whether a step can be made anew in a round.
func CheckFrom(from string, round int, spec experiment.Spec) error {
	steps := []string{"generate", "train", "validate", "design"}
	switch {
	case from == "":
		return nil
	case round < 0:
		return fmt.Errorf("step %q; steps before round 0 cannot be rerun", from)
	case round >= spec.Rounds:
		steps = nil
		for _, agents := range spec.Benchmarks.Agents {
			steps = append(steps, benchmarkStep(agents))
		}
	}
	if !slices.Contains(steps, from) {
		return fmt.Errorf("step %q; want one of %s", from, strings.Join(steps, ", "))
	}
	return nil
}

// CheckAmended refuses a spec that would make what is done already something
// else: that is another experiment, a fork. Rounds is how many are begun.
func CheckAmended(old, amended experiment.Spec, rounds int) error {
	var errs []error
	for _, f := range []struct {
		field string
		same  bool
	}{
		{"name", old.Name == amended.Name},
		{"environment", old.Environment == amended.Environment},
		{"seed", old.Seed == amended.Seed},
		{"agents", old.Agents == amended.Agents},
		{"objective", old.Objective == amended.Objective},
		{"validation", same(old.Validation, amended.Validation)},
		{"curriculum", same(old.Curriculum, amended.Curriculum)},
		{"trainer.kind", old.Trainer.Kind == amended.Trainer.Kind},
		{"trainer.model", same(old.Trainer.Model, amended.Trainer.Model)},
		// The second round's training goes on from the first one's checkpoint.
		{"the form of the adapter (tuning, lora_rank, lora_targets)", rounds < 2 || adapter(old.Trainer) == adapter(amended.Trainer)},
	} {
		if !f.same {
			errs = append(errs, fmt.Errorf("%s cannot change in a running experiment: it would invalidate completed steps; use starter fork", f.field))
		}
	}
	if amended.Rounds < rounds {
		errs = append(errs, fmt.Errorf("rounds = %d; want at least %d, which are begun", amended.Rounds, rounds))
	}
	return errors.Join(errs...)
}

// adapter is what a checkpoint must agree in with the training that goes on from it.
func adapter(t experiment.TrainerSpec) string {
	if r := t.Recipe; r != nil && r.Tuning == "lora" {
		return fmt.Sprintf("lora of rank %d on %s", r.LoraRank, r.LoraTargets)
	}
	return "all weights"
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

func (e *arm) retry(ctx workflow.Context, r Retry) {
	round := e.status.Failure.Round
	if r.Round != nil {
		round = *r.Round
	}
	e.note(ctx, activities.Event{Verb: VerbRetry, Reason: r.Reason, Round: round, Step: cmp.Or(r.From, e.status.Failure.Step), Set: r.Set})
	e.status.Reason = r.Reason
	e.decide(decision{verb: VerbRetry, reason: r.Reason, retry: r})
	if r.Spec != nil {
		if err := workflow.UpsertMemo(ctx, map[string]any{MemoSpec: *r.Spec}); err != nil {
			workflow.GetLogger(ctx).Warn("memo", "error", err)
		}
	}
}

// decide answers a failure, which is then no more what people are to look at.
func (e *arm) decide(d decision) {
	e.status.Progress = activities.Progress{Round: e.status.Failure.Round, Step: e.status.Failure.Step, Note: d.verb}
	e.decided, e.status.Failure, e.status.Cause = &d, nil, ""
}

// note keeps what somebody did.
func (e *arm) note(ctx workflow.Context, event activities.Event) {
	event.At = workflow.Now(ctx).UTC().Format(time.RFC3339)
	e.status.Events = append(e.status.Events, event)
}

// hold waits while the experiment is paused.
func (e *arm) hold(ctx workflow.Context) error {
	if !e.pausing {
		return nil
	}
	before := e.status.State
	if err := e.enter(ctx, StatePaused); err != nil {
		return err
	}
	if err := workflow.Await(ctx, func() bool { return !e.pausing }); err != nil {
		return err
	}
	return e.enter(ctx, before)
}

// tellRound passes a pause or its end on to the round that runs. A round that
// has ended meanwhile needs no telling.
func (e *arm) tellRound(ctx workflow.Context) {
	if e.child != "" {
		workflow.SignalExternalWorkflow(ctx, e.child, "", SignalHold, e.pausing)
	}
}

// held takes in a round's answer.
func (e *arm) held(ctx workflow.Context, h Held) {
	state := StateRunning
	if h.On {
		state = StatePaused
		e.status.Progress = activities.Progress{Round: h.Round, Step: heldBefore + h.Step}
	}
	if e.child == "" || e.status.State == state || e.status.State == StateCancelling {
		return
	}
	if err := e.enter(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("state", "error", err)
	}
}
