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

// build makes tables for all pairs of a group that have none, and turns the
// bounds on.
func (b *bounds) build(j *joint) {
	kind := 0
	if j.mode == quickest {
		kind = 1
	}
	for y := range j.k {
		for x := range y {
			table := &b.built[kind][pairIndex(j.who[x], j.who[y])]
			if !table.ready {
				table.fill(j, x, y, &b.queue)
			}
			b.pairs[pairIndex(x, y)] = table
		}
	}
	b.on = true
}

// pairsExceed says whether some pair of agent a and one that has moved needs
// more than the budget from the state at time t.
func (b *bounds) pairsExceed(j *joint, t, a, budget int) bool {
	f := &j.frames[t]
	for x := range j.k {
		switch {
		case x < a && b.need(f, x, a) > budget:
			return true
		case x > a && f.home>>x&1 != 0 && b.need(f, a, x) > budget:
			return true
		}
	}
	return false
}

// need is what the pair x < y needs.
func (b *bounds) need(f *frame, x, y int) int {
	table := b.pairs[pairIndex(x, y)]
	switch f.home>>x&1 | f.home>>y&1<<1 {
	case 0:
		return int(table.both[int(f.at[x])<<8|int(f.at[y])])
	case 1:
		return int(table.second[f.at[y]])
	case 2:
		return int(table.first[f.at[x]])
	}
	return 0
}

// exceed says whether the pairs together need more than the budget from the
// state at time t. Needs of pairs without a common agent add up, and so do those
// of all pairs, in which every agent's share is counted once per other agent.
// Of a makespan every single pair has been asked already, and nothing adds up.
func (b *bounds) exceed(j *joint, t, budget int) bool {
	if j.mode == quickest {
		return false
	}
	f := &j.frames[t]
	var needs [maxPairs]int
	total := 0
	for y := range j.k {
		for x := range y {
			i := pairIndex(x, y)
			needs[i] = b.need(f, x, y)
			total += needs[i]
		}
	}
	if total > budget*(j.k-1) {
		return true
	}
	for _, m := range matchings[j.k] {
		if needs[m[0]]+needs[m[1]] > budget {
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
