package lake

import (
	"math/rand/v2"
	"testing"
)

// squareMoves are the eight symmetries of a square with n cells a side.
func squareMoves(n int) (all []func(Cell) Cell) {
	for i := range 8 {
		all = append(all, func(c Cell) Cell {
			if i&1 != 0 {
				c[0] = n - 1 - c[0]
			}
			if i&2 != 0 {
				c[1] = n - 1 - c[1]
			}
			if i&4 != 0 {
				c[0], c[1] = c[1], c[0]
			}
			return c
		})
	}
	return all
}

// namings are all orders of k agents.
func namings(k int) (all [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for _, rest := range namings(k - 1) {
		for at := range k {
			order := append([]int{}, rest[:at]...)
			all = append(all, append(append(order, k-1), rest[at:]...))
		}
	}
	return all
}

func named(in Instance, order []int) Instance {
	out := Instance{N: in.N, Grid: in.Grid}
	for _, a := range order {
		out.Starts, out.Goals = append(out.Starts, in.Starts[a]), append(out.Goals, in.Goals[a])
	}
	return out
}

func TestAllMirroredTurnedAndRenamedInstancesHaveTheSameFactsAndSoundPlans(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	rng := rand.New(rand.NewPCG(8, 120))
	for agents := MinAgents; agents <= MaxAgents; agents++ {
		for n := max(MinSize, agents-1); n <= MaxSize; n++ {
			in := drawnInstance(rng, n, agents, n*n/5)
			want := solved(t, s, in, objectiveSum)
			want.Plan, want.Expansions = nil, 0
			for _, move := range squareMoves(n) {
				for _, order := range namings(agents) {
					checkTwin(t, s, named(mapped(in, move), order), want)
				}
			}
		}
	}
}

func checkTwin(t *testing.T, s *Solver, twin Instance, want Solution) {
	t.Helper()
	for _, objective := range []string{objectiveSum, objectiveMakespan} {
		got := solved(t, s, twin, objective)
		if err := sameFacts(got, want); err != nil {
			t.Errorf("%s, %+v: %v", objective, twin, err)
		}
		if err := provePlan(twin, got, objective); err != nil {
			t.Errorf("%s, %+v: %v", objective, twin, err)
		}
	}
}
