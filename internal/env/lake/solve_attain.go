package lake

import "slices"

// Whether agents can get to their goals at all is a question of permutations. On
// a connected map agents can take any set of places in turn; the question is who
// can stand where (Kornhauser, Miller, Spirakis 1984). So the proof does not go
// through all joint states, of which five agents on 50 cells have 254 million,
// but through the sets of places that they take, 2 million. Two ways to the same
// set that leave the agents in different orders are a permutation that can be
// made. As soon as these generate all permutations, everything can be attained,
// on open maps after a few hundred sets. If the sets run out first, the ones that
// were found are all there are.
//
// Every joint step is worth single steps into free cells, whoever is in front
// first, and rotations of cycles without a free cell. The only cycle that up to
// five agents can fill on a grid is a 2x2 block.

// crowd is a group of agents, as tokens that first stand on the first k cells of
// their connected part of the map.
type crowd struct {
	k      int
	cells  []place // from the most open one outward
	number [256]int
	order  map[taken]arrangement // in which the tokens came to a set of places first
	queue  []taken
	group  permutations
}

// taken is a set of places by their cells' numbers, ascending.
type taken [MaxAgents]uint8

// attainable says whether a group of agents in one connected part of the map can
// get to its goals.
func (s *Solver) attainable(members uint8) bool {
	c := crowd{}
	var starts, goals [MaxAgents]place
	for i := range s.puzzle.agents {
		if members>>i&1 != 0 {
			starts[c.k], goals[c.k] = s.puzzle.starts[i], s.puzzle.goals[i]
			c.k++
		}
	}
	c.settleOn(&s.puzzle.ground, starts[0])
	return c.explore(&s.joint) || c.joins(starts[:c.k], goals[:c.k])
}

// settleOn numbers the cells.
func (c *crowd) settleOn(ground *field, within place) {
	var reach field
	reach.measure(ground, within)
	center := within
	for p := range place(wall) {
		if reach[p] < unseen && openness(&reach, p) > openness(&reach, center) {
			center = p
		}
	}
	reach.measure(ground, center)
	for p := range place(wall) {
		if reach[p] < unseen {
			c.cells = append(c.cells, p)
		}
	}
	slices.SortStableFunc(c.cells, func(p, q place) int { return int(reach[p]) - int(reach[q]) })
	for i := range c.number {
		c.number[i] = -1
	}
	for i, p := range c.cells {
		c.number[p] = i
	}
}

// openness counts the paths of two steps from a place.
func openness(reach *field, p place) (paths int) {
	for _, s := range steps {
		for _, r := range steps {
			if reach[p+s] < unseen && reach[p+s+r] < unseen {
				paths++
			}
		}
	}
	return paths
}

// explore goes through the sets of places until all permutations are found; then
// it is true.
func (c *crowd) explore(j *joint) bool {
	c.order = map[taken]arrangement{}
	c.group = newPermutations(c.k)
	var first taken
	for i := range c.k {
		first[i] = uint8(i)
	}
	c.reach(first, identity)
	for len(c.queue) > 0 {
		if len(c.queue)%heedEvery == 0 && j.interrupted() {
			return false
		}
		set := c.queue[0]
		c.queue = c.queue[1:]
		if c.goOn(set) {
			return true
		}
	}
	return false
}

// reach notes that the tokens can stand on a set in an order, and says whether
// all permutations are found.
func (c *crowd) reach(set taken, order arrangement) (full bool) {
	known, met := c.order[set]
	if !met {
		c.order[set] = order
		c.queue = append(c.queue, set)
		return false
	}
	return known != order && c.group.add(order.after(known, c.k))
}

// goOn makes all steps and rotations from a set.
func (c *crowd) goOn(set taken) bool {
	order := c.order[set]
	for slot := range c.k {
		from := c.cells[set[slot]]
		for _, s := range steps {
			to := c.number[from+s]
			if to < 0 || slices.Contains(set[:c.k], uint8(to)) {
				continue
			}
			if c.reach(c.stepped(set, order, slot, uint8(to))) {
				return true
			}
		}
		if c.rotate(set, order, from) {
			return true
		}
	}
	return false
}

// stepped moves the token in a slot to another cell.
func (c *crowd) stepped(set taken, order arrangement, slot int, to uint8) (taken, arrangement) {
	token := order.at(slot)
	for ; slot+1 < c.k && set[slot+1] < to; slot++ {
		set[slot] = set[slot+1]
		order = order.with(slot, order.at(slot+1))
	}
	for ; slot > 0 && set[slot-1] > to; slot-- {
		set[slot] = set[slot-1]
		order = order.with(slot, order.at(slot-1))
	}
	set[slot] = to
	return set, order.with(slot, token)
}

// rotate turns the 2x2 block at a corner, if it is full. To turn it the other
// way is the same permutation, taken three times.
func (c *crowd) rotate(set taken, order arrangement, corner place) bool {
	turned := order
	block := [4]place{corner, corner + 1, corner + 1 + stride, corner + stride}
	var slots [4]int
	for i, p := range block {
		n := c.number[p]
		if n < 0 {
			return false
		}
		if slots[i] = slices.Index(set[:c.k], uint8(n)); slots[i] < 0 {
			return false
		}
	}
	for i, slot := range slots {
		turned = turned.with(slots[(i+1)%4], order.at(slot))
	}
	return c.reach(set, turned)
}

// joins says whether one of the permutations brings agents from starts to goals.
func (c *crowd) joins(starts, goals []place) bool {
	from, agentsFrom := c.stand(starts)
	to, agentsTo := c.stand(goals)
	tokens := agentsFrom.after(c.order[from], c.k) // which agent a token is
	wanted := agentsTo.after(c.order[to], c.k)     // which it has to be
	return c.group.has(tokens.inverse(c.k).times(wanted, c.k))
}

// stand is the set of places that agents take, and the order of the agents on it.
func (c *crowd) stand(places []place) (set taken, order arrangement) {
	for i, p := range places {
		set[i] = uint8(c.number[p])
	}
	slices.Sort(set[:c.k])
	order = identity
	for i, p := range places {
		order = order.with(slices.Index(set[:c.k], uint8(c.number[p])), i)
	}
	return set, order
}
