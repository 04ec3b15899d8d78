package lake

// pairTable is how much budget two agents need when they are alone on the map,
// by place of the first << 8 | place of the second. An agent that has arrived is
// at the place home. More than 254 counts as 255.
type pairTable struct {
	ready bool
	need  []uint8
}

// home is off the map.
const home place = 0

const tableSize = 1 << 16

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
		pair.arrive()
	}
	pair.spread()
	if p.need == nil {
		p.need = make([]uint8, tableSize)
	}
	for at, cost := range d.cost {
		p.need[at] = pair.excess(place(at>>8), place(at), int(cost))
	}
	p.ready = true
}

// couple is two agents while their table is computed.
type couple struct {
	*dial
	step         int // cost of a joint step
	toA, toB     *field
	goalA, goalB place
}

// arrive gives their costs to the joint places with an agent that is home or
// comes home in the next step.
func (c *couple) arrive() {
	aloneA := detour(c.toA, c.goalA, c.goalB)
	aloneB := detour(c.toB, c.goalB, c.goalA)
	c.cost[0] = 0
	c.before(c.goalA, c.goalB, true, true, 0)
	for p := range place(wall) {
		if aloneB[p] < unseen {
			c.cost[p] = uint16(aloneB[p])
			c.before(c.goalA, p, true, false, int(aloneB[p]))
		}
		if aloneA[p] < unseen {
			c.cost[int(p)<<8] = uint16(aloneA[p])
			c.before(p, c.goalB, false, true, int(aloneA[p]))
		}
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

// excess is what a cost takes from the budget.
func (c *couple) excess(x, y place, cost int) uint8 {
	if c.step == 2 {
		cost -= ahead(c.toA, x) + ahead(c.toB, y)
	}
	return uint8(max(0, min(cost, 255)))
}

// ahead is what an agent has before it at least. On its goal without having
// arrived, it goes off and comes back.
func ahead(to *field, p place) int {
	switch {
	case p == home:
		return 0
	case to[p] == 0:
		return 2
	}
	return int(to[p])
}
