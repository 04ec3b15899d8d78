package lake

import "math/bits"

// bounds says how much budget a state needs at least, from tables for the pairs
// of agents in a group and, in the hardest searches, for its triples. A pair's
// takes 0.3 ms on a map of 60 cells and 1 ms on one of 90, a triple's 40 and
// 400 ms.
type bounds struct {
	size    int            // of the largest sets with tables: 2 or 3, 0 for none
	needs   [sets][]uint8  // the tables of the group's agents
	width   int            // spots in a table, in every dimension
	built   [2][sets]table // of the instance: for costs, for makespans
	builder backward
}

// sets of up to five agents, as bit sets.
const sets = 1 << MaxAgents

// forget drops the tables of the last instance.
func (b *bounds) forget() {
	for kind := range b.built {
		for i := range b.built[kind] {
			b.built[kind][i].ready = false
		}
	}
	b.builder.cells = b.builder.cells[:0]
}

// table is the place of the table of some of a group's agents.
func (b *bounds) table(j *joint, agents int) *table {
	kind, set := 0, 0
	if j.mode == quickest {
		kind = 1
	}
	for a := range j.k {
		if agents>>a&1 != 0 {
			set |= 1 << j.who[a]
		}
	}
	return &b.built[kind][set]
}

// resume turns on the bounds that earlier searches for a group have built.
func (b *bounds) resume(j *joint) {
	b.size = 0
	for size := min(3, j.k); size >= 2; size-- {
		if b.ready(j, size) {
			b.build(j, size, 0)
			return
		}
	}
}

func (b *bounds) ready(j *joint, size int) bool {
	for _, agents := range subsets[j.k] {
		if bits.OnesCount(uint(agents)) <= size && !b.table(j, agents).ready {
			return false
		}
	}
	return true
}

// build turns the bounds on, for sets up to a size, in a search that is at time t.
func (b *bounds) build(j *joint, size, t int) {
	if size = min(size, j.k); size <= b.size {
		return
	}
	if len(b.builder.cells) == 0 {
		b.builder.number(j.ground)
	}
	for _, agents := range subsets[j.k] {
		if bits.OnesCount(uint(agents)) <= size {
			table := b.table(j, agents)
			b.builder.fill(table, j, agents)
			b.needs[agents] = table.need
		}
	}
	b.size, b.width = size, len(b.builder.cells)
	for i := range t + 1 {
		b.start(j, i)
	}
}

// start notes all about a state that the search did not come to by steps, or
// before the bounds were on.
func (b *bounds) start(j *joint, t int) {
	for a := range j.k {
		b.mark(&j.frames[t], a)
	}
	for a := range j.k {
		b.note(j, t, a, endless)
	}
}

// mark notes where an agent is in a state.
func (b *bounds) mark(f *frame, a int) {
	f.spots[a] = home
	if f.home>>a&1 == 0 {
		f.spots[a] = b.builder.of[f.at[a]]
	}
}

// note notes what the sets of an agent that has moved need in the state at time
// t, with all those that have moved before, and returns the sum over the pairs.
// It is not ok as soon as a set needs more than the budget.
func (b *bounds) note(j *joint, t, a, budget int) (sum int, ok bool) {
	f := &j.frames[t]
	b.mark(f, a)
	moved := uint(f.home)&^(1<<a) | (1<<a - 1)
	for xs := moved; xs != 0; xs &= xs - 1 {
		x := bits.TrailingZeros(xs)
		need := b.look(f, 1<<x|1<<a, int(f.spots[min(x, a)])*b.width+int(f.spots[max(x, a)]))
		if sum += need; need > budget {
			return 0, false
		}
	}
	return sum, b.size < 3 || b.noteTriples(f, a, moved, budget)
}

func (b *bounds) noteTriples(f *frame, a int, moved uint, budget int) bool {
	for ys := moved; ys != 0; ys &= ys - 1 {
		y := bits.TrailingZeros(ys)
		for xs := moved & (1<<y - 1); xs != 0; xs &= xs - 1 {
			x := bits.TrailingZeros(xs)
			low, middle, high := min(x, a), max(x, min(y, a)), max(y, a)
			state := (int(f.spots[low])*b.width+int(f.spots[middle]))*b.width + int(f.spots[high])
			if b.look(f, 1<<x|1<<y|1<<a, state) > budget {
				return false
			}
		}
	}
	return true
}

// look notes what a set of agents needs in a state of its table.
func (b *bounds) look(f *frame, agents, state int) int {
	need := b.needs[agents][state]
	f.needs[agents] = need
	return int(need)
}

// couplesExceed says whether two sets without a common agent need more together
// than the budget in the state at time t. That a single set does has been asked
// before. Makespans do not add up.
func (b *bounds) couplesExceed(j *joint, t, budget int) bool {
	if j.mode == quickest {
		return false
	}
	needs := &j.frames[t].needs
	for _, c := range couples[j.k] {
		if max(bits.OnesCount8(c[0]), bits.OnesCount8(c[1])) <= b.size && int(needs[c[0]])+int(needs[c[1]]) > budget {
			return true
		}
	}
	return false
}

// subsets are the pairs and triples, and couples the couples of them without a
// common agent, by number of agents.
var (
	subsets = func() (all [MaxAgents + 1][]int) {
		for k := range all {
			for set := range 1 << k {
				if n := bits.OnesCount(uint(set)); n == 2 || n == 3 {
					all[k] = append(all[k], set)
				}
			}
		}
		return all
	}()
	couples = func() (all [MaxAgents + 1][][2]uint8) {
		for k, sets := range subsets {
			for i, a := range sets {
				for _, b := range sets[:i] {
					if a&b == 0 {
						all[k] = append(all[k], [2]uint8{uint8(a), uint8(b)})
					}
				}
			}
		}
		return all
	}()
)
