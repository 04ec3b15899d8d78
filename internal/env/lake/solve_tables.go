package lake

// table is how much budget two or three agents need when they are alone on the
// map, from all places. More than 254 counts as 255.
type table struct {
	ready bool
	need  []uint8 // by the agents' spots, as digits of a number
}

// spot numbers the cells of a map without holes, from 1 on. An agent that has
// arrived for good is at no cell but at home.
type spot = uint8

const home spot = 0

// spots is the numbering of a map's cells.
type spots struct {
	cells []place // by spot; home has none
	of    field   // by place; home where there is no cell
}

func (s *spots) number(ground *field) {
	s.cells = append(s.cells[:0], 0)
	s.of = field{}
	for p, g := range ground {
		if g == unseen {
			s.of[p] = spot(len(s.cells))
			s.cells = append(s.cells, place(p))
		}
	}
}

// backward computes tables, by a search of least costs from the end of all plans
// to all states. The cost of a step is the number of agents that have not
// arrived before it; of a makespan, one, and nobody arrives before the end.
type backward struct {
	spots
	toGoal [3]*field
	goal   [3]place
	agents int
	timed  bool // for the makespan

	cost    []uint16   // by state
	buckets [][]uint32 // states to go on from, by cost; some of them outdated
	after   [3]spot    // the state that is gone on from
	before  [3]place   // where its agents were one step earlier, as far as chosen
}

// endless is a cost that no state has: there is no way.
const endless = 1<<16 - 1

// fill computes the table of some of a group's agents, a bit set, unless it is
// ready.
func (b *backward) fill(t *table, j *joint, agents int) {
	if t.ready {
		return
	}
	b.agents, b.timed = 0, j.mode == quickest
	states := 1
	for a := range j.k {
		if agents>>a&1 != 0 {
			b.toGoal[b.agents], b.goal[b.agents] = j.toGoal[a], j.goal[a]
			states *= len(b.cells)
			b.agents++
		}
	}
	b.reset(states)
	b.lower(b.end(), 0)
	for cost := 0; cost < len(b.buckets); cost++ { //nolint:intrange // there come more on the way
		for i := 0; i < len(b.buckets[cost]); i++ { //nolint:intrange // as above
			if state := b.buckets[cost][i]; int(b.cost[state]) == cost {
				b.spread(state, cost)
			}
		}
	}
	if t.need = t.need[:0]; cap(t.need) < states {
		t.need = make([]uint8, 0, states)
	}
	for state, cost := range b.cost {
		t.need = append(t.need, b.budget(uint32(state), int(cost)))
	}
	t.ready = true
}

func (b *backward) reset(states int) {
	if cap(b.cost) < states {
		b.cost = make([]uint16, states)
	}
	b.cost = b.cost[:states]
	for i := range b.cost {
		b.cost[i] = endless
	}
	for i := range b.buckets {
		b.buckets[i] = b.buckets[i][:0]
	}
}

// end is the state in which all plans end.
func (b *backward) end() (state uint32) {
	for i := range b.agents {
		state *= uint32(len(b.cells))
		if b.timed {
			state += uint32(b.of[b.goal[i]])
		}
	}
	return state
}

// lower notes a cost of a state, if it is the least so far.
func (b *backward) lower(state uint32, cost int) {
	if int(b.cost[state]) <= cost {
		return
	}
	b.cost[state] = uint16(cost)
	for len(b.buckets) <= cost {
		b.buckets = append(b.buckets, nil)
	}
	b.buckets[cost] = append(b.buckets[cost], state)
}

// split sets after to a state.
func (b *backward) split(state uint32) {
	for i := b.agents - 1; i >= 0; i-- {
		b.after[i] = spot(state % uint32(len(b.cells)))
		state /= uint32(len(b.cells))
	}
}

// spread lowers the costs of all states one step before a state.
func (b *backward) spread(state uint32, cost int) {
	b.split(state)
	if b.timed {
		cost++
	}
	b.choose(0, 0, cost)
}

// choose goes through the places of agents i and later one step before after.
func (b *backward) choose(i int, state uint32, cost int) {
	if i == b.agents {
		b.lower(state, cost)
		return
	}
	state *= uint32(len(b.cells))
	moved := cost
	if !b.timed {
		moved++
	}
	to := b.place(i)
	if b.clear(i, to, to) {
		if b.after[i] == home {
			b.choose(i+1, state, cost)
		} else {
			b.choose(i+1, state+uint32(b.after[i]), moved)
		}
	}
	for _, s := range steps {
		if from := to + s; b.of[from] != 0 && b.clear(i, from, to) {
			b.choose(i+1, state+uint32(b.of[from]), moved)
		}
	}
}

// place is where an agent is after the step.
func (b *backward) place(i int) place {
	if b.after[i] == home {
		return b.goal[i]
	}
	return b.cells[b.after[i]]
}

// clear says whether an agent can have come from a place, given those before it,
// and notes it.
func (b *backward) clear(i int, from, to place) bool {
	for k := range i {
		if b.before[k] == from || b.before[k] == to && b.place(k) == from {
			return false
		}
	}
	b.before[i] = from
	return true
}

// budget is what a cost takes from the budget.
func (b *backward) budget(state uint32, cost int) uint8 {
	if b.split(state); cost < endless && !b.timed {
		for i := range b.agents {
			cost -= b.ahead(i)
		}
	}
	return uint8(min(cost, 255))
}

// ahead is what an agent has before it at least. On its goal without having
// arrived, it goes off and comes back.
func (b *backward) ahead(i int) int {
	switch p := b.place(i); {
	case b.after[i] == home:
		return 0
	case p == b.goal[i]:
		return 2
	default:
		return int(b.toGoal[i][p])
	}
}
