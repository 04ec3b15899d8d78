package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/designer"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// bench runs activities as a worker does, on a store in memory.
type bench struct {
	*testsuite.TestActivityEnvironment
	t     *testing.T
	store *artifacttest.Memory
	acts  *activities.Activities
}

func newBench(t *testing.T) *bench {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	b := &bench{TestActivityEnvironment: suite.NewTestActivityEnvironment(), t: t, store: artifacttest.NewMemory()}
	b.acts = &activities.Activities{
		Steps:       artifact.Steps{Store: b.store},
		Environment: all.Open,
		Designer: func(experiment.DesignerSpec) (designer.Designer, error) {
			return nil, errors.New("no designer in this test")
		},
		Tell: func(context.Context, string, activities.Progress) error { return nil },
	}
	b.RegisterActivity(b.acts)
	return b
}

// do runs one activity and decodes its result.
func do[I, O any](b *bench, activity func(context.Context, I) (O, error), in I) (O, error) {
	b.t.Helper()
	var out O
	v, err := b.ExecuteActivity(activity, in)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

func tinySpec() experiment.Spec {
	knobs := []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.2}}
	return experiment.Spec{
		Name: "tiny", Environment: "lake", Rounds: 1, Seed: 3, Samples: 40, Epochs: 2, Agents: 2, Objective: "sum_of_costs",
		Validation: experiment.ValidationSpec{Sizes: []string{"3x3"}, Instances: 5, Knobs: knobs},
		Curriculum: &experiment.Curriculum{Rows: []experiment.Row{{Size: "3x3", DataRatio: 0.5, Knobs: knobs}, {Size: "4x4", DataRatio: 0.5, Knobs: knobs}}},
		Reward:     experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
		Trainer: experiment.TrainerSpec{
			Kind: "embedded", Rollouts: 4, Batch: 4, LearningRate: 0.002, ClipNorm: 1, Temperature: 1, WarmStart: 20, WarmEpochs: 1, SaveEvery: 1,
		},
		Designer: experiment.DesignerSpec{Kind: "fixed", Context: "V6", Details: "bookkeeping"},
	}
}

// upToTraining does the steps that a training stands on.
func upToTraining(b *bench) activities.TrainInput {
	b.t.Helper()
	spec, where := tinySpec(), activities.Where{Workflow: "exp-tiny", Name: "tiny"}
	first, err := do(b, b.acts.Prepare, activities.PrepareInput{Where: where, Spec: spec})
	if err != nil {
		b.t.Fatal(err)
	}
	base, err := do(b, b.acts.WarmStart, activities.WarmStartInput{Where: where, Spec: spec})
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := do(b, b.acts.Generate, activities.GenerateInput{Where: where, Spec: spec, Curriculum: first.ID})
	if err != nil {
		b.t.Fatal(err)
	}
	return activities.TrainInput{Where: where, Spec: spec, Dataset: data.ID, Init: base.ID}
}

func (b *bench) policySum(id experiment.StepID) string {
	b.t.Helper()
	m, ok, err := b.acts.Steps.Find(b.t.Context(), id)
	if err != nil || !ok {
		b.t.Fatalf("step %s: found %v, %v", id, ok, err)
	}
	f, ok := m.File(activities.FilePolicy)
	if !ok {
		b.t.Fatalf("step %s has no policy", id)
	}
	return f.SHA256
}

func TestAStepThatIsDoneIsNotDoneAgain(t *testing.T) {
	b := newBench(t)
	in := upToTraining(b)
	first, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	before := len(b.store.Keys(""))
	second, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	if first.Reused || !second.Reused || second.ID != first.ID {
		t.Errorf("first %+v, second %+v", first.Done, second.Done)
	}
	if after := len(b.store.Keys("")); after != before {
		t.Errorf("%d objects became %d", before, after)
	}
}

// TestTrainingGoesOnFromItsLastCheckpoint breaks a training by a store that
// refuses a checkpoint; the next attempt ends with the weights of a calm run.
func TestTrainingGoesOnFromItsLastCheckpoint(t *testing.T) {
	calm := newBench(t)
	want, err := do(calm, calm.acts.Train, upToTraining(calm))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	in := upToTraining(b)
	saves := 0
	b.store.BeforePut = func(key string) error {
		if strings.Contains(key, "/partial/") {
			if saves++; saves > 9 {
				return errors.New("the disk is full")
			}
		}
		return nil
	}
	if _, err := do(b, b.acts.Train, in); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error %v; want a full disk", err)
	}
	if len(b.store.Keys("steps/train/")) == 0 {
		t.Fatal("no checkpoint is left to go on from")
	}
	b.store.BeforePut = nil
	got, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != want.ID || b.policySum(got.ID) != calm.policySum(want.ID) {
		t.Errorf("got %s %s; want %s %s", got.ID, b.policySum(got.ID), want.ID, calm.policySum(want.ID))
	}
	for _, key := range b.store.Keys("steps/train/") {
		if strings.Contains(key, "/partial/") {
			t.Errorf("checkpoint %s outlived its training", key)
		}
	}
}

