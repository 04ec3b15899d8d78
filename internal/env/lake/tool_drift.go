package lake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Limits of a drift check. The effort is bounded by counts, not by time: the same
// set gets the same check on any machine.
const (
	driftEnough    = 1_000  // of each group, for a kind of map
	driftDraws     = 12_000 // instances drawn at most for a kind
	driftAllDraws  = 96_000 // in all: benchmarks have dozens of kinds
	driftEffort    = 30_000 // at most for a kind, see effort
	driftLeast     = 30     // of a group, for its mean to be compared
	driftLeastKind = 3      // of a group, for each kind that has a part in the mean
	driftTooFar    = 4.5    // standard errors: of the 32 means of eight sizes, chance puts one beyond once in 4,000 sets
	rounding       = 1e-9   // of two means that are equal
)

// NewDriftCheck compares a set's means with those of instances drawn uniformly,
// each kept as it comes if it can be solved. Nothing of the generator but the
// solver has a part in them, so a search that favours some instances of a class
// shows.
func (Lake) NewDriftCheck() env.DriftCheck { return &driftCheck{} }

// driftCheck sorts a set's tasks into cells and kinds of maps.
type driftCheck struct {
	cells  []*cell
	strata []*stratum // in the order in which the set has them
}

// Compare draws instances and compares the means.
func (d *driftCheck) Compare(ctx context.Context, progress func(done, total int)) ([]env.Drift, error) {
	if err := sampleAll(ctx, d.strata, min(driftDraws, driftAllDraws/max(1, len(d.strata))), progress); err != nil {
		return nil, fmt.Errorf("draw instances to compare with: %w", err)
	}
	slices.SortFunc(d.cells, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(slices.Index(groups[:], a.group), slices.Index(groups[:], b.group)))
	})
	return compare(d.cells, d.strata), nil
}

func sampleAll(ctx context.Context, strata []*stratum, most int, progress func(done, total int)) error {
	var mu sync.Mutex
	done := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range strata {
		g.Go(func() error {
			if err := s.sample(ctx, most); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(strata))
			return nil
		})
	}
	return g.Wait()
}

// stratum is one kind of map in a set: what is drawn as it comes has its size,
// holes and agents.
type stratum struct {
	n, holes, agents int
	objective        string
	have             map[string]int // tasks of the set, by group
	drawn            map[string]*[measureCount]moments
}

// cell is a size and group of a set.
type cell struct {
	n        int
	group    string
	of       [measureCount]moments
	distinct map[digest]struct{} // instances: a repeat says nothing new about chance
}

// moments add up a figure.
type moments struct {
	n         int
	sum, sumS float64
}

func (m *moments) add(x float64) { m.n++; m.sum += x; m.sumS += float64(x * x) }

func (m moments) mean() float64 { return m.sum / float64(max(1, m.n)) }

func (m moments) variance() float64 {
	mean := m.mean()
	return max(0, m.sumS/float64(max(1, m.n))-float64(mean*mean))
}

// Add counts a task into its cell and kind.
func (d *driftCheck) Add(t env.Task) error {
	in, err := instanceOf(t)
	if err != nil {
		return fmt.Errorf("measure task %q: %w", t.ID, err)
	}
	c := findOr(&d.cells, func(c *cell) bool { return c.n == in.N && c.group == t.Group }, func() *cell {
		return &cell{n: in.N, group: t.Group, distinct: map[digest]struct{}{}}
	})
	c.distinct[rowDigest(t)] = struct{}{}
	for i, x := range measure(in, t.Optimum) {
		c.of[i].add(x)
	}
	holes := in.Holes()
	s := findOr(&d.strata, func(s *stratum) bool {
		return s.n == in.N && s.holes == holes && s.agents == in.Agents() && s.objective == t.Objective
	}, func() *stratum {
		return &stratum{n: in.N, holes: holes, agents: in.Agents(), objective: t.Objective, have: map[string]int{}, drawn: map[string]*[measureCount]moments{}}
	})
	s.have[t.Group]++
	return nil
}

// rowDigest tells instances apart as a set has them, the names of agents included.
func rowDigest(t env.Task) digest {
	h := sha256.New()
	h.Write(t.Instance)
	_, _ = io.WriteString(h, t.Prompt)
	var sum [sha256.Size]byte
	return digest(h.Sum(sum[:0])[:len(digest{})])
}

