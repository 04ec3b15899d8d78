package lake

import (
	"flag"
	"math/bits"
	"slices"
	"testing"
)

var proveAll = flag.Bool("proof", false, "compare all instances on 3x3 maps, not only one of each eight that are mirrored or turned")

// proof finds the facts about all instances with one set of goals on one 3x3 map
// at once, for all starts. It goes backward over joint states with a bit for
// every agent that has arrived for good; it knows nothing of distances, excess,
// groups or bounds, and shares no code with the solver.
type proof struct {
	k     int
	steps [][]jointStep // by joint place, the steps that lead there
	goals []int
	costs map[bool][]int // by joint place and arrived agents; with true, without waits
	spans []int          // makespan by joint place
}

// jointStep is a step seen from its end.
type jointStep struct{ before, waiting int }

const (
	cells3x3 = 9
	noWay    = 1 << 20
)

// jointSteps lists all steps without collisions on the free cells, a bit set.
func jointSteps(k, free int) [][]jointStep {
	states := power(cells3x3, k)
	all := make([][]jointStep, states)
	for from := range states {
		at := unjoin(from, k)
		if !distinctOn(at, free) {
			continue
		}
		for to := range states {
			then := unjoin(to, k)
			if waiting, ok := legalStep(at, then); ok && distinctOn(then, free) {
				all[to] = append(all[to], jointStep{from, waiting})
			}
		}
	}
	return all
}

func legalStep(at, then []int) (waiting int, ok bool) {
	for i := range at {
		dr, dc := at[i]/3-then[i]/3, at[i]%3-then[i]%3
		if dr*dr+dc*dc > 1 {
			return 0, false
		}
		if at[i] == then[i] {
			waiting |= 1 << i
		}
		for j := range i {
			if at[i] == then[j] && at[j] == then[i] {
				return 0, false
			}
		}
	}
	return waiting, true
}

func distinctOn(at []int, free int) bool {
	for i, c := range at {
		if free>>c&1 == 0 || slices.Contains(at[:i], c) {
			return false
		}
	}
	return true
}

func power(base, exponent int) int {
	p := 1
	for range exponent {
		p *= base
	}
	return p
}

func unjoin(state, k int) []int {
	at := make([]int, k)
	for i := range at {
		at[i], state = state%cells3x3, state/cells3x3
	}
	return at
}

func rejoin(at []int) (state int) {
	for _, c := range slices.Backward(at) {
		state = state*cells3x3 + c
	}
	return state
}

func newProof(k int, steps [][]jointStep, goals []int) *proof {
	p := &proof{k: k, steps: steps, goals: goals, costs: map[bool][]int{}}
	p.costs[false], p.costs[true] = p.cheapest(false), p.cheapest(true)
	p.spans = p.quickest()
	return p
}

// home is the bit set of agents that are on their goals.
func (p *proof) home(state int) (set int) {
	for i := range p.k {
		if state%cells3x3 == p.goals[i] {
			set |= 1 << i
		}
		state /= cells3x3
	}
	return set
}

// cheapest finds the least costs: in a step, everyone who has not arrived pays
// one. Who has arrived stays on its goal.
func (p *proof) cheapest(waitless bool) []int {
	all := 1<<p.k - 1
	costs := slices.Repeat([]int{noWay}, len(p.steps)<<p.k)
	buckets := [][]int{nil}
	lower := func(state, arrived, cost int) {
		if costs[state<<p.k|arrived] > cost {
			costs[state<<p.k|arrived] = cost
			for len(buckets) <= cost {
				buckets = append(buckets, nil)
			}
			buckets[cost] = append(buckets[cost], state<<p.k|arrived)
		}
	}
	lower(rejoin(p.goals), all, 0)
	for cost := 0; cost < len(buckets); cost++ { //nolint:intrange // grows
		for i := 0; i < len(buckets[cost]); i++ { //nolint:intrange // grows
			node := buckets[cost][i]
			if costs[node] < cost {
				continue
			}
			for _, s := range p.steps[node>>p.k] {
				may := node & all & s.waiting & p.home(s.before)
				for arrived := may; ; arrived = (arrived - 1) & may {
					if !waitless || s.waiting&^arrived == 0 {
						lower(s.before, arrived, cost+p.k-bits.OnesCount(uint(arrived)))
					}
					if arrived == 0 {
						break
					}
				}
			}
		}
	}
	return costs
}

// quickest finds the least number of steps after which all are on their goals.
func (p *proof) quickest() []int {
	spans := slices.Repeat([]int{noWay}, len(p.steps))
	front := []int{rejoin(p.goals)}
	spans[front[0]] = 0
	for t := 1; len(front) > 0; t++ {
		var next []int
		for _, state := range front {
			for _, s := range p.steps[state] {
				if spans[s.before] == noWay {
					spans[s.before] = t
					next = append(next, s.before)
				}
			}
		}
		front = next
	}
	return spans
}

