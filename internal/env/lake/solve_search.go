package lake

// mode is what a search looks for.
type mode uint8

const (
	cheapest mode = iota // a plan of least cost, the sum over agents
	waitless             // the same without a wait before an agent's arrival
	quickest             // a plan of least makespan
)

// joint searches the paths of a group of agents together, one time step after
// the other, depth first, within a budget that the caller raises until it
// suffices.
//
// For the sum of costs the budget is the excess: what the plan may cost more
// than the agents' shortest paths together. Of an agent's steps those toward its
// goal take nothing from it, a wait 1, a step away 2. So the search follows
// shortest paths and spends its budget on nothing but getting out of the way.
// When an agent steps onto its goal it either has arrived, for good and for
// free, or it will leave again, which takes 2.
//
// For the makespan the budget is the time left (see solve_deadline.go).
type joint struct {
	mode   mode
	k      int               // agents in the group
	who    [MaxAgents]int    // their numbers in the puzzle
	all    []field           // distances of all agents in the puzzle
	toGoal [MaxAgents]*field // distances
	goal   [MaxAgents]place
	frames []frame // by time: the line that is being searched
	end    int     // time of the last arrival, once found
	seen   memory
	others traffic
	bounds bounds

	expansions int // states searched in this run
	effort     int // states searched for this group
	tried      int // steps tried for it
	stop       <-chan struct{}
	stopped    bool // stop was closed; what a search says then means nothing
	dueAt      int  // steps to try until larger bounds may be worth while
	haste      int  // how much earlier than usual they are built: 1 but in tests
}

// frame is a joint state.
type frame struct {
	at   [MaxAgents]place
	home uint8 // bit set of agents that have arrived for good

	// Once bounds are on:
	spots [MaxAgents]spot // the agents' spots in tables
	needs rest            // what sets of agents need
	lines [MaxAgents]rest // the same after the step of an agent, and before those of the next ones
}

// firstDue is fewer steps than any table is worth, so that easy searches need not
// think of them.
const firstDue = 300

// run searches from the starts and says whether the budget suffices.
func (j *joint) run(starts *[MaxAgents]place, budget int) bool {
	j.seen.reset()
	j.expansions = 0
	j.reserve(0)
	j.frames[0] = frame{}
	for a := range j.k {
		j.frames[0].at[a] = starts[j.who[a]]
	}
	j.bounds.resume(j)
	if j.mode == quickest {
		return j.hurry(0, budget, nil)
	}
	return j.begin(0, budget)
}

// reserve makes room for the frames at t and t+1.
func (j *joint) reserve(t int) {
	for len(j.frames) < t+2 {
		j.frames = append(j.frames, frame{})
	}
}

// begin lets agents that start on their goals stay, or go and come back.
func (j *joint) begin(a, budget int) bool {
	for a < j.k && j.frames[0].at[a] != j.goal[a] {
		a++
	}
	if a == j.k {
		return j.visit(0, budget, nil)
	}
	if j.others.mayStay(a, 0) {
		j.frames[0].home |= 1 << a
		if j.begin(a+1, budget) {
			return true
		}
		j.frames[0].home &^= 1 << a
	}
	return budget >= 2 && j.begin(a+1, budget-2)
}

// visit searches from the state at time t.
func (j *joint) visit(t, budget int, needs *rest) bool {
	if j.frames[t].home == 1<<j.k-1 {
		j.end = t
		return true
	}
	return j.open(t, budget, needs) && j.move(t, 0, budget, j.bounds.of(&j.frames[t]))
}

// open prepares to search from the state at time t, unless there is no hope.
func (j *joint) open(t, budget int, needs *rest) bool {
	if j.stopped || j.bounds.size > 0 && !j.bounds.suffices(j, t, budget, needs) || !j.seen.enter(j.key(t), budget) {
		return false
	}
	j.expansions++
	if j.effort%heedEvery == 0 && j.interrupted() {
		return false
	}
	j.effort++
	if j.tried >= j.dueAt {
		if j.dueAt = j.bounds.dueAt(j); j.tried >= j.dueAt {
			j.bounds.build(j, max(2, j.bounds.size+1), t)
		}
	}
	j.reserve(t)
	f, n := &j.frames[t], &j.frames[t+1]
	n.at, n.home, n.spots = f.at, f.home, f.spots
	return true
}

