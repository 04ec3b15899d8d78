package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// modelSpec trains a language model with a back end, and has it served by a kind of
// server.
func modelSpec(backend, server string) experiment.Spec {
	s := spec()
	s.Trainer = experiment.TrainerSpec{Kind: experiment.TrainerTRL, Model: &experiment.ModelSpec{URI: "m"}, Recipe: &experiment.RecipeSpec{}}
	s.Job = &experiment.JobSpec{Backend: backend}
	s.Serve = &experiment.ServeSpec{Kind: server}
	s.Ask = &experiment.AskSpec{}
	s.Designer.Kind = "trained"
	return s
}

// modelStage is a stage whose trainings can be stopped, and that notes where
// activities were done: "Train@floe-jobs".
func modelStage(t *testing.T, train func(context.Context, activities.TrainInput) (activities.Trained, error),
	stop func(activities.TrainInput) (activities.Stopped, error),
) (s *stage, where *[]string) {
	t.Helper()
	s, where = newStage(t, train), new([]string)
	var a *activities.Activities
	s.OnActivity(a.StopTraining, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.TrainInput) (activities.Stopped, error) {
		s.calls = append(s.calls, "stop "+in.Init.Key+" on "+in.Dataset.Key)
		return stop(in)
	}).Maybe()
	s.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		*where = append(*where, info.ActivityType.Name+"@"+info.TaskQueue)
	})
	return s, where
}

func ended(activities.TrainInput) (activities.Stopped, error) { return activities.Stopped{}, nil }

func TestWorkIsDoneWhereItsDeviceIs(t *testing.T) {
	for name, c := range map[string]struct {
		spec                    experiment.Spec
		train, evaluate, design string
	}{
		"a small policy":       {spec(), workflows.QueueJobs, workflows.QueueWork, workflows.QueueWork},
		"all on one machine":   {modelSpec("process", "vllm"), workflows.QueueJobs, workflows.QueueJobs, workflows.QueueJobs},
		"trained elsewhere":    {modelSpec("slurm", "vllm"), workflows.QueueWatch, workflows.QueueJobs, workflows.QueueJobs},
		"all of it elsewhere":  {modelSpec("ray", "external"), workflows.QueueWatch, workflows.QueueWatch, workflows.QueueWatch},
		"a rule that designs":  {ruled(modelSpec("process", "vllm")), workflows.QueueJobs, workflows.QueueJobs, workflows.QueueWork},
		"served by somebody's": {modelSpec("process", "external"), workflows.QueueJobs, workflows.QueueWatch, workflows.QueueWatch},
	} {
		t.Run(name, func(t *testing.T) {
			s, where := modelStage(t, nil, ended)
			s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: c.spec})
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"Train@" + c.train, "Evaluate@" + c.evaluate, "Design@" + c.design} {
				kind, _, _ := strings.Cut(want, "@")
				for _, got := range *where {
					if strings.HasPrefix(got, kind+"@") && got != want {
						t.Errorf("%s; want %s", got, want)
					}
				}
				if !slices.Contains(*where, want) {
					t.Errorf("no %s in %v", want, *where)
				}
			}
		})
	}
}

func ruled(s experiment.Spec) experiment.Spec {
	s.Designer.Kind = "learnability"
	return s
}

func TestATrainingThatOneMachineSeesIsWaitedForThere(t *testing.T) {
	asked := 0
	s, where := modelStage(t, func(_ context.Context, in activities.TrainInput) (activities.Trained, error) {
		if asked++; asked == 1 {
			return activities.Trained{Elsewhere: "box-7"}, nil
		}
		return activities.Trained{Done: done("policy", in.Where.Round)}, nil
	}, ended)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: modelSpec("process", "vllm")})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var trained []string
	for _, w := range *where {
		if strings.HasPrefix(w, "Train@") {
			trained = append(trained, w)
		}
	}
	want := []string{"Train@floe-jobs", "Train@" + workflows.QueueOf("box-7"), "Train@floe-jobs"}
	if !slices.Equal(trained, want) {
		t.Errorf("trained at %v; want %v", trained, want)
	}
}

func TestACancelledTrainingIsStoppedBeforeTheExperimentEnds(t *testing.T) {
	var s *stage
	var where *[]string
	s, where = modelStage(t, func(ctx context.Context, _ activities.TrainInput) (activities.Trained, error) {
		s.CancelWorkflow()
		<-ctx.Done()
		return activities.Trained{}, temporal.NewCanceledError()
	}, ended)
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: modelSpec("process", "vllm")})
	if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v; want a cancellation", err)
	}
	if !slices.Contains(s.calls, "stop base on data-0") || !slices.Contains(*where, "StopTraining@floe-stops") {
		t.Errorf("calls %q at %v; want the training stopped", s.calls, *where)
	}
}

func TestATrainingThatFailedForGoodHoldsNoDevice(t *testing.T) {
	for name, stop := range map[string]func(activities.TrainInput) (activities.Stopped, error){
		"it is stopped":            ended,
		"somebody goes on with it": func(activities.TrainInput) (activities.Stopped, error) { return activities.Stopped{Left: "other"}, nil },
		"it cannot be stopped":     func(activities.TrainInput) (activities.Stopped, error) { return activities.Stopped{}, fmt.Errorf("no") },
		"another machine stops it": elsewhereOnce(),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := modelStage(t, failing(0, 1), stop)
			s.later(1, func() { s.update(t, workflows.UpdateRetry, workflows.Retry{}, wantOK(t)) })
			s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: modelSpec("process", "vllm")})
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			at := slices.Index(s.calls, "stop base on data-0")
			if at < 0 || !slices.Contains(s.calls[at:], "train base on data-0") {
				t.Errorf("calls %q; want the training stopped, and then retried", s.calls)
			}
		})
	}
}

func elsewhereOnce() func(activities.TrainInput) (activities.Stopped, error) {
	asked := 0
	return func(activities.TrainInput) (activities.Stopped, error) {
		if asked++; asked == 1 {
			return activities.Stopped{Elsewhere: "box-7"}, nil
		}
		return activities.Stopped{}, nil
	}
}

func TestTheSmallPolicyHasNoJobToStop(t *testing.T) {
	s, _ := modelStage(t, failing(0, 1), ended)
	s.later(1, func() { s.update(t, workflows.UpdateRetry, workflows.Retry{}, wantOK(t)) })
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.calls, func(c string) bool { return strings.HasPrefix(c, "stop ") }) {
		t.Errorf("calls %q; want nothing stopped", s.calls)
	}
}
