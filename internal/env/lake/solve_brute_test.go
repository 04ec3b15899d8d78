package lake

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// brute solves tiny instances by going through all joint states, time step by
// time step. It knows nothing of distances, excess or arrivals: for all ways to
// fix the times from which on each agent stays on its goal, it asks whether such
// a plan exists.
type brute struct {
	in    Instance
	cells []Cell
	next  [][]int // by joint state, all states one step later
	waits [][]int // of those steps, the bit set of agents that wait
	start int
	goals []int // cell numbers
}

func newBrute(in Instance) *brute {
	b := &brute{in: in}
	number := map[Cell]int{}
	for r := range in.N {
		for c := range in.N {
			if in.Grid[r][c] == 'F' {
				number[Cell{r, c}] = len(b.cells)
				b.cells = append(b.cells, Cell{r, c})
			}
		}
	}
	for i := range in.Starts {
		b.start = b.start*len(b.cells) + number[in.Starts[i]]
		b.goals = append(b.goals, number[in.Goals[i]])
	}
	states := 1
	for range in.Starts {
		states *= len(b.cells)
	}
	b.next, b.waits = make([][]int, states), make([][]int, states)
	return b
}

// where splits a joint state into cell numbers.
func (b *brute) where(state int) []int {
	at := make([]int, len(b.goals))
	for i := len(at) - 1; i >= 0; i-- {
		at[i], state = state%len(b.cells), state/len(b.cells)
	}
	return at
}

// steps lists the states after one.
func (b *brute) steps(state int) (next, waits []int) {
	if b.next[state] == nil {
		b.spread(b.where(state), nil, state, 0)
	}
	return b.next[state], b.waits[state]
}

func (b *brute) spread(from, to []int, state, waits int) {
	if i := len(to); i < len(from) {
		for c := range b.cells {
			dr, dc := b.cells[c][0]-b.cells[from[i]][0], b.cells[c][1]-b.cells[from[i]][1]
			if dr*dr+dc*dc <= 1 && b.free(from, to, c) {
				wait := 0
				if c == from[i] {
					wait = 1 << i
				}
				b.spread(from, append(to[:i:i], c), state, waits|wait)
			}
		}
		return
	}
	after := 0
	for _, c := range to {
		after = after*len(b.cells) + c
	}
	b.next[state], b.waits[state] = append(b.next[state], after), append(b.waits[state], waits)
}

func (b *brute) free(from, to []int, c int) bool {
	i := len(to)
	for k, other := range to {
		if other == c || other == from[i] && from[k] == c {
			return false
		}
	}
	return true
}

// home is the bit set of agents on their goals.
func (b *brute) home(state int) (agents int) {
	for i, c := range b.where(state) {
		if c == b.goals[i] {
			agents |= 1 << i
		}
	}
	return agents
}

// feasible says whether every agent can stay on its goal from its time on;
// without waits, they all move in every step before.
func (b *brute) feasible(arrivals []int, waitless bool) bool {
	states := map[int]bool{b.start: true}
	for t := 0; len(states) > 0; t++ {
		home, last := 0, true
		for i, a := range arrivals {
			if t >= a {
				home |= 1 << i
			} else {
				last = false
			}
		}
		after := map[int]bool{}
		for s := range states {
			if b.home(s)&home != home {
				continue
			}
			if last {
				return true
			}
			next, waits := b.steps(s)
			for i := range next {
				if !waitless || waits[i]&^home == 0 {
					after[next[i]] = true
				}
			}
		}
		states = after
	}
	return false
}

// reaches says whether all goals can be reached at once, and the least time.
func (b *brute) reaches() (makespan int, ok bool) {
	seen := map[int]bool{b.start: true}
	for front, t := []int{b.start}, 0; len(front) > 0; t++ {
		var after []int
		for _, s := range front {
			if b.home(s) == 1<<len(b.goals)-1 {
				return t, true
			}
			next, _ := b.steps(s)
			for _, n := range next {
				if !seen[n] {
					seen[n] = true
					after = append(after, n)
				}
			}
		}
		front = after
	}
	return 0, false
}

// cheapest finds the least sum of arrivals for which a plan exists.
func (b *brute) cheapest(waitless bool, most int) (sum int, ok bool) {
	for sum := 0; sum <= most; sum++ {
		if b.anySplit(nil, sum, waitless) {
			return sum, true
		}
	}
	return 0, false
}

// anySplit tries all ways to split a sum of arrivals among the agents.
func (b *brute) anySplit(arrivals []int, rest int, waitless bool) bool {
	if len(arrivals) == len(b.goals)-1 {
		return b.feasible(append(arrivals, rest), waitless)
	}
	for a := 0; a <= rest; a++ {
		if b.anySplit(append(slices.Clip(arrivals), a), rest-a, waitless) {
			return true
		}
	}
	return false
}

func (b *brute) solve() Solution {
	const never = 1000
	makespan, ok := b.reaches()
	if !ok {
		return Solution{}
	}
	sum, _ := b.cheapest(false, never)
	_, waitless := b.cheapest(true, sum)
	return Solution{Solvable: true, SumOfCosts: sum, Makespan: makespan, NeedsWait: !waitless}
}

func TestBruteForceAgreesOn3x3(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	usual, eager := NewSolver(), NewSolver()
	eager.joint.haste = 1 << 20 // with all bounds from the first states on
	for agents, samples := range map[int]int{2: 3000, 3: 150} {
		for range samples {
			in := drawn3x3(rng, agents)
			want := newBrute(in).solve()
			for name, solver := range map[string]*Solver{"usual": usual, "eager": eager} {
				got := solved(t, solver, in, objectiveSum)
				if err := sameFacts(got, want); err != nil {
					t.Errorf("%s, %v: %v", name, in, err)
				}
				if err := provePlan(in, got, objectiveSum); err != nil {
					t.Errorf("%s, %v: %v", name, in, err)
				}
			}
		}
	}
}

func TestUnsolvableMeansThatNoJointStateWithAllAtHomeCanBeReached(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 1))
	solver, unsolvable := NewSolver(), 0
	for i := range 80 {
		in := drawn3x3(rng, 3+i%2)
		_, want := newBrute(in).reaches()
		if got, err := solver.Solve(t.Context(), in, objectiveSum); err != nil || got.Solvable != want {
			t.Errorf("%v: solvable = %v, %v; want %v", in, got.Solvable, err, want)
		}
		if !want {
			unsolvable++
		}
	}
	if unsolvable < 10 {
		t.Errorf("only %d unsolvable instances were met", unsolvable)
	}
}

// drawn3x3 draws starts on distinct cells, and goals on distinct cells; an agent
// may start on a goal, even its own.
func drawn3x3(rng *rand.Rand, agents int) Instance {
	cells := rng.Perm(9)
	free := cells[:agents+rng.IntN(10-agents)]
	in := Instance{N: 3, Grid: []string{"", "", ""}}
	for i := range 9 {
		letter := "H"
		for _, c := range free {
			if c == i {
				letter = "F"
			}
		}
		in.Grid[i/3] += letter
	}
	goals := rng.Perm(len(free))
	for i := range agents {
		in.Starts = append(in.Starts, Cell{free[i] / 3, free[i] % 3})
		in.Goals = append(in.Goals, Cell{free[goals[i]] / 3, free[goals[i]] % 3})
	}
	return in
}
