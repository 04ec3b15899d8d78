package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"floe/internal/curriculum"
	"floe/internal/env"
)

var (
	_ env.Importer   = Lake{}
	_ env.Subdivider = Lake{}
)

// solvers keep their memory from one import to the next.
var solvers = sync.Pool{New: func() any { return NewSolver() }}

// Import reads a row of the published benchmark, which is nothing but a prompt,
// and solves its instance.
func (Lake) Import(id, text, objective string) (env.Task, error) {
	in, err := parsePrompt(text)
	if err != nil {
		return env.Task{}, fmt.Errorf("import task %q: %w", id, err)
	}
	solver, _ := solvers.Get().(*Solver)
	defer solvers.Put(solver)
	solution, err := solver.Solve(in, objective)
	if err == nil && !solution.Solvable {
		err = errors.New("no plan brings all agents to their goals")
	}
	if err != nil {
		return env.Task{}, fmt.Errorf("import task %q: %w", id, err)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return env.Task{}, fmt.Errorf("import task %q: encode instance: %w", id, err)
	}
	return env.Task{
		ID: id, Size: in.SizeName(), Group: solution.group(), Objective: objective, Optimum: solution.optimum(objective),
		Prompt: text, Instance: body,
	}, nil
}

func (s Solution) group() string {
	if s.NeedsWait {
		return groupWait
	}
	return groupFree
}

func (s Solution) optimum(objective string) int {
	if objective == objectiveMakespan {
		return s.Makespan
	}
	return s.SumOfCosts
}

// Subsets names the wait subsets as published: wr_025, wr_050 and wr_075.
func (Lake) Subsets(o env.Order) []string {
	names := make([]string, 0, o.Samples)
	for i, count := range curriculum.Apportion(even(len(benchmarkWaits)), o.Samples) {
		for range count {
			names = append(names, fmt.Sprintf("wr_%03.0f", math.Round(100*benchmarkWaits[i])))
		}
	}
	return names
}
