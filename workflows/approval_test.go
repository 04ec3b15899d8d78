package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// answered is what became of an update.
type answered struct {
	accepted bool
	result   activities.Decided
	err      error
}

func (a *answered) Accept()          { a.accepted = true }
func (a *answered) Reject(err error) { a.err = err }
func (a *answered) Complete(success any, err error) {
	a.err = err
	if d, ok := success.(activities.Decided); ok {
		a.result = d
	}
}

// gated is a stage in which a person must decide about round 0's design. Its
// decisions are refused with what refuse says.
func gated(t *testing.T, refuse func(activities.Decision) error) (s *stage, stored *[]activities.DecideInput) {
	t.Helper()
	s = newStage(t, nil)
	stored = &[]activities.DecideInput{}
	a := &activities.Activities{}
	s.design = func(in activities.DesignInput) activities.Designed {
		d := activities.Designed{Done: done("design", in.Where.Round), Outcome: "ok"}
		if in.Where.Round == 0 {
			d.NeedsApproval = "the designer is a person"
		}
		return d
	}
	s.OnActivity(a.Decide, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.DecideInput) (activities.Decided, error) {
		if refuse != nil {
			if err := refuse(in.Decision); err != nil {
				return activities.Decided{}, err
			}
		}
		*stored = append(*stored, in)
		return activities.Decided{Done: done("decision", in.Where.Round), Verdict: in.Decision.Verdict, By: in.Decision.By, At: in.Decision.At, Outcome: in.Decision.Verdict}, nil
	})
	return s, stored
}

// word sends an update to round 0 once the round has waited for a while.
func (s *stage) word(after time.Duration, update string, arg any) *answered {
	a := &answered{}
	s.RegisterDelayedCallback(func() {
		if err := s.UpdateWorkflowByID(workflows.RoundID("test", 0), update, fmt.Sprint(update, after), a, arg); err != nil {
			a.err = err
		}
	}, after)
	return a
}

func edit() workflows.Edit {
	return workflows.Edit{By: "ann", Rationale: "why", Curriculum: experiment.Curriculum{Rows: []experiment.Row{{Size: "3x3", DataRatio: 1}}}}
}

func TestARoundWaitsForAPersonAndGoesOnWithWhatTheyDecide(t *testing.T) {
	for _, c := range []struct {
		update  string
		arg     any
		verdict string
	}{
		{workflows.UpdateApprove, workflows.Approval{By: "ann", Note: "fine"}, experiment.VerdictApproved},
		{workflows.UpdateEdit, edit(), experiment.VerdictEdited},
		{workflows.UpdateReject, workflows.Rejection{By: "ann", Reason: "too hard"}, experiment.VerdictRejected},
	} {
		t.Run(c.update, func(t *testing.T) {
			s, stored := gated(t, nil)
			answer := s.word(72*time.Hour, c.update, c.arg)
			var waiting workflows.Status
			s.RegisterDelayedCallback(func() { waiting = s.status(t) }, 71*time.Hour)
			s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if answer.err != nil || answer.result.Verdict != c.verdict || answer.result.ID.Key != "decision-0" {
				t.Errorf("the update was answered with %+v, %v", answer.result, answer.err)
			}
			if len(*stored) != 1 || (*stored)[0].Proposal.Key != "design-0" || (*stored)[0].Curriculum.Key != "first" || (*stored)[0].Decision.At == "" {
				t.Errorf("stored %+v", *stored)
			}
			w := waiting.Waiting
			if !waiting.Waits() || w.Round != 0 || w.Proposal.ID.Key != "design-0" || w.Reason != "the designer is a person" {
				t.Errorf("status while it waits: %+v", waiting)
			}
			if !strings.Contains(strings.Join(s.calls, "\n"), "generate from decision-0") {
				t.Errorf("round 1 was not generated from the decision:\n%s", strings.Join(s.calls, "\n"))
			}
			end := s.status(t)
			if end.Waits() || end.State != workflows.StateDone || end.Done[0].Outcome != c.verdict {
				t.Errorf("status at the end: %+v", end)
			}
		})
	}
}

func TestOnlyTheFirstDecisionCounts(t *testing.T) {
	s, stored := gated(t, nil)
	first := s.word(time.Hour, workflows.UpdateApprove, workflows.Approval{By: "ann"})
	second := s.word(time.Hour, workflows.UpdateReject, workflows.Rejection{By: "bob", Reason: "no"})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if first.err != nil || len(*stored) != 1 {
		t.Errorf("first: %v; stored %d", first.err, len(*stored))
	}
	var app *temporal.ApplicationError
	if second.err == nil || !strings.Contains(second.err.Error(), "decided already: approved by ann at ") || !errors.As(second.err, &app) || app.Type() != workflows.KindDecided {
		t.Errorf("second: %v; want a refusal that says who decided", second.err)
	}
}

