package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/retry"
	"floe/workflows"
)

func TestAServiceThatIsAwayIsAState(t *testing.T) {
	var s *stage
	var seen []string
	signal := func(p activities.Progress) {
		s.SignalWorkflow(workflows.SignalProgress, p)
		looked := make(chan bool)
		s.RegisterDelayedCallback(func() { // between two turns of the workflow
			status := s.status(t)
			seen = append(seen, status.State+"; "+status.Line())
			close(looked)
		}, 0)
		<-looked
	}
	away := &retry.Outage{Service: "S3 at http://store", Reason: "connection refused", Since: time.Date(2026, 3, 1, 14, 2, 0, 0, time.UTC)}
	s = newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if in.Where.Round == 1 {
			signal(activities.Progress{Round: 1, Step: "train", Outage: away})
			signal(activities.Progress{Round: 1, Step: "train", Done: 1, Total: 2})
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"waiting for service; round 1 (2 of 2): train, waiting for S3 at http://store since 14:02 UTC: connection refused",
		"running; round 1 (2 of 2): train, 50 %",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if status := s.status(t); status.State != workflows.StateDone {
		t.Errorf("ended as %q", status.State)
	}
}

// blind fails so many trainings because the store was away.
func blind(times int) func(context.Context, activities.TrainInput) (activities.Trained, error) {
	return func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if times > 0 {
			times--
			return activities.Trained{}, temporal.NewNonRetryableApplicationError("S3 does not answer", activities.KindOutage, nil)
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	}
}

func TestATrainingThatCannotBeWatchedGoesOn(t *testing.T) {
	s, _ := modelStage(t, blind(1), ended)
	s.later(1, func() {
		status := s.status(t)
		if status.State != workflows.StateAttention || !strings.Contains(status.Cause, "its job keeps running") || status.Failure.Job == nil {
			t.Errorf("state %q: %s", status.State, status.Cause)
		}
		s.update(t, workflows.UpdateRetry, workflows.Retry{}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: modelSpec("slurm", "external")})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(s.calls, "\n"); strings.Contains(said, "stop") {
		t.Errorf("the job was stopped:\n%s", said)
	}
}

func TestAJobThatWasLeftIsStoppedWhenItsExperimentEndsOrChanges(t *testing.T) {
	amended := modelSpec("slurm", "external")
	amended.Trainer.KL = 0.5
	for name, decide := range map[string]func(*testing.T, *stage){
		"abort": func(t *testing.T, s *stage) {
			s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbAbort})
		},
		"cancel": func(t *testing.T, s *stage) { s.CancelWorkflow() },
		"stop": func(t *testing.T, s *stage) {
			s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbStop})
		},
		"another spec": func(t *testing.T, s *stage) {
			s.update(t, workflows.UpdateRetry, workflows.Retry{Spec: &amended}, wantOK(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := modelStage(t, blind(1), ended)
			s.later(1, func() { decide(t, s) })
			s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: modelSpec("slurm", "external")})
			if said := strings.Join(s.calls, "\n"); !strings.Contains(said, "train base on data-0\nstop base on data-0") {
				t.Errorf("want the job stopped after its training; got\n%s", said)
			}
		})
	}
}

func TestARetryMakesALostArtifactAgain(t *testing.T) {
	lost := true
	s := newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if in.Where.Round == 1 && lost {
			lost = false
			return activities.Trained{}, temporal.NewNonRetryableApplicationError("step validation-set is gone", activities.KindMissing, nil)
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.later(1, func() { s.update(t, workflows.UpdateRetry, workflows.Retry{}, wantOK(t)) })
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	s.AssertActivityNumberOfCalls(t, "GenerateValidation", 2)
	if got := strings.Count(strings.Join(s.calls, "\n"), "train base on data-0"); got != 2 {
		t.Errorf("round 0's training was asked for %d times; want 2: the second finds it done", got)
	}
	if status := s.status(t); status.State != workflows.StateDone || len(status.Done) != 2 {
		t.Errorf("state %q with %d rounds", status.State, len(status.Done))
	}
}

func TestAnExperimentWithoutAUsableDesignIsNotJustDone(t *testing.T) {
	for name, c := range map[string]struct{ outcomes, state string }{
		"none":                  {"fallback fallback", workflows.StateUndesigned},
		"the first":             {"ok fallback", workflows.StateDone},
		"only the last, unused": {"fallback ok", workflows.StateUndesigned},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			s.design = func(in activities.DesignInput) activities.Designed {
				return activities.Designed{Done: done("design", in.Where.Round), Outcome: strings.Fields(c.outcomes)[in.Where.Round]}
			}
			s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			status := s.status(t)
			if status.State != c.state || s.states[len(s.states)-1] != c.state {
				t.Errorf("state %q, report of %q; want %q", status.State, s.states[len(s.states)-1], c.state)
			}
			if said := strings.Contains(status.Line(), "no design was usable"); said != (c.state == workflows.StateUndesigned) {
				t.Errorf("it says %q", status.Line())
			}
		})
	}
}
