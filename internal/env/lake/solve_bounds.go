package lake

import "math/bits"

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
	b.size = 0
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

// worthwhile says whether a group is so hard that the bounds of the next size are
// worth what they cost: as long as the search has taken so far.
func (b *bounds) worthwhile(j *joint) bool {
	switch {
	case b.size == 0:
		return true
	case b.size == maxTable || b.size >= j.k:
		return false
	}
	states, steps := b.width*b.width*b.width, stepsPerTriple
	if b.size == 3 {
		states, steps = states*b.width, stepsPerFour
	}
	return states <= largestTable && steps*states*len(setsBySize[j.k][b.size+1]) <= j.tried
}

// How many steps are tried in the time that a state of a table takes, as measured:
// too early, and tables are built in vain; too late, and the search was.
const (
	stepsPerTriple = 6
	stepsPerFour   = 3
)

// largestTable bounds a table's states, each a byte.
const largestTable = 5_000_000

// build turns the bounds on, for sets up to a size, in a search that is at time t.
func (b *bounds) build(j *joint, size, t int) {
	if size = min(size, j.k); size <= b.size {
		return
	}
	if len(b.builder.cells) == 0 {
		b.builder.number(j.all)
	}
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
		b.note(j, t, a, unlimited)
	}
}

// unlimited is more budget than any set of agents needs.
const unlimited = 1 << 16

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
	moved := f.home&^(1<<a) | (1<<a - 1)
	for xs := moved; xs != 0; xs &= xs - 1 {
		x := bits.TrailingZeros8(xs)
		need := b.needs[1<<x|1<<a][int(f.spots[min(x, a)])*b.width+int(f.spots[max(x, a)])]
		f.needs[1<<x|1<<a] = need
		if sum += int(need); int(need) > budget {
			return 0, false
		}
	}
	return sum, b.size == 2 || b.noteLarger(f, a, moved|1<<a, budget)
}

// noteLarger notes what the larger sets of an agent need.
func (b *bounds) noteLarger(f *frame, a int, moved uint8, budget int) bool {
	for _, set := range largerSetsOf[b.size][a] {
		if set&^moved != 0 {
			continue
		}
		state := 0
		for m := set; m != 0; m &= m - 1 {
			state = state*b.width + int(f.spots[bits.TrailingZeros8(m)])
		}
		need := b.needs[set][state]
		if f.needs[set] = need; int(need) > budget {
			return false
		}
	}
	return true
}

// exceed says whether sets of agents need more together than the budget in the
// state at time t. That a single set does has been asked before. Two sets without
// a common agent add up; and over all sets of a size, each agent's part is counted
// once for every set that it is in. Makespans do not add up.
func (b *bounds) exceed(j *joint, t, budget int) bool {
	if j.mode == quickest {
		return false
	}
	needs := &j.frames[t].needs
	for _, c := range couples[j.k][b.size] {
		if int(needs[c[0]])+int(needs[c[1]]) > budget {
			return true
		}
	}
	for size := 3; size <= b.size && size < j.k; size++ {
		sum := 0
		for _, set := range setsBySize[j.k][size] {
			sum += int(needs[set])
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
	// largerSetsOf are the sets from three agents up to a size that an agent is in,
	// small ones first.
	largerSetsOf = func() (all [maxTable + 1][MaxAgents][]uint8) {
		for most := range all {
			for size := 3; size <= most; size++ {
				for _, set := range setsBySize[MaxAgents][size] {
					for a := range MaxAgents {
						if set>>a&1 != 0 {
							all[most][a] = append(all[most][a], set)
						}
					}
				}
			}
		}
		return all
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
