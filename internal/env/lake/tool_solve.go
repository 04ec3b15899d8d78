package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"floe/internal/env"
)

var _ env.Solving = Lake{}

// Objectives are the sum of costs and the makespan.
func (Lake) Objectives() []string { return []string{objectiveSum, objectiveMakespan} }

// NewSolver returns a solver of rows.
func (Lake) NewSolver() env.Solver { return rowSolver{NewSolver()} }

type rowSolver struct{ solver *Solver }

// Solve solves an instance given as grid, starts and goals.
func (r rowSolver) Solve(ctx context.Context, row []byte, objective string) (env.Solution, error) {
	in, err := decodeRow(row)
	if err != nil {
		return env.Solution{}, err
	}
	sol, err := r.solver.Solve(ctx, in, objective)
	if err != nil {
		return env.Solution{}, err
	}
	found := env.Solution{
		Solvable: sol.Solvable, Size: in.SizeName(), Expansions: sol.Expansions,
		Optima: []env.Optimum{{Objective: objectiveSum, Cost: sol.SumOfCosts}, {Objective: objectiveMakespan, Cost: sol.Makespan}},
		Traits: []env.Trait{{Name: groupWait, Holds: sol.NeedsWait}},
	}
	if sol.Solvable {
		found.Plan, err = json.Marshal(sol.Plan)
	}
	return found, err
}

// decodeRow reads an instance from among other fields. n and agents may be left
// out, as the rest says them; where they are given they must agree with it.
func decodeRow(row []byte) (Instance, error) {
	var raw struct {
		N      *int     `json:"n"`
		Agents *int     `json:"agents"`
		Grid   []string `json:"grid"`
		Starts [][]int  `json:"starts"`
		Goals  [][]int  `json:"goals"`
	}
	if err := json.Unmarshal(row, &raw); err != nil {
		return Instance{}, wrongType(err)
	}
	starts, errStarts := pairs("start", raw.Starts)
	goals, errGoals := pairs("goal", raw.Goals)
	in := Instance{N: len(raw.Grid), Grid: raw.Grid, Starts: starts, Goals: goals}
	errs := []error{errStarts, errGoals}
	if raw.N != nil && *raw.N != in.N {
		errs = append(errs, fmt.Errorf("n is %d, but grid has %d rows; want them equal, or no n", *raw.N, in.N))
	}
	if raw.Agents != nil && *raw.Agents != len(starts) {
		errs = append(errs, fmt.Errorf("agents is %d, but there are %d starts; want them equal, or no agents", *raw.Agents, len(starts)))
	}
	if errStarts == nil && errGoals == nil {
		errs = append(errs, in.check())
	}
	return in, errors.Join(errs...)
}

// wrongType says in the words of the row what encoding/json says in Go's.
func wrongType(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("found no JSON object: %w", err)
	}
	if wrong.Field == "" {
		return fmt.Errorf("found a JSON %s; want an object with grid, starts and goals", wrong.Value)
	}
	want := map[string]string{
		"n": "a whole number", "agents": "a whole number", "grid": `a list of texts such as "FFH"`,
		"starts": "a list of cells such as [0, 2]", "goals": "a list of cells such as [0, 2]",
	}[wrong.Field]
	return fmt.Errorf("%s: found a JSON %s; want %s", wrong.Field, wrong.Value, want)
}