func findOr[T any](list *[]*T, is func(*T) bool, make func() *T) *T {
	if i := slices.IndexFunc(*list, is); i >= 0 {
		return (*list)[i]
	}
	*list = append(*list, make())
	return (*list)[len(*list)-1]
}

// sample draws instances of a kind, at most so many, and adds up the figures of
// those that can be solved.
func (s *stratum) sample(ctx context.Context, most int) error {
	rng := experiment.Rand("lake", "drift", strconv.Itoa(s.n), strconv.Itoa(s.holes), strconv.Itoa(s.agents))
	solver := NewSolver()
	spent := 0
	for draws := 0; draws < most && spent < driftEffort && !s.enough(); draws++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in := s.draw(rng.Perm(s.n * s.n))
		sol, err := solver.Solve(ctx, in, s.objective)
		if err != nil {
			return err
		}
		spent += effort(sol, solver.shortest)
		if sol.Solvable {
			s.add(in, sol)
		}
	}
	return nil
}

// effort is about how hard an instance is: what its optimum costs above the
// agents' shortest paths, to the third power. It is a fact about the instance, so
// that a check does not depend on how its instances are solved.
func effort(sol Solution, shortest int) int {
	if !sol.Solvable {
		return 1
	}
	excess := sol.SumOfCosts - shortest
	return 1 + excess*excess*excess
}

func (s *stratum) add(in Instance, sol Solution) {
	group, optimum := groupFree, sol.SumOfCosts
	if sol.NeedsWait {
		group = groupWait
	}
	if s.objective == objectiveMakespan {
		optimum = sol.Makespan
	}
	if s.drawn[group] == nil {
		s.drawn[group] = &[measureCount]moments{}
	}
	for i, x := range measure(in, optimum) {
		s.drawn[group][i].add(x)
	}
}

// enough says that all groups of the set have been met often.
func (s *stratum) enough() bool {
	for group := range s.have {
		if drawn := s.drawn[group]; drawn == nil || drawn[0].n < driftEnough {
			return false
		}
	}
	return true
}

// draw is the instance that a shuffle of the cells stands for: first the holes,
// then each agent's start and goal.
func (s *stratum) draw(order []int) Instance {
	letters := make([]byte, s.n*s.n)
	for i, c := range order {
		letters[c] = frozen
		if i < s.holes {
			letters[c] = hole
		}
	}
	in := Instance{N: s.n}
	for r := range s.n {
		in.Grid = append(in.Grid, string(letters[r*s.n:(r+1)*s.n]))
	}
	at := func(i int) Cell { return Cell{order[i] / s.n, order[i] % s.n} }
	for i := s.holes; len(in.Starts) < s.agents; i += 2 {
		in.Starts, in.Goals = append(in.Starts, at(i)), append(in.Goals, at(i+1))
	}
	return in
}

// compare weighs the kinds as the set does.
func compare(cells []*cell, strata []*stratum) []env.Drift {
	all := []env.Drift{}
	for _, c := range cells {
		for i, m := range c.of {
			if i == measureHoles {
				continue // counted exactly, by the conformance
			}
			all = append(all, c.drift(i, m, strata))
		}
	}
	return all
}

func (c *cell) drift(i int, m moments, strata []*stratum) env.Drift {
	d := env.Drift{Size: sizeName(c.n), Group: c.group, Measure: measures[i].Name, N: m.n, Mean: m.mean(), Verdict: env.DriftNone}
	variance := m.variance() // of one task: the larger of what is found and what is expected
	weights := 1 / float64(len(c.distinct))
	least := driftDraws
	for _, s := range strata {
		have := s.have[c.group]
		if s.n != c.n || have == 0 {
			continue
		}
		var drawn moments
		if of := s.drawn[c.group]; of != nil {
			drawn = of[i]
		}
		weight := float64(have) / float64(m.n)
		d.Expected += float64(weight * drawn.mean())
		d.Drawn += drawn.n
		least = min(least, drawn.n)
		variance = max(variance, drawn.variance())
		weights += float64(weight*weight) / float64(max(1, drawn.n))
	}
	d.Error = math.Sqrt(variance * weights)
	switch {
	case least < driftLeastKind || d.Drawn < driftLeast:
		d.Expected, d.Error, d.Verdict = 0, 0, env.DriftUnknown
	case math.Abs(d.Mean-d.Expected) > driftTooFar*d.Error+rounding:
		d.Verdict = env.DriftFound
	}
	return d
}
