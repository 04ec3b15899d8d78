package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// stage is a workflow under test whose activities answer with references that
// tell where they come from.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	calls  []string
	states []string // of what was published
	rounds []activities.DesignInput

	trained    []activities.TrainInput
	registered []activities.PrepareInput
	failDesign int                                              // so many designs fail for good
	design     func(activities.DesignInput) activities.Designed // if not the usual one
}

func spec() experiment.Spec {
	return experiment.Spec{
		Name: "test", Environment: "lake", Rounds: 2, Samples: 10, Epochs: 1,
		Designer:   experiment.DesignerSpec{Kind: "openai", Context: "V6"},
		Benchmarks: experiment.BenchmarkSpec{Agents: []int{3}, Instances: 3},
		Limits:     experiment.LimitsSpec{StepMinutes: 10, Attempts: 2, ModelCalls: 10, ModelTokens: 1000},
	}
}

// done is a reference whose key joins the parts with dashes.
func done(parts ...any) activities.Done {
	key := strings.TrimSuffix(fmt.Sprintln(parts...), "\n")
	return activities.Done{ID: experiment.StepID{Kind: "step", Key: strings.ReplaceAll(key, " ", "-")}}
}

// newStage scripts the activities; train can be replaced.
func newStage(t *testing.T, train func(context.Context, activities.TrainInput) (activities.Trained, error)) *stage {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &stage{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	// On a busy machine a workflow's goroutine may not be run for a second.
	s.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	workflows.Register(s)
	a := &activities.Activities{}
	s.RegisterActivity(a)
	say := func(format string, args ...any) { s.calls = append(s.calls, fmt.Sprintf(format, args...)) }
	if train == nil {
		train = func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
			return activities.Trained{Done: done("policy", in.Where.Round)}, nil
		}
	}
	s.OnActivity(a.Prepare, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PrepareInput) (activities.Done, error) {
		s.registered = append(s.registered, in)
		return done("first"), nil
	})
	s.OnActivity(a.WarmStart, mock.Anything, mock.Anything).Return(done("base"), nil)
	s.OnActivity(a.GenerateValidation, mock.Anything, mock.Anything).Return(activities.Dataset{Done: done("validation")}, nil)
	s.OnActivity(a.GenerateBenchmark, mock.Anything, mock.Anything).Return(activities.Dataset{Done: done("benchmark")}, nil)
	s.OnActivity(a.Generate, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.GenerateInput) (activities.Dataset, error) {
		say("generate from %s", in.Curriculum.Key)
		return activities.Dataset{Done: done("data", in.Where.Round)}, nil
	})
	s.OnActivity(a.Train, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.TrainInput) (activities.Trained, error) {
		say("train %s on %s", in.Init.Key, in.Dataset.Key)
		s.trained = append(s.trained, in)
		return train(ctx, in)
	})
	s.OnActivity(a.Evaluate, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.EvaluateInput) (activities.Scored, error) {
		say("score %s on %s", in.Policy.Key, in.Dataset.Key)
		return activities.Scored{Done: done("card", in.Policy.Key), Rates: experiment.Rates{N: 10, Valid: 5, Optimal: 4}}, nil
	})
	s.OnActivity(a.Design, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.DesignInput) (activities.Designed, error) {
		s.rounds = append(s.rounds, in)
		if s.design != nil {
			return s.design(in), nil
		}
		if s.failDesign > 0 {
			s.failDesign--
			return activities.Designed{}, temporal.NewNonRetryableApplicationError("no such model", activities.KindModel, nil)
		}
		return activities.Designed{Done: done("design", in.Where.Round), Outcome: "ok", ModelCalls: 3, ModelTokens: 400}, nil
	})
	s.OnActivity(a.Publish, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PublishInput) (activities.Published, error) {
		s.states = append(s.states, in.State)
		return activities.Published{Report: "report.html", URL: "s3://floe/report.html"}, nil
	})
	return s
}

func TestEachStepWorksOnWhatTheLastOneMade(t *testing.T) {
	s := newStage(t, nil)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"score base on validation",
		"generate from first", "train base on data-0", "score policy-0 on validation",
		"generate from design-0", "train policy-0 on data-1", "score policy-1 on validation",
		"score base on benchmark", "score policy-1 on benchmark",
	}
	if got, want := strings.Join(s.calls, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateDone {
		t.Errorf("the last report says %q", got)
	}
}

func TestTheDesignerSeesAllRounds(t *testing.T) {
	s := newStage(t, nil)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if len(s.rounds) != 2 {
		t.Fatalf("designed %d times; want 2", len(s.rounds))
	}
	last := s.rounds[1]
	if len(last.Refs.Rounds) != 1 || last.Refs.Rounds[0].Design.ID.Key != "design-0" {
		t.Errorf("round 1's designer was shown %+v", last.Refs.Rounds)
	}
}

