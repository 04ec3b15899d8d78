package env

import (
	"context"
	"encoding/json"
)

// Solving is an environment that also solves instances which it has not drawn.
type Solving interface {
	Environment
	// Objectives lists what optimal may mean, the usual one first.
	Objectives() []string
	// NewSolver returns a solver. Solvers keep memory from one instance to the next
	// and are not for concurrent use: each worker has its own.
	NewSolver() Solver
}

// Solver finds optimal answers, or proves that there is none.
type Solver interface {
	// Solve reads a row, a JSON object with the fields of an instance as in a
	// dataset; fields with other names are not looked at. It fails for rows that
	// are no instance, saying everything that is wrong with one, and when the
	// context ends.
	Solve(ctx context.Context, row []byte, objective string) (Solution, error)
}

// Solution is what is known about an instance.
type Solution struct {
	Solvable   bool
	Size       string
	Optima     []Optimum       // one per objective, in the order of Objectives
	Traits     []Trait         // what else is known
	Plan       json.RawMessage // an optimal answer in the environment's own form; nil unless solvable
	Expansions int             // search effort, in the solver's own unit
}

// Optimum is the least cost under an objective. The cost means nothing unless
// the instance is solvable.
type Optimum struct {
	Objective string
	Cost      int
}

// Trait is a fact about the optimal answers. It means nothing unless the instance
// is solvable.
type Trait struct {
	Name  string
	Holds bool
}