// heedEvery is how many states, of a search or a table, pass between two looks at
// whether to stop.
const heedEvery = 1024

func (j *joint) interrupted() bool {
	select {
	case <-j.stop:
		j.stopped = true
	default:
	}
	return j.stopped
}

// key is the state at time t as a number of 45 bits. Amid the traffic of others,
// of whom there is at least one, the time takes the place of a fifth agent.
func (j *joint) key(t int) uint64 {
	f := &j.frames[t]
	key := uint64(f.at[0]) | uint64(f.at[1])<<8 | uint64(f.at[2])<<16 | uint64(f.at[3])<<24 | uint64(f.at[4])<<32
	if j.others.n > 0 {
		key |= uint64(t&0xff) << 32
	}
	return key | uint64(f.home)<<40
}

// move makes the steps of agents a and later from time t, in all ways that the
// budget allows, the cheap ones first. Once bounds are on, needs is what sets of
// agents need after the steps of those that have made theirs.
func (j *joint) move(t, a, budget int, needs *rest) bool {
	f := &j.frames[t]
	for a < j.k && f.home>>a&1 != 0 {
		a++
	}
	if a == j.k {
		return j.visit(t+1, budget, needs)
	}
	from := f.at[a]
	if from == j.goal[a] {
		return j.moveToDistance(t, a, 1, 0, budget, needs) || j.wait(t, a, budget, needs)
	}
	d := j.toGoal[a][from]
	return j.advance(t, a, d, budget, needs) || j.wait(t, a, budget, needs) ||
		budget >= 2 && j.moveToDistance(t, a, d+1, 2, budget-2, needs)
}

// advance moves an agent toward its goal; onto it, the agent arrives or not.
func (j *joint) advance(t, a int, d uint8, budget int, needs *rest) bool {
	if d > 1 {
		return j.moveToDistance(t, a, d-1, 0, budget, needs)
	}
	if j.others.mayStay(a, t+1) {
		j.frames[t+1].home |= 1 << a
		if j.step(t, a, j.goal[a], 0, budget, needs) {
			return true
		}
		j.frames[t+1].home &^= 1 << a
	}
	return budget >= 2 && j.step(t, a, j.goal[a], 2, budget-2, needs)
}

// moveToDistance moves an agent to the neighbours at a distance from its goal.
func (j *joint) moveToDistance(t, a int, d, takes uint8, budget int, needs *rest) bool {
	from := j.frames[t].at[a]
	for _, s := range steps {
		if to := from + s; j.toGoal[a][to] == d && j.step(t, a, to, takes, budget, needs) {
			return true
		}
	}
	return false
}

func (j *joint) wait(t, a, budget int, needs *rest) bool {
	return budget >= 1 && j.mode != waitless && j.step(t, a, j.frames[t].at[a], 1, budget-1, needs)
}

// step moves an agent and then the others.
func (j *joint) step(t, a int, to place, takes uint8, budget int, needs *rest) bool {
	j.tried++
	if !j.clear(t, a, to) {
		return false
	}
	j.frames[t+1].at[a] = to
	if needs != nil {
		if needs = j.bounds.step(j, t, a, takes, budget, needs); needs == nil || !j.novel(t, a+1, budget) {
			return false
		}
	}
	return j.move(t, a+1, budget, needs)
}

// clear says whether an agent may go to a place in the step from time t, given
// those that have made theirs.
func (j *joint) clear(t, a int, to place) bool {
	f, n := &j.frames[t], &j.frames[t+1]
	from := f.at[a]
	for b := range j.k {
		if b >= a && f.home>>b&1 == 0 {
			continue // yet to move
		}
		if n.at[b] == to || n.at[b] == from && f.at[b] == to {
			return false
		}
	}
	return j.others.n == 0 || j.others.clear(t, from, to)
}

// route appends the places of one of the group's agents from its start to its
// last arrival.
func (j *joint) route(a int, route []place) []place {
	arrival := 0
	for t := range j.end {
		if j.frames[t].at[a] != j.goal[a] || j.mode != quickest && j.frames[t].home>>a&1 == 0 {
			arrival = t + 1
		}
	}
	for _, f := range j.frames[:arrival+1] {
		route = append(route, f.at[a])
	}
	return route
}
