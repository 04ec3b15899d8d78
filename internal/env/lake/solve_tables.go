package lake

// table is how much budget some agents need when they are alone on the map, from
// all places. More than 254 counts as 255.
type table struct {
	ready bool
	need  []uint8 // by the agents' spots, as digits of a number
}

// spot numbers the cells that the agents can reach, from 1 on. An agent that has
// arrived for good is at no cell but at home.
type spot = uint8

const home spot = 0

// spots is the numbering of cells.
type spots struct {
	cells []place // by spot; home has none
	of    field   // by place; home where there is no cell
}

// number numbers the cells from which agents can reach their goals.
func (s *spots) number(toGoal []field) {
	s.cells = append(s.cells[:0], 0)
	s.of = field{}
	for p := range s.of {
		for a := range toGoal {
			if toGoal[a][p] < unseen {
				s.of[p] = spot(len(s.cells))
				s.cells = append(s.cells, place(p))
				break
			}
		}
	}
}

// backward computes tables, by a search of least budgets from the end of all
// plans to all states. A step takes from the budget what its agents' steps take;
// for a makespan, one, and nobody arrives before the end.
type backward struct {
	spots
	agents  int
	pair    bool                // a pair's, for the sum of costs
	last    [maxTable]stepLists // by agent, the ways to have come to a spot
	next    [2]stepLists        // the ways to go on, for a sweep
	order   [2][]spot           // the spots by what is ahead of an agent there
	stride  [maxTable]uint32    // what an agent's spot counts in a state's number
	each    int                 // what every step takes, whoever moves
	need    []uint8
	buckets [unknown][]uint32 // states to go on from, by need; some of them outdated
	place   [maxTable]place   // where the agents are on one side of a step
	before  [maxTable]place   // where they are on the other, as far as chosen
}

// tableStep is a step of one agent, seen from one of its ends.
type tableStep struct {
	spot  spot // at the other end
	place place
	takes uint8
}

// stepLists are the steps from every spot, those that take nothing first.
type stepLists struct {
	steps []tableStep
	from  []int32 // by spot, where its steps begin; they end where the next ones begin
	at    []place // by spot
}

func (l *stepLists) reset() { l.steps, l.from, l.at = l.steps[:0], append(l.from[:0], 0), l.at[:0] }

// end ends the list of a spot.
func (l *stepLists) end(at place) {
	l.from = append(l.from, int32(len(l.steps)))
	l.at = append(l.at, at)
}

func (l *stepLists) of(s spot) []tableStep { return l.steps[l.from[s]:l.from[s+1]] }

const (
	maxTable = 4   // agents in a table
	unknown  = 255 // the need of a state without a way to the end
)

// fill computes the table of some of a group's agents, a bit set, unless it is
// ready or the search is stopped.
func (b *backward) fill(t *table, j *joint, agents int) {
	if t.ready {
		return
	}
	end := b.take(j, agents)
	states := 1
	for range b.agents {
		states *= len(b.cells)
	}
	if cap(t.need) < states {
		t.need = make([]uint8, states)
	}
	b.need = t.need[:states]
	for i := range b.need {
		b.need[i] = unknown
	}
	for i := range b.buckets {
		b.buckets[i] = b.buckets[i][:0]
	}
	if b.pair {
		b.sweep()
	} else {
		b.lower(end, 0)
	}
	for need := range b.buckets {
		for i := 0; i < len(b.buckets[need]); i++ { //nolint:intrange // there come more on the way
			if i%heedEvery == 0 && j.interrupted() {
				return
			}
			if state := b.buckets[need][i]; int(b.need[state]) == need {
				b.spread(state, need+b.each)
			}
		}
	}
	t.need, t.ready = b.need, true
}

// take prepares for some of a group's agents and returns the state in which all
// plans end.
func (b *backward) take(j *joint, agents int) (end uint32) {
	b.agents, b.each = 0, 0
	if j.mode == quickest {
		b.each = 1
	}
	b.pair = b.each == 0 && isPair[agents]
	for a := range j.k {
		if agents>>a&1 == 0 {
			continue
		}
		i := b.agents
		b.last[i].reset()
		for s := range b.cells {
			b.lastSteps(&b.last[i], spot(s), j.toGoal[a], j.goal[a])
		}
		if b.pair {
			b.nextSteps(i, j.toGoal[a], j.goal[a])
		}
		b.agents++
	}
	stride := uint32(1)
	for i, a := b.agents-1, j.k-1; i >= 0; a-- {
		if agents>>a&1 == 0 {
			continue
		}
		b.stride[i] = stride
		if j.mode == quickest {
			end += stride * uint32(b.of[j.goal[a]])
		}
		stride *= uint32(len(b.cells))
		i--
	}
	return end
}

// lastSteps lists the ways to have come to a spot in one step. For the sum of
// costs, an agent that is on its goal without having arrived has two steps before
// it: off and back.
func (b *backward) lastSteps(l *stepLists, to spot, toGoal *field, goal place) {
	at, rest := goal, 0
	if to != home {
		at = b.cells[to]
		rest = ahead(toGoal, at, goal)
	}
	stay := tableStep{spot: to, place: at, takes: 1}
	if to == home || b.each > 0 {
		stay.takes = 0
	}
	l.steps = append(l.steps, stay)
	for _, s := range steps {
		p := at + s
		if b.of[p] == 0 || toGoal[p] >= unseen {
			continue
		}
		step := tableStep{spot: b.of[p], place: p}
		if b.each == 0 {
			step.takes = uint8(1 + rest - ahead(toGoal, p, goal))
		}
		l.steps = append(l.steps, step)
	}
	l.end(at)
}

// ahead is how many steps an agent has to make from a place where it has not
// arrived.
func ahead(toGoal *field, p, goal place) int {
	if p == goal {
		return 2
	}
	return int(toGoal[p])
}

// lower notes the need of a state, if it is the least so far.
func (b *backward) lower(state uint32, need int) {
	if int(b.need[state]) <= need {
		return
	}
	b.need[state] = uint8(need)
	b.buckets[need] = append(b.buckets[need], state)
}

// spread lowers the needs of all states one step before a state.
func (b *backward) spread(state uint32, need int) {
	var steps [maxTable][]tableStep
	for i := range b.agents {
		at := state / b.stride[i]
		state -= at * b.stride[i]
		steps[i] = b.last[i].of(spot(at))
		b.place[i] = steps[i][0].place // the first is to have stayed
	}
	b.choose(&steps, 0, 0, need)
}

// choose goes through the steps of agents i and later.
func (b *backward) choose(steps *[maxTable][]tableStep, i int, state uint32, need int) {
	stride, last := b.stride[i], i == b.agents-1
	for _, s := range steps[i] {
		if !b.clear(i, s.place) {
			continue
		}
		before := state + uint32(s.spot)*stride
		if n := need + int(s.takes); last {
			b.lower(before, n)
		} else {
			b.before[i] = s.place
			b.choose(steps, i+1, before, n)
		}
	}
}

// clear says whether an agent can have come from a place, given those before it.
func (b *backward) clear(i int, from place) bool {
	to := b.place[i]
	for k, other := range b.before[:i] {
		if other == from || other == to && b.place[k] == from {
			return false
		}
	}
	return true
}
