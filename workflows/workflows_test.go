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
	design func(activities.DesignInput) activities.Designed // if not the usual one
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
	s.OnActivity(a.Prepare, mock.Anything, mock.Anything).Return(done("first"), nil)
	s.OnActivity(a.WarmStart, mock.Anything, mock.Anything).Return(done("base"), nil)
	s.OnActivity(a.GenerateValidation, mock.Anything, mock.Anything).Return(activities.Dataset{Done: done("validation")}, nil)
	s.OnActivity(a.GenerateBenchmark, mock.Anything, mock.Anything).Return(activities.Dataset{Done: done("benchmark")}, nil)
	s.OnActivity(a.Generate, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.GenerateInput) (activities.Dataset, error) {
		say("generate from %s", in.Curriculum.Key)
		return activities.Dataset{Done: done("data", in.Where.Round)}, nil
	})
	s.OnActivity(a.Train, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.TrainInput) (activities.Trained, error) {
		say("train %s on %s", in.Init.Key, in.Dataset.Key)
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

func TestTheDesignerSeesAllRoundsAndWhatIsLeftToSpend(t *testing.T) {
	s := newStage(t, nil)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if len(s.rounds) != 2 {
		t.Fatalf("designed %d times; want 2", len(s.rounds))
	}
	last := s.rounds[1]
	if len(last.Refs.Rounds) != 1 || last.Refs.Rounds[0].Design.ID.Key != "design-0" {
		t.Errorf("round 1's designer was shown %+v", last.Refs.Rounds)
	}
	if last.ModelCalls != 7 || last.ModelTokens != 600 {
		t.Errorf("left: %d calls and %d tokens; want 7 and 600", last.ModelCalls, last.ModelTokens)
	}
}

func TestAFailureSaysWhereAndIsPublished(t *testing.T) {
	s := newStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if in.Where.Round == 1 {
			return activities.Trained{}, temporal.NewNonRetryableApplicationError("loss is not finite at step 7", activities.KindBadInput, nil)
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	err := s.GetWorkflowError()
	if err == nil || !strings.Contains(err.Error(), "round 1") || !strings.Contains(err.Error(), "loss is not finite at step 7") {
		t.Errorf("error %v; want the round and the cause", err)
	}
	if got := s.states[len(s.states)-1]; got != workflows.StateFailed {
		t.Errorf("the last report says %q", got)
	}
}

func TestRetriesAreBounded(t *testing.T) {
	tries := 0
	s := newStage(t, func(context.Context, activities.TrainInput) (activities.Trained, error) {
		tries++
		return activities.Trained{}, errors.New("the store does not answer")
	})
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if s.GetWorkflowError() == nil || tries != 2 {
		t.Errorf("%d tries, error %v; want 2 tries and an error", tries, s.GetWorkflowError())
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
