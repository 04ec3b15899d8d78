package lake

import (
	"context"
	"fmt"
)

// Solution is what is known about an instance. Nothing else is set unless it is
// solvable.
type Solution struct {
	Solvable bool
	// SumOfCosts is the least sum over agents of the time of their last arrival.
	// Waiting on the goal after that is free.
	SumOfCosts int
	// Makespan is the least time of the last arrival. The plan that reaches it may
	// have a larger sum of costs.
	Makespan int
	// NeedsWait says that every plan with the least sum of costs has a wait before
	// some agent's arrival. It is about the sum of costs, whatever the objective.
	NeedsWait bool
	// Plan is an optimal one for the objective that was asked for, each path up to
	// its agent's arrival. The same instance always gets the same plan.
	Plan Plan
	// Expansions counts the joint states searched.
	Expansions int
}

// Solver finds optimal plans and proves that there is none. It keeps memory from
// one instance to the next and is not for concurrent use. Most instances take less
// than 1 MiB; a process that had solved the hardest we know had taken 93 MB, and
// the limits of notes and tables allow for about 160 MiB.
type Solver struct {
	puzzle puzzle
	toGoal [MaxAgents]field
	joint  joint
	groups []group
	routes [MaxAgents][]place // of the last search, up to the arrival

	shortest   int // sum of the agents' distances
	excess     int // what the cheapest plan costs more
	expansions int
}

// NewSolver returns a solver.
func NewSolver() *Solver { return &Solver{joint: joint{haste: 1}} }

// Solve finds both optima of an instance, whether it needs a wait, and a plan for
// the objective. It always ends with an optimum or the proof that there is no
// plan, unless the context ends first, and fails only then and for instances and
// objectives that make no sense.
func (s *Solver) Solve(ctx context.Context, in Instance, objective string) (Solution, error) {
	if err := checkSolve(in, objective); err != nil {
		return Solution{}, err
	}
	s.heed(ctx)
	if !s.load(puzzleOf(in)) || !s.cheapest() {
		return Solution{Expansions: s.expansions}, s.stopped(ctx)
	}
	sol := Solution{Solvable: true, SumOfCosts: s.shortest + s.excess, Plan: s.plan()}
	latest := s.latest()
	sol.NeedsWait = s.needsWait()
	sol.Makespan = s.makespan(latest)
	if objective == objectiveMakespan && sol.Makespan < latest {
		sol.Plan = s.plan()
	}
	sol.Expansions = s.expansions
	if err := s.stopped(ctx); err != nil {
		return Solution{}, err
	}
	return sol, nil
}

// heed makes all searches end soon after the context does, with results that
// mean nothing.
func (s *Solver) heed(ctx context.Context) { s.joint.stop, s.joint.stopped = ctx.Done(), false }

// stopped is the error of a search that a context has ended.
func (s *Solver) stopped(ctx context.Context) error {
	if s.joint.stopped {
		return fmt.Errorf("solve: stopped after %d joint states: %w", s.expansions, ctx.Err())
	}
	return nil
}

// Plan finds an optimal plan and nothing else, in less time than Solve. It fails
// for instances without one.
func (s *Solver) Plan(in Instance, objective string) (Plan, error) {
	if err := checkSolve(in, objective); err != nil {
		return nil, err
	}
	s.heed(context.Background())
	if !s.load(puzzleOf(in)) || !s.cheapest() {
		return nil, fmt.Errorf("solve %s instance: no plan brings all agents to their goals", in.SizeName())
	}
	plan := s.plan()
	if latest := s.latest(); objective == objectiveMakespan && s.makespan(latest) < latest {
		plan = s.plan()
	}
	return plan, nil
}

func checkSolve(in Instance, objective string) error {
	if objective != objectiveSum && objective != objectiveMakespan {
		return fmt.Errorf("solve: objective %.40q; want %q or %q", objective, objectiveSum, objectiveMakespan)
	}
	if err := in.check(); err != nil {
		return fmt.Errorf("solve: %w", err)
	}
	return nil
}

// load takes a puzzle and says whether every agent could reach its goal if it
// were alone.
func (s *Solver) load(p *puzzle) bool {
	s.puzzle = *p
	s.joint.bounds.forget()
	s.shortest, s.excess, s.expansions = 0, 0, 0
	for i := range p.agents {
		s.toGoal[i].measure(&s.puzzle.ground, p.goals[i])
		d := s.toGoal[i][p.starts[i]]
		if d >= unseen {
			return false
		}
		s.shortest += int(d)
	}
	return true
}

// cheapest finds routes of least cost, and false if there are none at all.
func (s *Solver) cheapest() bool {
	s.alone(0)
	if !s.resolve(cheapest) {
		return false
	}
	for _, g := range s.groups {
		s.excess += g.budget
	}
	return true
}

// needsWait says whether all plans of least cost have a wait before an arrival.
// It follows cheapest, whose routes it may replace.
//
// An odd excess has a wait in it, since detours cost two each; so has a group's.
// Without one, the groups keep their budgets in the search for a plan without
// waits: none of them can do with less, so together they cannot with more.
func (s *Solver) needsWait() bool {
	for _, g := range s.groups {
		if g.budget%2 == 1 {
			return true
		}
	}
	return s.waits() && !s.resolve(waitless)
}

// waits says whether there is a wait on the routes.
func (s *Solver) waits() bool {
	for _, route := range s.routes[:s.puzzle.agents] {
		for t := range len(route) - 1 {
			if route[t] == route[t+1] {
				return true
			}
		}
	}
	return false
}

// latest is the time of the last arrival on the routes.
func (s *Solver) latest() int {
	latest := 0
	for _, route := range s.routes[:s.puzzle.agents] {
		latest = max(latest, len(route)-1)
	}
	return latest
}

// makespan finds the least makespan, given a time that is known to suffice.
// Unless that is the least, the routes are replaced by quicker ones.
func (s *Solver) makespan(suffices int) int {
	farthest := 0
	for i, start := range s.puzzle.starts[:s.puzzle.agents] {
		farthest = max(farthest, int(s.toGoal[i][start]))
	}
	for t := farthest; t < suffices; t++ {
		s.alone(t)
		if s.resolve(quickest) {
			return t
		}
	}
	return suffices
}

// plan is the routes as a plan.
func (s *Solver) plan() Plan {
	plan := make(Plan, s.puzzle.agents)
	for i := range plan {
		plan[i] = make([]Cell, len(s.routes[i]))
		for t, p := range s.routes[i] {
			plan[i][t] = cellOf(p)
		}
	}
	return plan
}