func TestADecisionThatCannotBeMeantIsRefusedAtOnce(t *testing.T) {
	s, _ := gated(t, nil)
	empty := s.word(1*time.Hour, workflows.UpdateApprove, workflows.Approval{})
	reasonless := s.word(2*time.Hour, workflows.UpdateReject, workflows.Rejection{By: "ann"})
	sizeless := s.word(3*time.Hour, workflows.UpdateEdit, workflows.Edit{Note: strings.Repeat("x", 5000)})
	s.word(4*time.Hour, workflows.UpdateApprove, workflows.Approval{By: "ann"})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got  *answered
		want string
	}{
		{empty, "by is empty; want who decides"},
		{reasonless, "reason is empty; want why the last curriculum stays"},
		{sizeless, "by is empty; want who decides; note has 5000 bytes; want at most 4000; curriculum has no sizes; want at least one"},
	} {
		if c.got.accepted || c.got.err == nil || !strings.Contains(c.got.err.Error(), c.want) {
			t.Errorf("accepted %v, %v; want %q", c.got.accepted, c.got.err, c.want)
		}
	}
}

func TestARefusedEditLeavesTheRoundWaiting(t *testing.T) {
	s, stored := gated(t, func(d activities.Decision) error {
		if d.Verdict == experiment.VerdictEdited {
			return temporal.NewNonRetryableApplicationError("no size of the curriculum can be drawn", activities.KindBadInput, nil)
		}
		return nil
	})
	refused := s.word(time.Hour, workflows.UpdateEdit, edit())
	var between workflows.Status
	s.RegisterDelayedCallback(func() { between = s.status(t) }, 2*time.Hour)
	approved := s.word(3*time.Hour, workflows.UpdateApprove, workflows.Approval{By: "bob"})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if refused.err == nil || !strings.Contains(refused.err.Error(), "no size of the curriculum can be drawn") {
		t.Errorf("the edit was answered with %v", refused.err)
	}
	if !between.Waits() || approved.err != nil || len(*stored) != 1 || (*stored)[0].Decision.By != "bob" {
		t.Errorf("between: %+v; then %v; stored %+v", between, approved.err, *stored)
	}
}

func TestADecisionOfAnEarlierRunCounts(t *testing.T) {
	s := newStage(t, nil)
	s.design = func(in activities.DesignInput) activities.Designed {
		return activities.Designed{
			Done: done("design", in.Where.Round), Outcome: "ok", NeedsApproval: "the designer is a person",
			Decided: &activities.Decided{Done: done("decision", in.Where.Round), Outcome: experiment.VerdictRejected},
		}
	}
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if calls := strings.Join(s.calls, "\n"); !strings.Contains(calls, "generate from decision-0") {
		t.Errorf("round 1 was not generated from the decision:\n%s", calls)
	}
}

func TestCancellingEndsTheWait(t *testing.T) {
	s, stored := gated(t, nil)
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Hour)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("error %v; want cancelled", err)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateCancelled || len(*stored) != 0 {
		t.Errorf("the last report says %q; stored %v", got, *stored)
	}
}

func TestAStopLetsAWaitingRoundGoOnUndecided(t *testing.T) {
	s, stored := gated(t, nil)
	s.later(1, func() {
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbSkip}, wantRefusal(t, "starter design show test"))
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbStop, Reason: "enough"}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	end := s.status(t)
	if end.State != workflows.StateStopped || end.Waiting != nil || len(end.Done) != 1 || end.Done[0].Outcome != "ok" || len(*stored) != 0 {
		t.Errorf("%d decisions, status %+v; want it stopped after round 0, its proposal undecided", len(*stored), end)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateStopped {
		t.Errorf("the last report says %q", got)
	}
}

func TestAnExperimentThatStopsDoesNotAskAnybody(t *testing.T) {
	s, stored := gated(t, nil)
	design := s.design
	s.design = func(in activities.DesignInput) activities.Designed {
		s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbStop})
		return design(in)
	}
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if end := s.status(t); end.State != workflows.StateStopped || len(end.Done) != 1 || len(*stored) != 0 {
		t.Errorf("status %+v", end)
	}
}

func TestADecisionIsTakenWhilePausedAndNothingBegins(t *testing.T) {
	s, stored := gated(t, nil)
	s.later(1, func() {
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbPause, Reason: "lunch"}, wantOK(t))
	})
	s.later(2, func() {
		if now := s.status(t); !now.Waits() || !now.Pausing || !strings.Contains(now.Line(), "pauses after this step (lunch)") {
			t.Errorf("after the pause: %s: %s", now.State, now.Line())
		}
	})
	approved := s.word(3*time.Hour, workflows.UpdateApprove, workflows.Approval{By: "ann"})
	s.later(4, func() {
		if now := s.status(t); now.State != workflows.StatePaused || now.Waiting != nil || approved.err != nil || len(*stored) != 1 {
			t.Errorf("after the decision (%v): %+v; want it paused", approved.err, now)
		}
		if strings.Contains(strings.Join(s.calls, "\n"), "generate from decision-0") {
			t.Error("round 1 began while the experiment was paused")
		}
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbResume}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if end := s.status(t); end.State != workflows.StateDone || len(end.Done) != 2 {
		t.Errorf("status %+v", end)
	}
}