// failing trains until a round fails for good, as often as it is told to.
func failing(round, times int) func(context.Context, activities.TrainInput) (activities.Trained, error) {
	return func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if in.Where.Round == round && times > 0 {
			times--
			return activities.Trained{}, temporal.NewApplicationErrorWithOptions("loss is not finite at step 7", activities.KindBadInput,
				temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{activities.Attempted{Attempt: 1, Worker: "7@here", Log: []string{"last words"}}}})
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	}
}

// status asks the workflow how it stands.
func (s *stage) status(t *testing.T) workflows.Status {
	t.Helper()
	v, err := s.QueryWorkflow(workflows.QueryStatus)
	if err != nil {
		t.Fatal(err)
	}
	var status workflows.Status
	if err := v.Get(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

// later does something once the workflow has nothing to do but wait. The
// test's clock then jumps ahead.
func (s *stage) later(hours int, do func()) {
	s.RegisterDelayedCallback(do, time.Duration(hours)*time.Hour)
}

// update sends an update and hands its outcome to check.
func (s *stage) update(t *testing.T, name string, arg any, check func(error)) {
	t.Helper()
	s.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnReject: check, OnAccept: func() {},
		OnComplete: func(_ any, err error) { check(err) },
	}, arg)
}

func wantOK(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
}

func wantRefusal(t *testing.T, says string) func(error) {
	return func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v; want %q", err, says)
		}
	}
}

func TestAFailureWaitsAndSaysWhatToDo(t *testing.T) {
	s := newStage(t, failing(1, 1))
	s.later(1, func() {
		status := s.status(t)
		want := "test needs attention: round 1, train, attempt 1 of 2: loss is not finite at step 7 (log: last words)"
		if status.State != workflows.StateAttention || !strings.HasPrefix(status.Cause, want) || !strings.Contains(status.Cause, "starter retry test") {
			t.Errorf("state %q: %s", status.State, status.Cause)
		}
		s.update(t, workflows.UpdateRetry, workflows.Retry{Reason: "mended"}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(strings.Join(s.calls, "\n"), "train policy-0 on data-1"); got != 2 {
		t.Errorf("round 1 was trained %d times; want 2", got)
	}
	if got := strings.Count(strings.Join(s.calls, "\n"), "train base on data-0"); got != 1 {
		t.Errorf("round 0 was trained %d times; want 1", got)
	}
	if status := s.status(t); status.State != workflows.StateDone || status.Cause != "" || len(status.Events) != 2 || status.Events[1].Reason != "mended" {
		t.Errorf("status %+v", status)
	}
}

func TestARetryTakesANewSpecAndAnEarlierStep(t *testing.T) {
	s := newStage(t, failing(1, 1))
	amended, other := spec(), spec()
	amended.Trainer.KL = 0.5
	other.Seed++
	zero, nine := 0, 9
	s.later(1, func() {
		s.update(t, workflows.UpdateRetry, workflows.Retry{Spec: &other}, wantRefusal(t, "seed cannot change"))
		s.update(t, workflows.UpdateRetry, workflows.Retry{From: "sleep"}, wantRefusal(t, "generate, train, validate, design"))
		s.update(t, workflows.UpdateRetry, workflows.Retry{Round: &nine}, wantRefusal(t, "round 9"))
		s.update(t, workflows.UpdateRetry, workflows.Retry{Round: &zero, From: "train", Spec: &amended, Set: []string{"trainer.kl: 0 -> 0.5"}}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var round0 []activities.TrainInput
	for _, in := range s.trained {
		if in.Where.Round == 0 {
			round0 = append(round0, in)
		}
	}
	if len(round0) != 2 || round0[0].Where.Again != 0 || round0[1].Where.Again != 1 || round0[1].Spec.Trainer.KL != 0.5 {
		t.Errorf("round 0 was trained with %+v; want once as it was and once anew with the new spec", round0)
	}
	if n := len(s.registered); n != 2 || s.registered[n-1].Spec.Trainer.KL != 0.5 {
		t.Errorf("registered %d times; want the new spec registered too", n)
	}
	if got := len(s.status(t).Done); got != 2 {
		t.Errorf("%d rounds done; want 2", got)
	}
}

func TestADesignCanBeSkippedAndATrainingCannot(t *testing.T) {
	s := newStage(t, failing(0, 1))
	s.failDesign = 1
	s.later(1, func() {
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbSkip}, wantRefusal(t, "needs the step train"))
		s.update(t, workflows.UpdateRetry, workflows.Retry{}, wantOK(t))
	})
	s.later(2, func() {
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbSkip, Reason: "the model is away"}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if got := s.rounds[1]; got.Where.Round != 0 || got.Skip != "the model is away" {
		t.Errorf("the design after the skip: round %d, skip %q", got.Where.Round, got.Skip)
	}
	if got := s.rounds[2]; got.Where.Round != 1 || got.Skip != "" {
		t.Errorf("the next round's design: round %d, skip %q; want round 1 and none", got.Where.Round, got.Skip)
	}
}

func TestAbortEndsInFailureWithItsReason(t *testing.T) {
	s := newStage(t, failing(0, 1))
	s.later(1, func() {
		s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbAbort, Reason: "not worth it"})
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	err := s.GetWorkflowError()
	if err == nil || !strings.Contains(err.Error(), "not worth it") || !strings.Contains(err.Error(), "loss is not finite at step 7") {
		t.Errorf("error %v; want the reason and the cause", err)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateFailed {
		t.Errorf("the last report says %q", got)
	}
}

func TestPauseEndsAfterTheStepAndResumeGoesOn(t *testing.T) {
	var s *stage
	s = newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if in.Where.Round == 0 {
			s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbPause, Reason: "lunch"})
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.later(1, func() {
		if status := s.status(t); status.State != workflows.StatePaused || status.Reason != "lunch" {
			t.Errorf("status %+v", status)
		}
		if len(s.rounds) > 0 {
			t.Errorf("paused, and round %d was designed", s.rounds[0].Where.Round)
		}
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbPause}, wantRefusal(t, "paused already"))
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbResume}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if status := s.status(t); status.State != workflows.StateDone || len(status.Done) != 2 {
		t.Errorf("status %+v", status)
	}
}

func TestStopFinishesTheRoundAndReports(t *testing.T) {
	var s *stage
	s = newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbStop, Reason: "enough"})
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	var out workflows.ExperimentResult
	if err := s.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}
	if out.State != workflows.StateStopped || len(out.Rounds) != 1 || s.states[len(s.states)-1] != workflows.StateStopped {
		t.Errorf("state %q after %d rounds, last report %q; want stopped after one", out.State, len(out.Rounds), s.states[len(s.states)-1])
	}
}

func TestCancellingWhileItWaitsEndsAtOnce(t *testing.T) {
	for _, native := range []bool{true, false} {
		s := newStage(t, failing(0, 1))
		s.later(1, func() {
			if native {
				s.CancelWorkflow()
				return
			}
			s.SignalWorkflow(workflows.SignalControl, workflows.Control{Verb: workflows.VerbCancel, Reason: "wrong file"})
		})
		s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
		if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
			t.Errorf("error %v; want cancelled", err)
		}
		if got := s.states[len(s.states)-1]; got != workflows.StateCancelled {
			t.Errorf("the last report says %q", got)
		}
	}
}