// facts are those of the instance with these starts.
func (p *proof) facts(starts []int) Solution {
	state := rejoin(starts)
	if p.spans[state] == noWay {
		return Solution{}
	}
	least := func(costs []int) int {
		best := noWay
		for arrived := range 1 << p.k {
			if arrived&^p.home(state) == 0 {
				best = min(best, costs[state<<p.k|arrived])
			}
		}
		return best
	}
	sum := least(p.costs[false])
	return Solution{Solvable: true, SumOfCosts: sum, Makespan: p.spans[state], NeedsWait: least(p.costs[true]) > sum}
}

// tuples gives all sequences of k different free cells; ascending ones only, if
// asked for.
func tuples(k, free int, ascending bool, use func([]int)) {
	for state := range power(cells3x3, k) {
		if at := unjoin(state, k); distinctOn(at, free) && (!ascending || slices.IsSorted(at)) {
			use(at)
		}
	}
}

// maps3x3 are the sets of free cells; without all, one of those that are the same
// when mirrored or turned.
func maps3x3(all bool) (maps []int) {
	for free := range 1 << cells3x3 {
		least := free
		for _, move := range symmetries {
			image := 0
			for c := range cells3x3 {
				if to := move(Cell{c / 3, c % 3}); free>>c&1 != 0 {
					image |= 1 << (to[0]*3 + to[1])
				}
			}
			least = min(least, image)
		}
		if all || free == least {
			maps = append(maps, free)
		}
	}
	return maps
}

// symmetries of a 3x3 square.
var symmetries = []func(Cell) Cell{
	func(c Cell) Cell { return c },
	func(c Cell) Cell { return Cell{c[0], 2 - c[1]} },
	func(c Cell) Cell { return Cell{2 - c[0], c[1]} },
	func(c Cell) Cell { return Cell{2 - c[0], 2 - c[1]} },
	func(c Cell) Cell { return Cell{c[1], c[0]} },
	func(c Cell) Cell { return Cell{2 - c[1], c[0]} },
	func(c Cell) Cell { return Cell{c[1], 2 - c[0]} },
	func(c Cell) Cell { return Cell{2 - c[1], 2 - c[0]} },
}

func instance3x3(free int, starts, goals []int) Instance {
	var holes []int
	for c := range cells3x3 {
		if free>>c&1 == 0 {
			holes = append(holes, c)
		}
	}
	in := Instance{N: 3, Grid: gridWithout(3, holes)}
	for i := range starts {
		in.Starts, in.Goals = append(in.Starts, Cell{starts[i] / 3, starts[i] % 3}), append(in.Goals, Cell{goals[i] / 3, goals[i] % 3})
	}
	return in
}

// TestAllInstancesOf3x3WithTwoAndThreeAgents compares the solver with the proof,
// up to names of agents, as starts ascend, and up to symmetry. With -proof, it
// leaves out symmetry and asks for both objectives' plans.
func TestAllInstancesOf3x3WithTwoAndThreeAgents(t *testing.T) {
	t.Parallel()
	s := NewSolver()
	objectives := []string{objectiveSum, objectiveMakespan}[:1]
	if *proveAll {
		objectives = []string{objectiveSum, objectiveMakespan}
	}
	for k := 2; k <= 3; k++ {
		total, solvable, waits := 0, 0, 0
		for _, free := range maps3x3(*proveAll) {
			steps := jointSteps(k, free)
			tuples(k, free, false, func(goals []int) {
				p := newProof(k, steps, goals)
				tuples(k, free, true, func(starts []int) {
					in, want := instance3x3(free, starts, goals), p.facts(starts)
					for _, objective := range objectives {
						got := solved(t, s, in, objective)
						if g, w := got, want; g.Solvable != w.Solvable || g.SumOfCosts != w.SumOfCosts || g.Makespan != w.Makespan || g.NeedsWait != w.NeedsWait {
							t.Fatalf("%v, %s: %+v; want %+v", in, objective, got, want)
						}
						if err := provePlan(in, got, objective); err != nil {
							t.Fatalf("%v, %s: %v", in, objective, err)
						}
					}
					total++
					if want.Solvable {
						solvable++
					}
					if want.NeedsWait {
						waits++
					}
				})
			})
		}
		t.Logf("%d agents: %d instances, %d solvable, %d need a wait", k, total, solvable, waits)
		if total < 10_000 || solvable == total || waits == 0 {
			t.Error("there must be instances of all kinds")
		}
	}
}
