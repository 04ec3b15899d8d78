package lake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// drawnInstance draws a map with its agents.
func drawnInstance(rng *rand.Rand, n, agents, holes int) Instance {
	cells := rng.Perm(n * n)
	grid := []byte(strings.Repeat("F", n*n))
	for _, c := range cells[2*agents:][:holes] {
		grid[c] = 'H'
	}
	in := Instance{N: n}
	for r := range n {
		in.Grid = append(in.Grid, string(grid[r*n:(r+1)*n]))
	}
	for i := range agents {
		in.Starts = append(in.Starts, Cell{cells[i] / n, cells[i] % n})
		in.Goals = append(in.Goals, Cell{cells[agents+i] / n, cells[agents+i] % n})
	}
	return in
}

// sample draws instances of all sizes and numbers of agents.
func sample(perKind int, each func(in Instance)) {
	for agents := MinAgents; agents <= MaxAgents; agents++ {
		for n := MinSize; n <= MaxSize; n++ {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(agents)))
			for range perKind {
				if most := min(n*n*2/5, n*n-2*agents); most >= 0 {
					each(drawnInstance(rng, n, agents, rng.IntN(most+1)))
				}
			}
		}
	}
}

func solved(t *testing.T, s *Solver, in Instance, objective string) Solution {
	t.Helper()
	sol, err := s.Solve(t.Context(), in, objective)
	if err != nil {
		t.Fatal(err)
	}
	return sol
}

func TestEveryPlanIsFreeOfCollisionsAndCostsWhatIsClaimed(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	sample(10, func(in Instance) {
		for _, objective := range []string{objectiveSum, objectiveMakespan} {
			if err := provePlan(in, solved(t, s, in, objective), objective); err != nil {
				t.Errorf("%+v, %s: %v", in, objective, err)
			}
		}
	})
}

// mapped applies a symmetry of the square to an instance.
func mapped(in Instance, move func(Cell) Cell) Instance {
	grid := slices.Repeat([][]byte{nil}, in.N)
	for r := range grid {
		grid[r] = make([]byte, in.N)
	}
	for r := range in.N {
		for c := range in.N {
			to := move(Cell{r, c})
			grid[to[0]][to[1]] = in.Grid[r][c]
		}
	}
	out := Instance{N: in.N}
	for _, row := range grid {
		out.Grid = append(out.Grid, string(row))
	}
	for i := range in.Starts {
		out.Starts = append(out.Starts, move(in.Starts[i]))
		out.Goals = append(out.Goals, move(in.Goals[i]))
	}
	return out
}

func TestSymmetriesAndNamesOfAgentsChangeNothing(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	sample(6, func(in Instance) {
		last := in.N - 1
		want := solved(t, s, in, objectiveSum)
		renamed := mapped(in, func(c Cell) Cell { return c })
		slices.Reverse(renamed.Starts)
		slices.Reverse(renamed.Goals)
		for name, twin := range map[string]Instance{
			"mirrored":   mapped(in, func(c Cell) Cell { return Cell{c[0], last - c[1]} }),
			"turned":     mapped(in, func(c Cell) Cell { return Cell{c[1], last - c[0]} }),
			"transposed": mapped(in, func(c Cell) Cell { return Cell{c[1], c[0]} }),
			"renamed":    renamed,
			"reversed":   {N: in.N, Grid: in.Grid, Starts: in.Goals, Goals: in.Starts},
		} {
			got := solved(t, s, twin, objectiveSum)
			if name == "reversed" { // arrivals are no departures: only the makespan is the same
				got.SumOfCosts, got.NeedsWait = want.SumOfCosts, want.NeedsWait
			}
			if err := sameFacts(got, Solution{Solvable: want.Solvable, SumOfCosts: want.SumOfCosts, Makespan: want.Makespan, NeedsWait: want.NeedsWait}); err != nil {
				t.Errorf("%s %+v: %v", name, in, err)
			}
		}
	})
}

