package lake

// bounds says how much budget a state needs at least, from tables for the pairs
// of agents in a group and, for the hardest searches, for its triples. On a map
// of 60 cells a pair's takes 0.2 ms, a triple's 20 ms.
type bounds struct {
	size    int // of the largest sets with tables: 0 while there are none, 2, 3
	spots   spots
	pairs   [maxSets]*table // of the group's agents
	triples [maxSets]*table
	// built keeps the tables of an instance, by their agents' numbers, once for
	// the costs and once for the makespan.
	built   [2]struct{ pairs, triples [maxSets]table }
	builder backward
}

// maxSets is the number of pairs, and of triples, of five agents.
const maxSets = 10

// pairOf and tripleOf number the sets a < b < c.
func pairOf(a, b int) int      { return b*(b-1)/2 + a }
func tripleOf(a, b, c int) int { return c*(c-1)*(c-2)/6 + pairOf(a, b) }

// forget drops the tables of the last instance.
func (b *bounds) forget() {
	for kind := range b.built {
		for i := range maxSets {
			b.built[kind].pairs[i].ready = false
			b.built[kind].triples[i].ready = false
		}
	}
}
