package lake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// speedCase is one of the 3,200 random instances on which solvers are compared:
// 50 of every size, number of agents, and hole ratio 0.1 or 0.3.
type speedCase struct {
	id string
	in Instance
}

func speedCases() (all []speedCase) {
	for n := MinSize; n <= MaxSize; n++ {
		for agents := MinAgents; agents <= MaxAgents; agents++ {
			for _, percent := range []int{10, 30} {
				rng := rand.New(rand.NewPCG(uint64(n*10+agents), uint64(percent)))
				for i := range 50 {
					id := fmt.Sprintf("%dx%d-%dag-hr0.%d-%02d", n, n, agents, percent/10, i)
					all = append(all, speedCase{id, looseInstance(rng, n, agents, n*n*percent/100)})
				}
			}
		}
	}
	return all
}

// looseInstance draws a map with its agents. Starts are distinct, goals are
// distinct, every agent has a way to go and could go it if it were alone; a start
// may be another agent's goal.
func looseInstance(rng *rand.Rand, n, agents, holes int) Instance {
	for {
		cells := rng.Perm(n * n)
		in := mapped(Instance{N: n, Grid: gridWithout(n, cells[:holes])}, func(c Cell) Cell { return c })
		starts, goals := rng.Perm(n*n - holes)[:agents], rng.Perm(n*n - holes)[:agents]
		apart := true
		for i := range agents {
			s, g := cells[holes+starts[i]], cells[holes+goals[i]]
			in.Starts, in.Goals = append(in.Starts, Cell{s / n, s % n}), append(in.Goals, Cell{g / n, g % n})
			apart = apart && s != g
		}
		if apart && NewSolver().load(puzzleOf(in)) {
			return in
		}
	}
}

func gridWithout(n int, holes []int) (grid []string) {
	for r := range n {
		row := slices.Repeat([]byte{frozen}, n)
		for _, h := range holes {
			if h/n == r {
				row[h%n] = hole
			}
		}
		grid = append(grid, string(row))
	}
	return grid
}

// BenchmarkSolveTable solves each of the 3,200 instances and reports how the
// times spread, for the least cost alone and for everything that Solve finds.
// A time is the least of three, unless it is long.
func BenchmarkSolveTable(b *testing.B) {
	cases := speedCases()
	for _, what := range []struct {
		name string
		do   func(*Solver, Instance) bool
	}{
		{"cost", func(s *Solver, in Instance) bool { return s.load(puzzleOf(in)) && s.cheapest() }},
		{"everything", func(s *Solver, in Instance) bool {
			sol, err := s.Solve(context.Background(), in, objectiveSum)
			return err == nil && sol.Solvable
		}},
	} {
		b.Run(what.name, func(b *testing.B) {
			for b.Loop() {
				speedTable(b, cases, what.do)
			}
		})
	}
}

func speedTable(b *testing.B, cases []speedCase, do func(*Solver, Instance) bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := NewSolver()
	times := make([]time.Duration, len(cases))
	solvable, slowest := 0, 0
	for i, c := range cases {
		ok := false
		for run := range 3 {
			start := cpuTime(b)
			ok = do(s, c.in)
			took := cpuTime(b) - start
			if run == 0 || took < times[i] {
				times[i] = took
			}
			if took > 100*time.Millisecond {
				break
			}
		}
		if ok {
			solvable++
		}
		if times[i] > times[slowest] {
			slowest = i
		}
	}
	b.Logf("%d solvable, %d proved unsolvable, slowest %s in %v", solvable, len(cases)-solvable, cases[slowest].id, times[slowest])
	slices.Sort(times)
	for _, q := range []struct {
		name string
		at   int
	}{{"median", len(times) / 2}, {"p95", len(times) * 95 / 100}, {"p99", len(times) * 99 / 100}, {"max", len(times) - 1}} {
		b.ReportMetric(float64(times[q.at].Nanoseconds())/1e3, q.name+"-us")
	}
}
