package plan_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/plan"
)

func spec(name, variant string) experiment.Spec {
	knobs := []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.2}}
	return experiment.Spec{
		Name: name, Environment: "lake", Rounds: 3, Seed: 3, Samples: 40, Epochs: 2, Agents: 2, Objective: "sum_of_costs",
		Validation: experiment.ValidationSpec{Sizes: []string{"3x3"}, Instances: 5, Knobs: knobs},
		Designer:   experiment.DesignerSpec{Kind: "learnability", Context: variant},
		Benchmarks: experiment.BenchmarkSpec{Agents: []int{3}, Instances: 3},
	}
}

func lake(t *testing.T) env.Environment {
	t.Helper()
	e, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func planned(t *testing.T, p *plan.Planner, s experiment.Spec, given ...plan.Round) []plan.Step {
	t.Helper()
	steps, err := p.Plan(t.Context(), s, lake(t), given...)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func at(t *testing.T, steps []plan.Step, path string) plan.Step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s plan.Step) bool { return s.Path == path })
	if i < 0 {
		t.Fatalf("no step %s", path)
	}
	return steps[i]
}

func TestArmsThatDifferInTheirDesignerShareAllBeforeItsFirstDesign(t *testing.T) {
	var plans [][]plan.Step
	p := plan.New(nil)
	variants := []string{"V1", "V2", "V3", "V4", "V5", "V6"}
	for _, v := range variants {
		plans = append(plans, planned(t, p, spec("arm-"+strings.ToLower(v), v)))
	}
	for _, path := range []string{
		"start/curriculum", "start/policy", "start/validation-set", "start/validate",
		"round-0/generate", "round-0/train", "round-0/validate", "benchmark-3/set", "benchmark-3/untrained",
	} {
		for i := range plans {
			if got, want := at(t, plans[i], path).ID, at(t, plans[0], path).ID; got != want {
				t.Errorf("%s of %s: %s; want %s", path, variants[i], got, want)
			}
		}
	}
	for _, path := range []string{"round-0/design", "round-1/train", "round-2/validate", "benchmark-3/trained"} {
		seen := map[experiment.StepID]bool{}
		for i := range plans {
			seen[at(t, plans[i], path).ID] = true
		}
		if len(seen) != len(plans) {
			t.Errorf("%s: %d different steps; want %d", path, len(seen), len(plans))
		}
	}
	all := plan.Share(plans...)
	if all.Steps != 6*19 || all.Distinct != 9+6*10 || all.Saved() != 5*9 || all.Done != 0 {
		t.Errorf("got %+v", all)
	}
	trainings := all.Kinds[slices.IndexFunc(all.Kinds, func(k plan.KindCount) bool { return k.Kind == plan.KindTrain })]
	if trainings.Steps != 18 || trainings.Distinct != 13 {
		t.Errorf("trainings: %+v; want 18, of which 13 different", trainings)
	}
}

func TestASpecThatDoesNotShareHasStepsOfItsOwn(t *testing.T) {
	no := false
	alone := spec("alone", "V6")
	alone.Share = &no
	other := alone
	other.Name = "other"
	p := plan.New(nil)
	if s := plan.Share(planned(t, p, spec("shared", "V6")), planned(t, p, alone), planned(t, p, other)); s.Distinct != s.Steps {
		t.Errorf("%d of %d steps are shared; want none", s.Steps-s.Distinct, s.Steps)
	}
}

func TestPlansAreTheSameEveryTime(t *testing.T) {
	a, b := planned(t, plan.New(nil), spec("a", "V6")), planned(t, plan.New(nil), spec("b", "V6"))
	for i := range a {
		if a[i].ID != b[i].ID {
			t.Errorf("%s: %s, then %s", a[i].Path, a[i].ID, b[i].ID)
		}
	}
}

// TestWhatIsDoneIsKnown does one step by hand; the plan then knows its sum, and
// with it the keys of the next.
func TestWhatIsDoneIsKnown(t *testing.T) {
	steps := artifact.Steps{Store: artifacttest.NewMemory()}
	s := spec("a", "V6")
	before := planned(t, plan.New(&steps), s)
	if g := at(t, before, "round-0/generate"); g.Open || !at(t, before, "round-0/train").Open {
		t.Errorf("round 0's set: %+v; want its key known, and that of the training open", g)
	}
	finish := func(path string) {
		t.Helper()
		started := time.Now().Add(-time.Minute)
		files := []artifact.Body{artifact.Bytes(plan.FileDataset, []byte(path)), artifact.Bytes(plan.FilePolicy, []byte(path))}
		if _, _, err := steps.Commit(t.Context(), at(t, before, path).ID, "x", nil, started, files); err != nil {
			t.Fatal(err)
		}
	}
	finish("round-0/generate")
	if last := at(t, planned(t, plan.New(&steps), s), "round-0/train"); !last.Open {
		t.Errorf("the training: %+v; want it open while the policy that it starts from is not there", last)
	}
	finish("start/policy")
	after := planned(t, plan.New(&steps), s)
	first, last := at(t, after, "round-0/generate"), at(t, after, "round-0/train")
	if !first.Done || first.Seconds < 60 || first.Open {
		t.Errorf("the set: %+v; want it done, after a minute", first)
	}
	if last.Open || last.Done || last.ID == at(t, before, "round-0/train").ID {
		t.Errorf("the training: %+v; want its own key, not done", last)
	}
}

func TestAForkTakesRoundsAsTheyAre(t *testing.T) {
	id := func(kind, key string) experiment.StepID { return experiment.StepID{Kind: kind, Key: key} }
	given := plan.Round{
		Curriculum: id("curriculum", "c"), Dataset: id("generate", "d"), Policy: id("train", "p"),
		Scorecard: id("evaluate", "s"), Design: id("design", "n"),
	}
	fork := planned(t, plan.New(nil), spec("fork", "V3"), given)
	for path, want := range map[string]experiment.StepID{
		"round-0/generate": given.Dataset, "round-0/train": given.Policy, "round-0/validate": given.Scorecard, "round-0/design": given.Design,
	} {
		if got := at(t, fork, path).ID; got != want {
			t.Errorf("%s: %s; want the parent's %s", path, got, want)
		}
	}
	if next := at(t, fork, "round-1/train"); !slices.Contains(next.After, given.Policy) {
		t.Errorf("round 1 trains from %v; want the parent's policy among them", next.After)
	}
}

func TestTroubleOfTheStoreIsToldAndNotTakenForAbsence(t *testing.T) {
	store := artifacttest.NewMemory()
	away := errors.New("connection refused")
	steps := artifact.Steps{Store: unreachable{store, away}}
	if _, err := plan.New(&steps).Plan(t.Context(), spec("a", "V6"), lake(t)); !errors.Is(err, away) {
		t.Errorf("got %v; want the store's trouble", err)
	}
}

// unreachable fails every read.
type unreachable struct {
	*artifacttest.Memory
	err error
}

func (u unreachable) Get(context.Context, string) (io.ReadCloser, error) { return nil, u.err }
