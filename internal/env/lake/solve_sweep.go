package lake

import "slices"

// Most states of a pair need nothing: its agents follow shortest paths to the end
// and stay clear of each other. These are found without a queue, since a step that
// takes nothing brings everyone nearer who has not arrived: a sweep in the order
// of what is ahead of the agents meets the end of every such step before its
// beginning. The others, as there are fewer of them, look for their first needs
// themselves, so that the search backward need not go through all that need
// nothing. It halves the time of a table. Larger sets need nothing too rarely.

// pair is a state of two agents with their next steps.
type pair struct {
	state  uint32
	at     [2]place
	next   [2][]tableStep
	stride uint32
	need   []uint8
}

// sweep fills in what needs nothing and puts into the buckets what the search
// goes on from.
func (b *backward) sweep() {
	b.pairs(func(p *pair) {
		if p.state == 0 || p.free() { // all home
			p.need[p.state] = 0
		}
	})
	b.pairs(func(p *pair) {
		if p.need[p.state] != 0 {
			b.lower(p.state, p.firstNeed())
		}
	})
}

// pairs goes through the states in order, those left out in which both agents are
// at one place.
func (b *backward) pairs(each func(p *pair)) {
	p := pair{need: b.need, stride: b.stride[0]}
	for _, s := range b.order[0] {
		p.next[0] = b.next[0].of(s)
		p.at[0] = b.next[0].at[s]
		for _, r := range b.order[1] {
			p.next[1] = b.next[1].of(r)
			p.at[1] = b.next[1].at[r]
			p.state = uint32(s)*p.stride + uint32(r)
			if p.at[0] != p.at[1] {
				each(&p)
			}
		}
	}
}

// free says whether steps that take nothing lead to a state that needs nothing.
func (p *pair) free() bool {
	for _, x := range p.next[0] {
		if x.takes > 0 {
			break
		}
		for _, y := range p.next[1] {
			if y.takes > 0 {
				break
			}
			if p.need[uint32(x.spot)*p.stride+uint32(y.spot)] == 0 && p.clear(x.place, y.place) {
				return true
			}
		}
	}
	return false
}

// firstNeed is the least that a step takes, with what is known of the state it
// leads to.
func (p *pair) firstNeed() int {
	least := unknown
	for _, x := range p.next[0] {
		for _, y := range p.next[1] {
			n := int(x.takes) + int(y.takes) + int(p.need[uint32(x.spot)*p.stride+uint32(y.spot)])
			if n < least && p.clear(x.place, y.place) {
				least = n
			}
		}
	}
	return least
}

func (p *pair) clear(x, y place) bool { return x != y && (x != p.at[1] || y != p.at[0]) }

// nextSteps lists an agent's ways to go on from every spot, and the order in
// which to sweep.
func (b *backward) nextSteps(i int, toGoal *field, goal place) {
	l := &b.next[i]
	l.reset()
	l.steps = append(l.steps, tableStep{spot: home, place: goal})
	l.end(goal)
	b.order[i] = append(b.order[i][:0], home)
	for s, p := range b.cells[1:] {
		if toGoal[p] < unseen {
			b.stepsFrom(l, p, toGoal, goal)
			b.order[i] = append(b.order[i], spot(s+1))
		}
		l.end(p)
	}
	slices.SortFunc(b.order[i][1:], func(s, t spot) int {
		return ahead(toGoal, b.cells[s], goal) - ahead(toGoal, b.cells[t], goal)
	})
}

// stepsFrom lists the steps from a place where an agent has not arrived.
func (b *backward) stepsFrom(l *stepLists, from place, toGoal *field, goal place) {
	rest := ahead(toGoal, from, goal)
	for takes := range 3 {
		if takes == 1 {
			l.steps = append(l.steps, tableStep{spot: b.of[from], place: from, takes: 1})
		}
		for _, s := range steps {
			to := from + s
			if toGoal[to] >= unseen {
				continue
			}
			if to == goal && 1-rest == takes {
				l.steps = append(l.steps, tableStep{spot: home, place: to, takes: uint8(takes)})
			}
			if 1+ahead(toGoal, to, goal)-rest == takes {
				l.steps = append(l.steps, tableStep{spot: b.of[to], place: to, takes: uint8(takes)})
			}
		}
	}
}