// Workers bound attempts (activities.Retries): the server would count stopped workers too.
func TestTheServerDoesNotBoundAttempts(t *testing.T) {
	tries := 0
	s := newStage(t, func(context.Context, activities.TrainInput) (activities.Trained, error) {
		if tries++; tries <= 8 {
			return activities.Trained{}, errors.New("the worker is stopping")
		}
		return activities.Trained{}, temporal.NewApplicationErrorWithOptions("loss is not finite", activities.KindTrouble, temporal.ApplicationErrorOptions{
			NonRetryable: true, Details: []any{activities.Attempted{Attempt: 2}},
		})
	})
	s.later(24, func() {
		if status := s.status(t); !strings.Contains(status.Cause, "attempt 2 of 2: loss is not finite") {
			t.Errorf("cause %q", status.Cause)
		}
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbAbort}, wantOK(t))
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if s.GetWorkflowError() == nil || tries != 9 {
		t.Errorf("%d tries, error %v; want 9 tries and an error", tries, s.GetWorkflowError())
	}
}

func TestCancellingEndsTheRoundAndSaysSo(t *testing.T) {
	var s *stage
	s = newStage(t, func(ctx context.Context, _ activities.TrainInput) (activities.Trained, error) {
		s.CancelWorkflow()
		for ctx.Err() == nil {
			activity.RecordHeartbeat(ctx) // an activity learns of its cancellation from its heartbeats
			runtime.Gosched()
		}
		return activities.Trained{}, ctx.Err()
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("error %v; want cancelled", err)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateCancelled {
		t.Errorf("the last report says %q", got)
	}
}

func TestStatusAnswersWithTheLatestProgress(t *testing.T) {
	s := newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(workflows.SignalProgress, activities.Progress{Round: 7, Step: "train", Done: 63, Total: 100})
	}, 0)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	v, err := s.QueryWorkflow(workflows.QueryStatus)
	if err != nil {
		t.Fatal(err)
	}
	var status workflows.Status
	if err := v.Get(&status); err != nil {
		t.Fatal(err)
	}
	if status.State != workflows.StateDone || len(status.Done) != 2 || status.Base == nil || status.Report == "" {
		t.Errorf("status %+v", status)
	}
}
