package lake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// reference is an instance with values on which at least two independent
// programs agree.
type reference struct {
	ID         string   `json:"id"`
	N          int      `json:"n"`
	Grid       []string `json:"grid"`
	Starts     []Cell   `json:"starts"`
	Goals      []Cell   `json:"goals"`
	Solvable   bool     `json:"solvable"`
	SumOfCosts int      `json:"optimal_sum_of_costs"`
	Makespan   int      `json:"optimal_makespan"`
	NeedsWait  bool     `json:"needs_wait"`
}

func (r reference) instance() Instance {
	return Instance{N: r.N, Grid: r.Grid, Starts: r.Starts, Goals: r.Goals}
}

func references(t testing.TB) []reference {
	t.Helper()
	data, err := os.ReadFile("testdata/mapf-reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []reference
	for line := range bytes.Lines(data) {
		var r reference
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestReferenceInstancesHaveTheirProvenOptima(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	for _, r := range references(t) {
		for _, objective := range []string{objectiveSum, objectiveMakespan} {
			got, err := s.Solve(t.Context(), r.instance(), objective)
			if err != nil {
				t.Fatalf("%s: %v", r.ID, err)
			}
			want := Solution{Solvable: r.Solvable, SumOfCosts: r.SumOfCosts, Makespan: r.Makespan, NeedsWait: r.NeedsWait}
			if err := sameFacts(got, want); err != nil {
				t.Errorf("%s: %v", r.ID, err)
			}
			if err := provePlan(r.instance(), got, objective); err != nil {
				t.Errorf("%s, %s: %v", r.ID, objective, err)
			}
		}
	}
}

func sameFacts(got, want Solution) error {
	got.Plan, got.Expansions = nil, 0
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Errorf("solution %s; want %s", g, w)
	}
	return nil
}
