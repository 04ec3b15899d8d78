package lake

import (
	"math"
	"math/bits"
)

// bounds says how much budget a state needs at least, from tables for the pairs
// of agents in a group and, in the hardest searches, for its triples and fours.
type bounds struct {
	size    int            // of the largest sets with tables: 2 to maxTable, 0 for none
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
	b.size, j.dueAt = 0, firstDue
	if j.haste > 1 {
		j.dueAt = 0
	}
	for size := min(maxTable, j.k); size >= 2; size-- {
		if b.ready(j, size) {
			b.build(j, size, 0)
			return
		}
	}
}

func (b *bounds) ready(j *joint, size int) bool {
	for n := 2; n <= size; n++ {
		for _, set := range setsBySize[j.k][n] {
			if !b.table(j, int(set)).ready {
				return false
			}
		}
	}
	return true
}

// dueAt is how many steps a search for a group has to have tried until the bounds
// of the next size are worth what they cost: as long as the search has taken.
func (b *bounds) dueAt(j *joint) int {
	size := max(2, b.size+1)
	if size > min(maxTable, j.k) {
		return never
	}
	b.number(j)
	states, missing := 1, 0
	for range size {
		states *= len(b.builder.cells)
	}
	for _, set := range setsBySize[j.k][size] {
		if !b.table(j, int(set)).ready {
			missing++
		}
	}
	if states > largestTable {
		return never
	}
	return stepsPerState[size] * states * missing / j.haste
}

const never = math.MaxInt

// stepsPerState is, by the size of tables, how many steps are tried in the time
// that a state of a table takes, as measured: too early, and tables are built in
// vain; too late, and the search was.
var stepsPerState = [maxTable + 1]int{2: 1, 3: 3, 4: 3}

// largestTable bounds a table's states, each a byte.
const largestTable = 5_000_000

// number numbers the cells, if that has not been done for the instance.
func (b *bounds) number(j *joint) {
	if len(b.builder.cells) == 0 {
		b.builder.number(j.all)
	}
}

// build turns the bounds on, for sets up to a size, in a search that is at time t.
func (b *bounds) build(j *joint, size, t int) {
	if size = min(size, j.k); size <= b.size {
		return
	}
	b.number(j)
	for n := 2; n <= size; n++ {
		for _, set := range setsBySize[j.k][n] {
			table := b.table(j, int(set))
			if b.builder.fill(table, j, int(set)); !table.ready {
				return // stopped
			}
			b.needs[set] = table.need
		}
	}
	b.size, b.width = size, len(b.builder.cells)
	j.dueAt = b.dueAt(j)
	for i := range t + 1 {
		b.start(j, i)
	}
}

// rest is how much budget sets of agents need at least, for what is left of a
// step and for all steps after it. Sets without a table need nothing.
type rest struct {
	of    [sets]uint8
	pairs int // the sum over all pairs
}

// of is what the sets need in a state that has been noted, nil without bounds.
func (b *bounds) of(f *frame) *rest {
	if b.size == 0 {
		return nil
	}
	return &f.needs
}

// start notes all about a state that the search did not come to by steps, or
// before the bounds were on.
func (b *bounds) start(j *joint, t int) {
	f := &j.frames[t]
	for a := range j.k {
		b.mark(f, a)
	}
	f.needs = rest{}
	for n := 2; n <= b.size; n++ {
		for _, set := range setsBySize[j.k][n] {
			f.needs.of[set] = b.look(f, set)
			if n == 2 {
				f.needs.pairs += int(f.needs.of[set])
			}
		}
	}
}

// look is what a set needs in a state, from its table.
func (b *bounds) look(f *frame, set uint8) uint8 {
	state := 0
	for m := set; m != 0; m &= m - 1 {
		state = state*b.width + int(f.spots[bits.TrailingZeros8(m)])
	}
	return b.needs[set][state]
}

// mark notes where an agent is in a state.
func (b *bounds) mark(f *frame, a int) {
	f.spots[a] = home
	if f.home>>a&1 == 0 {
		f.spots[a] = b.builder.of[f.at[a]]
	}
}

