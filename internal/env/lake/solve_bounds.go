package lake

// bounds says how much budget a state needs at least, from exact tables for all
// pairs of agents in a group. A table takes about a millisecond, so only hard
// searches build them.
type bounds struct {
	on    bool
	pairs [maxPairs]*pairTable // of the group's agents, by pairIndex
	// built keeps the tables of an instance, by their agents' numbers, once for
	// the two costs and once for the makespan.
	built [2][maxPairs]pairTable
	queue dial
}

const maxPairs = MaxAgents * (MaxAgents - 1) / 2

// pairIndex numbers the pairs a < b.
func pairIndex(a, b int) int { return b*(b-1)/2 + a }

// forget drops the tables of the last instance.
func (b *bounds) forget() {
	for kind := range b.built {
		for i := range b.built[kind] {
			b.built[kind][i].ready = false
		}
	}
}

// ready says whether all of a group's pairs have tables from an earlier search.
func (b *bounds) ready(j *joint) bool {
	for y := range j.k {
		for x := range y {
			if !b.table(j, x, y).ready {
				return false
			}
		}
	}
	return j.k > 1
}

func (b *bounds) table(j *joint, x, y int) *pairTable {
	kind := 0
	if j.mode == quickest {
		kind = 1
	}
	return &b.built[kind][pairIndex(j.who[x], j.who[y])]
}

// build turns the bounds on in a search that is at time t, with tables for all
// pairs of the group.
func (b *bounds) build(j *joint, t int) {
	for y := range j.k {
		for x := range y {
			table := b.table(j, x, y)
			if !table.ready {
				table.fill(j, x, y, &b.queue)
			}
			b.pairs[pairIndex(x, y)] = table
		}
	}
	b.on = true
	for i := range t + 1 {
		for a := range j.k {
			b.add(j, i, a)
		}
	}
}

// add notes what the pairs of an agent that has moved need in the state at time
// t, with all those that have moved before, and returns the most and the sum.
func (b *bounds) add(j *joint, t, a int) (most, sum int) {
	f := &j.frames[t]
	for x := range j.k {
		if x == a || x > a && f.home>>x&1 == 0 {
			continue
		}
		i := pairIndex(min(a, x), max(a, x))
		need := b.pairs[i].need[int(f.where(min(a, x)))<<8|int(f.where(max(a, x)))]
		f.needs[i] = need
		most, sum = max(most, int(need)), sum+int(need)
	}
	return most, sum
}

// where is an agent's place for the tables.
func (f *frame) where(a int) place {
	if f.home>>a&1 != 0 {
		return home
	}
	return f.at[a]
}

// couplesExceed says whether two pairs without a common agent need more together
// than the budget in the state at time t. That a single pair does, and all pairs
// together, in which every agent counts once per other agent, has been asked
// before. Makespans do not add up.
func (b *bounds) couplesExceed(j *joint, t, budget int) bool {
	if j.mode == quickest {
		return false
	}
	needs := &j.frames[t].needs
	for _, m := range matchings[j.k] {
		if int(needs[m[0]])+int(needs[m[1]]) > budget {
			return true
		}
	}
	return false
}

// matchings are the couples of pairs without a common agent, by number of agents.
var matchings = func() (all [MaxAgents + 1][][2]int) {
	for k := range all {
		for b := range k {
			for a := range b {
				for d := b + 1; d < k; d++ {
					for c := range d {
						if c != a && c != b {
							all[k] = append(all[k], [2]int{pairIndex(a, b), pairIndex(c, d)})
						}
					}
				}
			}
		}
	}
	return all
}()
