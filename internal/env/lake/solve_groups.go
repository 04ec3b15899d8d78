package lake

// Agents that do not get into each other's way need not be searched together
// (independence detection, Standley 2010). Every agent starts as a group of its
// own; groups whose routes collide look for other routes of the same cost, and
// if there are none, become one group.

// group is a set of agents with the budget that their search needs.
type group struct {
	members uint8 // bit set
	budget  int
}

// alone makes every agent a group, with a budget to start from. Two agents are
// one group at once: searching them together takes no longer than apart.
func (s *Solver) alone(budget int) {
	s.groups = s.groups[:0]
	if s.puzzle.agents == 2 {
		s.groups = append(s.groups, group{0b11, budget})
		return
	}
	for i := range s.puzzle.agents {
		s.groups = append(s.groups, group{1 << i, budget})
	}
}

// resolve finds routes for all groups that do not collide. In mode cheapest it
// raises the groups' budgets as needed, and false means that there are no such
// routes at all. In the other modes the budgets stand, and false means that they
// do not suffice.
func (s *Solver) resolve(m mode) bool {
	for i := range s.groups {
		before := s.union(s.groups[:i])
		if !s.settle(m, &s.groups[i], before) {
			return false
		}
	}
	for {
		a, b, collision := s.collision()
		switch {
		case !collision:
			return true
		case s.sidestep(m, a) || s.sidestep(m, b):
		case !s.merge(m, a, b):
			return false
		}
	}
}

func (s *Solver) union(groups []group) (members uint8) {
	for _, g := range groups {
		members |= g.members
	}
	return members
}

// collision finds two groups whose routes collide.
func (s *Solver) collision() (a, b int, found bool) {
	for b := range s.groups {
		for a := range b {
			if s.groupsCollide(s.groups[a].members, s.groups[b].members) {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

func (s *Solver) groupsCollide(a, b uint8) bool {
	for i := range s.puzzle.agents {
		for k := range s.puzzle.agents {
			if a>>i&1 != 0 && b>>k&1 != 0 && collide(s.routes[i], s.routes[k]) {
				return true
			}
		}
	}
	return false
}

// sidestep finds routes for a group that collide with no one's.
func (s *Solver) sidestep(m mode, i int) bool {
	g := s.groups[i]
	return s.search(m, g, s.union(s.groups)&^g.members)
}

// merge makes two groups one, in which they need at least what they needed apart.
func (s *Solver) merge(m mode, a, b int) bool {
	g := group{s.groups[a].members | s.groups[b].members, s.groups[a].budget + s.groups[b].budget}
	if m == quickest {
		g.budget = s.groups[a].budget
	}
	s.groups[a] = g
	s.groups = append(s.groups[:b], s.groups[b+1:]...)
	return s.settle(m, &s.groups[a], 0)
}

// settle finds routes for a group, if possible ones that keep clear of others.
func (s *Solver) settle(m mode, g *group, others uint8) bool {
	s.joint.effort, s.joint.tried = 0, 0
	switch {
	case others != 0 && s.search(m, *g, others), s.search(m, *g, 0):
		return true
	case m != cheapest:
		return false
	}
	return s.raise(g)
}

// proveAfter is the excess from which on a group must be proved solvable before
// the search goes on. Most groups need less, and the proof costs about as much
// as an easy search.
const proveAfter = 4

// raise finds routes of least cost for a group whose budget does not suffice.
//
// Budgets grow by one while the search is easy. In a hard one they grow in strides,
// each twice the last: a budget that does not suffice takes long, one that is ample
// takes little, and from there it is lowered again.
func (s *Solver) raise(g *group) bool {
	proved := false
	stride, fails := 1, g.budget
	for g.budget += stride; !s.search(cheapest, *g, 0); g.budget += stride {
		if s.joint.stopped {
			return false
		}
		fails = g.budget
		if g.budget >= proveAfter && !proved {
			if !s.attainable(g.members) {
				return false
			}
			proved = true
		}
		if s.joint.bounds.size > 0 {
			stride *= 2
		}
	}
	s.lower(g, fails)
	return true
}

// lower finds the least budget above one that fails and below the cost of the
// group's routes, halving what lies between. In the end the routes are those that
// the search with the least budget finds, however that was found.
func (s *Solver) lower(g *group, fails int) {
	within := g.budget
	for g.budget = s.excessOf(g.members); g.budget > fails+1; {
		middle := (fails + g.budget) / 2
		if s.search(cheapest, group{g.members, middle}, 0) {
			within, g.budget = middle, s.excessOf(g.members)
		} else {
			fails = middle
		}
	}
	if within > g.budget {
		s.search(cheapest, *g, 0)
	}
}

// excessOf is what the routes of some agents cost above their shortest paths.
func (s *Solver) excessOf(members uint8) int {
	excess := 0
	for i := range s.puzzle.agents {
		if members>>i&1 != 0 {
			excess += len(s.routes[i]) - 1 - int(s.toGoal[i][s.puzzle.starts[i]])
		}
	}
	return excess
}

// search looks for routes of a group within its budget, amid the traffic of
// others, and keeps them.
func (s *Solver) search(m mode, g group, others uint8) bool {
	j := &s.joint
	j.mode, j.all, j.k, j.others.n = m, s.toGoal[:s.puzzle.agents], 0, 0
	for i := range s.puzzle.agents {
		switch {
		case g.members>>i&1 != 0:
			j.who[j.k], j.toGoal[j.k], j.goal[j.k] = i, &s.toGoal[i], s.puzzle.goals[i]
			j.k++
		case others>>i&1 != 0:
			j.others.add(s.routes[i])
		}
	}
	j.others.watch(j.goal[:j.k])
	found := j.run(&s.puzzle.starts, g.budget)
	s.expansions += j.expansions
	if found {
		for a := range j.k {
			i := j.who[a]
			s.routes[i] = j.route(a, s.routes[i][:0])
		}
	}
	return found
}
