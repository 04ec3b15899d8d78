package lake

// traffic is the agents outside the group that is searched, on routes that are
// settled.
type traffic struct {
	n      int
	routes [MaxAgents][]place
	// last is when, for each agent of the group, another is on its goal for the
	// last time; -1 if never.
	last [MaxAgents]int
}

// at is where an agent on a route is at time t: on its goal in the end.
func at(route []place, t int) place { return route[min(t, len(route)-1)] }

func (o *traffic) add(route []place) {
	o.routes[o.n] = route
	o.n++
}

// watch notes when the goals of a group are free for good.
func (o *traffic) watch(goals []place) {
	for a, goal := range goals {
		o.last[a] = -1
		for _, route := range o.routes[:o.n] {
			for t, p := range route {
				if p == goal {
					o.last[a] = max(o.last[a], t)
				}
			}
		}
	}
}

// mayStay says whether an agent that is on its goal at time t can stay there.
func (o *traffic) mayStay(a, t int) bool { return o.n == 0 || t > o.last[a] }

// clear says whether nobody is in the way of a step from time t.
func (o *traffic) clear(t int, from, to place) bool {
	for _, route := range o.routes[:o.n] {
		if q := at(route, t+1); q == to || q == from && at(route, t) == to {
			return false
		}
	}
	return true
}

// collide says whether two agents on their routes collide.
func collide(a, b []place) bool {
	for t := range max(len(a), len(b)) {
		p, q := at(a, t+1), at(b, t+1)
		if p == q || p == at(b, t) && q == at(a, t) {
			return true
		}
	}
	return false
}