func TestOneMoreHoleNeverHelps(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	rng := rand.New(rand.NewPCG(5, 5))
	sample(6, func(in Instance) {
		before := solved(t, s, in, objectiveSum)
		holed := mapped(in, func(c Cell) Cell { return c })
		c := Cell{rng.IntN(in.N), rng.IntN(in.N)}
		if slices.Contains(in.Starts, c) || slices.Contains(in.Goals, c) {
			return
		}
		row := []byte(holed.Grid[c[0]])
		row[c[1]] = 'H'
		holed.Grid[c[0]] = string(row)
		after := solved(t, s, holed, objectiveSum)
		if after.Solvable && (!before.Solvable || after.SumOfCosts < before.SumOfCosts || after.Makespan < before.Makespan) {
			t.Errorf("%+v: %+v; with a hole on %v %+v", in, before, c, after)
		}
	})
}

func TestRelationsThatAlwaysHold(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	sample(10, func(in Instance) {
		sol := solved(t, s, in, objectiveSum)
		if !sol.Solvable {
			return
		}
		sum, longest := individual(in)
		excess := sol.SumOfCosts - sum
		waits := false
		for _, path := range sol.Plan {
			waits = waits || len(slices.Compact(slices.Clone(path))) < len(path)
		}
		for law, holds := range map[string]bool{
			"the optimum is at least the individual paths":  excess >= 0,
			"an odd excess needs a wait":                    excess%2 == 0 || sol.NeedsWait,
			"no excess, no wait":                            excess > 0 || !sol.NeedsWait,
			"a needed wait is in the plan":                  waits || !sol.NeedsWait,
			"the makespan is at most the sum of costs":      sol.Makespan <= sol.SumOfCosts,
			"the makespan is at least the longest way":      sol.Makespan >= longest,
			"the sum is at most the makespan of all agents": sol.SumOfCosts >= sol.Makespan && sol.Makespan*in.Agents() >= sum,
		} {
			if !holds {
				t.Errorf("%+v: %+v: not so: %s", in, sol, law)
			}
		}
	})
}

// individual measures the agents' shortest paths by plain relaxation.
func individual(in Instance) (sum, longest int) {
	for i, goal := range in.Goals {
		far := map[Cell]int{goal: 0}
		for front := []Cell{goal}; len(front) > 0; front = front[1:] {
			c := front[0]
			for _, n := range []Cell{{c[0] - 1, c[1]}, {c[0] + 1, c[1]}, {c[0], c[1] - 1}, {c[0], c[1] + 1}} {
				if _, seen := far[n]; !seen && in.Inside(n) && !in.Hole(n) {
					far[n] = far[c] + 1
					front = append(front, n)
				}
			}
		}
		sum, longest = sum+far[in.Starts[i]], max(longest, far[in.Starts[i]])
	}
	return sum, longest
}

func TestASolverRemembersNothing(t *testing.T) {
	t.Parallel()
	used := NewSolver()
	sample(4, func(in Instance) {
		for _, objective := range []string{objectiveSum, objectiveMakespan} {
			got, want := solved(t, used, in, objective), solved(t, NewSolver(), in, objective)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v: a used solver says %v; a new one %v", in, got, want)
			}
			plan, err := used.Plan(in, objective)
			if (err == nil) != want.Solvable || fmt.Sprint(plan) != fmt.Sprint(want.Plan) {
				t.Errorf("%+v: Plan says %v, %v; Solve %v", in, plan, err, want.Plan)
			}
		}
	})
}

