package lake

// pairTable is how much budget two agents need when they are alone on the map,
// from every two places: both on their way, or one of them home. More than 254
// counts as 255.
type pairTable struct {
	ready  bool
	both   []uint8 // by place of the first << 8 | place of the second
	first  field   // the second is home
	second field   // the first is home
}

const tableSize = 1 << 16

// need is what the pair x < y of a group needs in a state.
func (p *pairTable) need(f *frame, x, y int) uint8 {
	switch f.home>>x&1 | f.home>>y&1<<1 {
	case 0:
		return p.both[int(f.at[x])<<8|int(f.at[y])]
	case 1:
		return p.second[f.at[y]]
	case 2:
		return p.first[f.at[x]]
	}
	return 0
}

// endless is a cost that no pair has: places from where there is no way.
const endless = 1<<16 - 1

// dial sorts joint places by their cost, for a search backward from the goals.
type dial struct {
	cost    []uint16
	buckets [][]uint16 // places to go on from, by cost; some of them outdated
}

func (d *dial) reset() {
	if d.cost == nil {
		d.cost = make([]uint16, tableSize)
	}
	for i := range d.cost {
		d.cost[i] = endless
	}
	for i := range d.buckets {
		d.buckets[i] = d.buckets[i][:0]
	}
}

// lower notes a cost of two places, if it is the least so far.
func (d *dial) lower(x, y place, cost int) {
	at := int(x)<<8 | int(y)
	if int(d.cost[at]) <= cost {
		return
	}
	d.cost[at] = uint16(cost)
	for len(d.buckets) <= cost {
		d.buckets = append(d.buckets, nil)
	}
	d.buckets[cost] = append(d.buckets[cost], uint16(at))
}

// fill computes the table of two of a group's agents.
func (p *pairTable) fill(j *joint, a, b int, d *dial) {
	d.reset()
	pair := couple{dial: d, step: 2, toA: j.toGoal[a], toB: j.toGoal[b], goalA: j.goal[a], goalB: j.goal[b]}
	if j.mode == quickest {
		pair.step = 1
		d.lower(pair.goalA, pair.goalB, 0)
	} else {
		pair.arrive(&p.first, &p.second)
	}
	pair.spread()
	pair.excess(p, j.mode)
	p.ready = true
}

// couple is two agents while their table is computed.
type couple struct {
	*dial
	step         int // cost of a joint step
	toA, toB     *field
	goalA, goalB place
}

// arrive gives the joint places from where at least one agent comes home in the
// next step their costs, and fills the tables for when one is home.
func (c *couple) arrive(first, second *field) {
	aloneA := detour(c.toA, c.goalA, c.goalB)
	aloneB := detour(c.toB, c.goalB, c.goalA)
	c.before(c.goalA, c.goalB, true, true, 0)
	for p := range place(wall) {
		if aloneB[p] < unseen {
			c.before(c.goalA, p, true, false, int(aloneB[p]))
		}
		if aloneA[p] < unseen {
			c.before(p, c.goalB, false, true, int(aloneA[p]))
		}
		first[p] = surplus(int(aloneA[p]), way(c.toA, p))
		second[p] = surplus(int(aloneB[p]), way(c.toB, p))
	}
}

// detour is an agent's distances when another is home and in its way. On its
// goal, an agent that has not arrived goes off and comes back.
func detour(to *field, goal, blocked place) (f field) {
	ground := walled
	for p := range ground {
		if to[p] < unseen && place(p) != blocked {
			ground[p] = unseen
		}
	}
	f.measure(&ground, goal)
	f[goal] = unseen
	for _, s := range steps {
		if f[goal+s] == 1 {
			f[goal] = 2
		}
	}
	return f
}

// way is what an agent on its way has before it at least.
func way(to *field, p place) int {
	if to[p] == 0 {
		return 2 // it has not arrived and will go off and come back
	}
	return int(to[p])
}

// surplus is a cost as excess, at most 255.
func surplus(cost, least int) uint8 {
	if cost >= unseen || cost-least > 255 {
		return 255
	}
	return uint8(max(cost-least, 0))
}

// spread goes backward from the joint places that have a cost to all others.
func (c *couple) spread() {
	for cost := 0; cost < len(c.buckets); cost++ {
		for i := 0; i < len(c.buckets[cost]); i++ {
			at := c.buckets[cost][i]
			if int(c.cost[at]) == cost {
				c.before(place(at>>8), place(at), false, false, cost)
			}
		}
	}
}

// before lowers the cost of all joint places one step before (x, y). An agent
// that arrives in this step has moved.
func (c *couple) before(x, y place, arrivesA, arrivesB bool, cost int) {
	for i, s := range waitOrStep {
		if i == 0 && arrivesA || c.toA[x+s] >= unseen {
			continue
		}
		for k, r := range waitOrStep {
			if k == 0 && arrivesB || c.toB[y+r] >= unseen {
				continue
			}
			if px, py := x+s, y+r; px != py && (px != y || py != x) {
				c.lower(px, py, cost+c.step)
			}
		}
	}
}

var waitOrStep = [5]place{0, steps[0], steps[1], steps[2], steps[3]}

// excess turns costs into the table's budgets.
func (c *couple) excess(p *pairTable, m mode) {
	if p.both == nil {
		p.both = make([]uint8, tableSize)
	}
	for at, cost := range c.cost {
		least := 0
		if m != quickest {
			least = way(c.toA, place(at>>8)) + way(c.toB, place(at))
		}
		p.both[at] = 255
		if cost < endless && int(cost)-least < 255 {
			p.both[at] = uint8(int(cost) - least)
		}
	}
}