// kindOf is the kind of a failure and whether Temporal would try again.
func kindOf(t *testing.T, err error) (kind string, again bool) {
	t.Helper()
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		t.Fatalf("error %v (%T); want an application error", err, err)
	}
	return app.Type(), !app.NonRetryable()
}

func TestKindsOfFailure(t *testing.T) {
	t.Run("an order that cannot be filled is bad input", func(t *testing.T) {
		b := newBench(t)
		spec := tinySpec()
		spec.Agents = 5 // ten distinct cells on a 3x3 map
		_, err := do(b, b.acts.GenerateValidation, activities.ValidationInput{Spec: spec})
		if kind, again := kindOf(t, err); kind != activities.KindBadInput || again {
			t.Errorf("kind %s, again %v: %v", kind, again, err)
		}
	})
	t.Run("a damaged artifact is corrupt", func(t *testing.T) {
		b := newBench(t)
		in := upToTraining(b)
		for _, key := range b.store.Keys("steps/generate/") {
			if strings.HasSuffix(key, activities.FileDataset) {
				b.store.Corrupt(key)
			}
		}
		_, err := do(b, b.acts.Train, in)
		if kind, again := kindOf(t, err); kind != activities.KindCorrupt || again {
			t.Errorf("kind %s, again %v: %v", kind, again, err)
		}
	})
	t.Run("a step that was set aside is missing, and looked for again", func(t *testing.T) {
		b := newBench(t)
		in := upToTraining(b)
		if _, err := b.acts.Steps.Quarantine(t.Context(), in.Dataset); err != nil {
			t.Fatal(err)
		}
		_, err := do(b, b.acts.Train, in)
		if kind, again := kindOf(t, err); kind != activities.KindMissing || !again {
			t.Errorf("kind %s, again %v: %v", kind, again, err)
		}
	})
	for _, c := range []struct {
		name  string
		err   error
		again bool
	}{
		{"a model that refuses for good is not asked again", &designer.FinalError{Reason: "the key was refused"}, false},
		{"a model that is away is asked again", &designer.UnavailableError{Reason: "429", RetryAfter: time.Minute}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return refuser{c.err}, nil }
			in := upToDesign(b)
			_, err := do(b, b.acts.Design, in)
			if kind, again := kindOf(t, err); kind != activities.KindModel || again != c.again {
				t.Errorf("kind %s, again %v: %v", kind, again, err)
			}
		})
	}
}

// refuser is a designer that always fails.
type refuser struct{ err error }

func (r refuser) Propose(context.Context, designer.Request) (designer.Proposal, error) {
	return designer.Proposal{}, r.err
}

// upToDesign does the steps that a design stands on.
func upToDesign(b *bench) activities.DesignInput {
	b.t.Helper()
	in := upToTraining(b)
	trained, err := do(b, b.acts.Train, in)
	if err != nil {
		b.t.Fatal(err)
	}
	set, err := do(b, b.acts.GenerateValidation, activities.ValidationInput{Where: in.Where, Spec: in.Spec})
	if err != nil {
		b.t.Fatal(err)
	}
	score := func(policy experiment.StepID, label string) activities.Done {
		s, err := do(b, b.acts.Evaluate, activities.EvaluateInput{Where: in.Where, Spec: in.Spec, Policy: policy, Dataset: set.ID, Label: label, Set: "validation"})
		if err != nil {
			b.t.Fatal(err)
		}
		return s.Done
	}
	first, err := do(b, b.acts.Prepare, activities.PrepareInput{Where: in.Where, Spec: in.Spec})
	if err != nil {
		b.t.Fatal(err)
	}
	return activities.DesignInput{
		Where: in.Where, Spec: in.Spec, Refs: activities.Refs{Base: score(in.Init, "base")},
		Round: activities.RoundRefs{
			Curriculum: first, Dataset: activities.Done{ID: in.Dataset}, Policy: trained.Done, Scorecard: score(trained.ID, "round 0"),
		},
	}
}
