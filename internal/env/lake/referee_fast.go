package lake

import "sync"

// scratches lets concurrent judges have memory of their own.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// largestScratch bounds what one endless answer leaves behind, in cells.
const largestScratch = 4096

func (s *scratch) release() {
	if cap(s.cells) <= largestScratch {
		scratches.Put(s)
	}
}

// flawless says whether a plan passes all checks, and what it costs. It finds no
// more than that: plans with a fault are inspected for the sentences.
//
// The cells of all agents at one time stand in the bytes of one number, as places
// on the board, so that all pairs of agents are compared at once.
func (p *problem) flawless(s *scratch, plan Plan) (cost int, ok bool) {
	longest := 0
	for _, path := range plan {
		longest = max(longest, len(path))
	}
	s.times = s.times[:0]
	for range longest {
		s.times = append(s.times, p.nobody)
	}
	sum, latest := 0, 0
	for agent, path := range plan {
		arrival, ok := p.follow(s.times, agent, path)
		if !ok {
			return 0, false
		}
		sum += arrival
		latest = max(latest, arrival)
	}
	if !apart(s.times) {
		return 0, false
	}
	if p.task.Objective == objectiveMakespan {
		return latest, true
	}
	return sum, true
}

// follow checks one agent's path and writes down where it is at what time. Its
// arrival is the last one, as waiting on the goal is free.
func (p *problem) follow(times []uint64, agent int, path []Cell) (arrival int, ok bool) {
	if len(path) == 0 || path[0] != p.in.Starts[agent] || path[len(path)-1] != p.in.Goals[agent] {
		return 0, false
	}
	n, lane := uint(p.in.N), 8*agent
	goal, at := placeOf(p.in.Goals[agent]), placeOf(path[0])
	away := -1 // when it was not on its goal
	for t, c := range path {
		if uint(c[0]) >= n || uint(c[1]) >= n {
			return 0, false
		}
		to := placeOf(c)
		if p.ground[to] == wall || !isStep[to-at] {
			return 0, false
		}
		at = to
		if at != goal {
			away = t
		}
		times[t] |= uint64(at) << lane
	}
	for t := len(path); t < len(times); t++ {
		times[t] |= uint64(goal) << lane
	}
	return away + 1, true
}

// isStep are the differences between places that are a wait or one step apart.
var isStep = func() (is [256]bool) {
	is[0] = true
	for _, step := range steps {
		is[step] = true
	}
	return is
}()

// The bytes of a number of times: a lane for every agent.
const (
	allLanes = 1<<(8*MaxAgents) - 1
	lowBits  = allLanes / 255
	highBits = lowBits << 7
)

// nobody has a place off the board in each lane without an agent, another in each.
func nobody(agents int) (lanes uint64) {
	for lane := agents; lane < MaxAgents; lane++ {
		lanes |= uint64(0xf0+lane) << (8 * lane)
	}
	return lanes
}

// turned gives every lane the content of the one k further on. Turned by one and
// by two, each of five agents meets each other.
func turned(x uint64, k int) uint64 { return (x>>(8*k) | x<<(8*(MaxAgents-k))) & allLanes }

// zeros has a bit set if a lane is zero.
func zeros(x uint64) uint64 { return (x - lowBits) &^ x & highBits }

// apart says that no two agents are ever in one place or exchange theirs.
func apart(times []uint64) bool {
	was := times[0]
	was1, was2 := turned(was, 1), turned(was, 2)
	together := uint64(0)
	for _, now := range times {
		now1, now2 := turned(now, 1), turned(now, 2)
		together |= zeros(now^now1) | zeros(now^now2)
		together |= zeros((now^was1)|(was^now1)) | zeros((now^was2)|(was^now2))
		was, was1, was2 = now, now1, now2
	}
	return together == 0
}
