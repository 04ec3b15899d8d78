package lake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/env/lake"
	"floe/internal/experiment"
)

func order(size string, samples int, holes, waits float64) env.Order {
	return env.Order{
		Split: env.SplitTrain, Seed: "tool", IDPrefix: "t-", Agents: 2, Objective: "sum_of_costs", Samples: samples,
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{{
			Size: size, DataRatio: 1, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: holes}, {Name: "wait_ratio", Value: waits}},
		}}},
	}
}

func tasks(t *testing.T, o env.Order) []env.Task {
	t.Helper()
	all, _, err := env.Tasks(t.Context(), lake.New(), o, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func drift(t *testing.T, all []env.Task) []env.Drift {
	t.Helper()
	check := lake.New().NewDriftCheck()
	for _, task := range all {
		if err := check.Add(task); err != nil {
			t.Fatal(err)
		}
	}
	found, err := check.Compare(t.Context(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestGeneratedSetsDoNotDrift(t *testing.T) {
	for _, o := range []env.Order{order("3x3", 3000, 0, 0.5), order("5x5", 600, 0.3, 0.5), order("8x8", 300, 0.2, 0.3)} {
		for _, d := range drift(t, tasks(t, o)) {
			if d.Verdict == env.DriftFound {
				t.Errorf("%+v", d)
			}
		}
	}
}

func TestASetOfNearGoalsDrifts(t *testing.T) {
	var near []env.Task
	for _, task := range tasks(t, order("6x6", 1500, 0.2, 0.5)) {
		m, err := lake.New().Measure(task)
		if err != nil {
			t.Fatal(err)
		}
		if task.Group == "no_wait" || m[1] < 4 { // only the tasks that need a wait are made easy
			near = append(near, task)
		}
	}
	for _, d := range drift(t, near) {
		want := env.DriftNone
		if d.Group == "needs_wait" {
			want = env.DriftFound
		}
		if d.Verdict != want {
			t.Errorf("got %+v; want %s", d, want)
		}
	}
}

func TestRareKindsAreNotJudged(t *testing.T) {
	for _, d := range drift(t, tasks(t, order("10x10", 4, 0, 0.5))) {
		if d.Group == "needs_wait" && d.Verdict == env.DriftFound {
			t.Errorf("%+v", d)
		}
	}
	if found := drift(t, nil); len(found) != 0 {
		t.Errorf("an empty set has %+v", found)
	}
	if err := lake.New().NewDriftCheck().Add(env.Task{ID: "x", Instance: json.RawMessage(`{}`)}); err == nil {
		t.Error("a task without a map was measured")
	}
}

func TestDriftIsOfTheObjectiveAndOfEachSizeAlone(t *testing.T) {
	small, large := order("4x4", 200, 0.2, 0.3), order("6x6", 100, 0.2, 0.3)
	large.IDPrefix = "l-"
	small.Objective, large.Objective = "makespan", "makespan"
	a, b := tasks(t, small), tasks(t, large)
	together, apart := drift(t, append(slices.Clone(a), b...)), append(drift(t, a), drift(t, b)...)
	if !reflect.DeepEqual(together, apart) {
		t.Errorf("two sizes in one set: %+v\nin two sets: %+v", together, apart)
	}
	for _, d := range together {
		if d.Verdict != env.DriftNone {
			t.Errorf("%+v", d)
		}
	}
}

// A kind that is too rare: a benchmark's many kinds leave few draws to each.
func TestWhatIsTooRareIsSaidToBe(t *testing.T) {
	all := tasks(t, order("10x10", 4, 0, 0.5))
	for holes := range 30 {
		all = append(all, tasks(t, order("9x9", 1, float64(holes+1)/81+0.001, 0))...)
	}
	unknown := 0
	for _, d := range drift(t, all) {
		if d.Verdict == env.DriftUnknown {
			unknown++
			if d.Size != "10x10" || d.Group != "needs_wait" || d.Expected != 0 || d.Error != 0 || d.Mean == 0 {
				t.Errorf("%+v; want only the rare kind, with its own mean alone", d)
			}
		}
	}
	if unknown != 2 {
		t.Errorf("%d means are too rare to tell; want distance and optimum", unknown)
	}
}

func TestADriftCheckStopsWhenItIsCancelled(t *testing.T) {
	check := lake.New().NewDriftCheck()
	for _, task := range tasks(t, order("5x5", 4, 0.2, 0.5)) {
		if err := check.Add(task); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := check.Compare(ctx, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want %v", err, context.Canceled)
	}
}

func TestTasksThatCannotBeReadAreNotMeasured(t *testing.T) {
	_, err := lake.New().Measure(env.Task{ID: "odd", Instance: json.RawMessage(`{}`)})
	if err == nil || !strings.Contains(err.Error(), `measure task "odd"`) {
		t.Errorf("got %v; want an error that names the task", err)
	}
	for i, m := range lake.New().Measures() {
		if m.Name == "" || m.Doc == "" {
			t.Errorf("measure %d is %+v; want a name and what it means", i, m)
		}
	}
}

// FuzzSolveRow: any row is solved or refused, and what is solved is consistent.
func FuzzSolveRow(f *testing.F) {
	for _, row := range []string{
		`{"id":"a","grid":["FFF","FHF","FFF"],"starts":[[0,0],[2,2]],"goals":[[2,0],[0,2]]}`,
		`{"n":3,"agents":2,"grid":["HFF","FFH","HFF"],"starts":[[1,0],[0,1]],"goals":[[2,1],[1,0]]}`,
		`{"n":4,"grid":["FFF","FFF","FFF"],"starts":[[0,0],[0,1]],"goals":[[0,0],[0,1]]}`,
		`{"grid":7}`, `[]`, `null`, `{"starts":[[1e99,0]]}`, `{"n":-1}`, `{"grid":["ÄÄÄ","FFF","FFF"],"starts":[[0,0],[1,1]],"goals":[[0,1],[1,2]]}`, ``,
	} {
		f.Add([]byte(row))
	}
	solver := lake.New().NewSolver()
	f.Fuzz(func(t *testing.T, row []byte) {
		if strings.Count(string(row), "F") > 30 {
			t.Skip("larger maps take long")
		}
		s, err := solver.Solve(t.Context(), row, "sum_of_costs")
		if err != nil || !s.Solvable {
			return
		}
		if sum, span := s.Optima[0].Cost, s.Optima[1].Cost; span > sum || len(s.Plan) == 0 {
			t.Errorf("%s: sum %d, makespan %d, plan %s", row, sum, span, s.Plan)
		}
	})
}

func TestSolversRefuseWrongObjectives(t *testing.T) {
	row := []byte(`{"grid":["FFF","FFF","FFF"],"starts":[[0,0],[0,1]],"goals":[[1,0],[1,1]]}`)
	for _, objective := range append(lake.New().Objectives(), "speed") {
		_, err := lake.New().NewSolver().Solve(t.Context(), row, objective)
		if (err != nil) != (objective == "speed") {
			t.Error(fmt.Errorf("%s: %w", objective, err))
		}
	}
}