// step says what sets still need after an agent's step from time t, given what
// they needed before it, what the step takes, and the budget that is left. Sets
// whose agents have all moved are looked up. Of the others we know that they need
// what they needed less what their agents' steps have taken. It is nil if the
// budget does not suffice.
func (b *bounds) step(j *joint, t, a int, takes uint8, budget int, before *rest) *rest {
	f, after := &j.frames[t+1], &j.frames[t].lines[a]
	b.mark(f, a)
	*after = *before
	moved := f.home | (2<<a - 1)
	for _, set := range setsOf[j.k][b.size][a] {
		need := before.of[set] - min(takes, before.of[set])
		if set&^moved == 0 {
			if need = b.look(f, set); int(need) > budget {
				return nil
			}
		}
		after.of[set] = need
		if isPair[set] {
			after.pairs += int(need) - int(before.of[set])
		}
	}
	if j.mode == quickest {
		return after
	}
	if after.pairs > budget*(j.k-1) || takes > 0 && b.exceed(j, after, budget) {
		return nil
	}
	return after
}

// suffices says whether a budget may suffice in the state at time t. It notes
// what sets of agents need, unless the steps to it have told.
func (b *bounds) suffices(j *joint, t, budget int, needs *rest) bool {
	if needs == nil {
		b.start(j, t)
	} else {
		j.frames[t].needs = *needs
	}
	return j.mode == quickest || !b.exceed(j, &j.frames[t].needs, budget)
}

// exceed says whether sets of agents need more together than the budget. Two sets
// without a common agent add up; and over all sets of a size, each agent's part is
// counted once for every set that it is in. Makespans do not add up.
func (b *bounds) exceed(j *joint, needs *rest, budget int) bool {
	if needs.pairs > budget*(j.k-1) {
		return true
	}
	for _, c := range couples[j.k][b.size] {
		if int(needs.of[c[0]])+int(needs.of[c[1]]) > budget {
			return true
		}
	}
	for size := 3; size <= b.size; size++ {
		sum := 0
		for _, set := range setsBySize[j.k][size] {
			sum += int(needs.of[set])
		}
		if sum > budget*len(setsBySize[j.k-1][size-1]) {
			return true
		}
	}
	return false
}

// Sets of agents, by what they are needed for.
var (
	// setsBySize are the sets of k agents of a size.
	setsBySize = func() (all [MaxAgents + 1][maxTable + 1][]uint8) {
		for k := range all {
			for set := range 1 << k {
				if n := bits.OnesCount(uint(set)); n <= maxTable {
					all[k][n] = append(all[k][n], uint8(set))
				}
			}
		}
		return all
	}()
	// setsOf are the sets of k agents from two up to a size that an agent is in.
	setsOf = func() (all [MaxAgents + 1][maxTable + 1][MaxAgents][]uint8) {
		for k := range all {
			for most := range all[k] {
				for size := 2; size <= most; size++ {
					for _, set := range setsBySize[k][size] {
						for a := range MaxAgents {
							if set>>a&1 != 0 {
								all[k][most][a] = append(all[k][most][a], set)
							}
						}
					}
				}
			}
		}
		return all
	}()
	isPair = func() (is [sets]bool) {
		for set := range sets {
			is[set] = bits.OnesCount(uint(set)) == 2
		}
		return is
	}()
	// couples are the couples of sets of k agents without a common one, given the
	// size of the largest tables. Couples that larger ones cover are left out.
	couples = func() (all [MaxAgents + 1][maxTable + 1][][2]uint8) {
		for k := range all {
			for most := 2; most <= maxTable; most++ {
				large := min(most, k-2)
				if large < 2 {
					continue
				}
				for _, a := range setsBySize[k][large] {
					for _, b := range setsBySize[k][2] {
						if a&b == 0 && (large > 2 || a > b) {
							all[k][most] = append(all[k][most], [2]uint8{a, b})
						}
					}
				}
			}
		}
		return all
	}()
)