func TestAgentsMayStartOnGoals(t *testing.T) {
	for name, c := range map[string]struct {
		in   Instance
		want Solution
	}{
		"all at home": {
			Instance{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{0, 0}, {1, 1}}, Goals: []Cell{{0, 0}, {1, 1}}},
			Solution{Solvable: true},
		},
		"one at home gives way": {
			Instance{N: 3, Grid: []string{"FFF", "HFH", "HHH"}, Starts: []Cell{{0, 0}, {0, 1}}, Goals: []Cell{{0, 2}, {0, 1}}},
			Solution{Solvable: true, SumOfCosts: 4, Makespan: 2},
		},
		"a swap in a corridor": {
			Instance{N: 3, Grid: []string{"FFF", "HHH", "HHH"}, Starts: []Cell{{0, 0}, {0, 2}}, Goals: []Cell{{0, 2}, {0, 0}}},
			Solution{},
		},
		"a full block turns": {
			Instance{N: 3, Grid: []string{"FFH", "FFH", "HHH"}, Starts: []Cell{{0, 0}, {0, 1}, {1, 1}, {1, 0}}, Goals: []Cell{{0, 1}, {1, 1}, {1, 0}, {0, 0}}},
			Solution{Solvable: true, SumOfCosts: 4, Makespan: 1},
		},
	} {
		got := solved(t, NewSolver(), c.in, objectiveSum)
		if err := sameFacts(got, c.want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := provePlan(c.in, got, objectiveSum); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSolveRefusesWhatMakesNoSense(t *testing.T) {
	sound := crossing()
	for name, c := range map[string]struct {
		in        Instance
		objective string
		want      string
	}{
		"objective": {sound, "time", `objective "time"`},
		"instance":  {Instance{N: 3}, objectiveSum, "grid has 0 rows"},
	} {
		if _, err := NewSolver().Solve(t.Context(), c.in, c.objective); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Solve: %v; want %q", name, err, c.want)
		}
		if _, err := NewSolver().Plan(c.in, c.objective); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Plan: %v; want %q", name, err, c.want)
		}
	}
}

func TestTheSearchForACostDoesNotAllocate(t *testing.T) {
	s := NewSolver()
	p := puzzleOf(drawnInstance(rand.New(rand.NewPCG(1, 1)), 8, 2, 12))
	if allocs := testing.AllocsPerRun(100, func() {
		if !s.load(p) || !s.cheapest() {
			t.Error("unsolvable")
		}
		s.needsWait()
	}); allocs > 0 {
		t.Errorf("%v allocations; want none", allocs)
	}
}

func BenchmarkSolve(b *testing.B) { // the least cost and whether it needs a wait, over instances of all sizes
	for agents := MinAgents; agents <= MaxAgents; agents++ {
		for _, percent := range []int{10, 30} {
			b.Run(fmt.Sprintf("agents=%d/holes=%d", agents, percent), func(b *testing.B) {
				var puzzles []*puzzle
				rng := rand.New(rand.NewPCG(uint64(agents), uint64(percent)))
				for i := range 256 {
					n := max(MinSize, agents) + i%(MaxSize+1-max(MinSize, agents))
					puzzles = append(puzzles, puzzleOf(drawnInstance(rng, n, agents, n*n*percent/100)))
				}
				s := NewSolver()
				for i := 0; b.Loop(); i++ {
					if s.load(puzzles[i%len(puzzles)]) && s.cheapest() {
						s.needsWait()
					}
				}
			})
		}
	}
}

func TestASolveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var in Instance
	rng := rand.New(rand.NewPCG(9, 50))
	for range 42 { // the last of these takes minutes
		in = looseInstance(rng, 9, 5, 40)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := NewSolver()
	if sol, err := s.Solve(ctx, in, objectiveSum); !errors.Is(err, context.DeadlineExceeded) || sol.Solvable {
		t.Errorf("%+v, %v; want the context's error and nothing found", sol, err)
	}
	if got, want := fmt.Sprint(solved(t, s, crossing(), objectiveSum)), fmt.Sprint(solved(t, NewSolver(), crossing(), objectiveSum)); got != want {
		t.Errorf("the next solve says %s; want %s", got, want)
	}
}
