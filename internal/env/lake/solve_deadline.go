package lake

// The search for a makespan asks whether all agents can be on their goals after
// a number of steps. They may pass over their goals and come back at no charge,
// so nobody arrives for good before the end; the budget is the time left, and
// whoever is farther from its goal than that prunes the line.

// hurry searches from the state at time t with so many steps left.
func (j *joint) hurry(t, left int, needs *rest) bool {
	if j.allHome(t) {
		j.end = t
		return true
	}
	return j.open(t, left, needs) && j.moveInTime(t, 0, left-1, j.bounds.of(&j.frames[t]))
}

// allHome says whether all agents are on their goals and may stay there.
func (j *joint) allHome(t int) bool {
	for a, p := range j.frames[t].at[:j.k] {
		if p != j.goal[a] || !j.others.mayStay(a, t) {
			return false
		}
	}
	return true
}

// moveInTime makes the steps of agents a and later from time t, toward the goals
// first, as long as left steps then suffice.
func (j *joint) moveInTime(t, a, left int, needs *rest) bool {
	if a == j.k {
		return j.hurry(t+1, left, needs)
	}
	from := j.frames[t].at[a]
	d := int(j.toGoal[a][from])
	if d > 0 && d-1 <= left && j.stepsInTime(t, a, from, d-1, left, needs) {
		return true
	}
	if d <= left && j.stepInTime(t, a, from, left, needs) {
		return true
	}
	return d+1 <= left && j.stepsInTime(t, a, from, d+1, left, needs)
}

// stepsInTime moves an agent to the neighbours at a distance from its goal.
func (j *joint) stepsInTime(t, a int, from place, d, left int, needs *rest) bool {
	for _, s := range steps {
		if to := from + s; int(j.toGoal[a][to]) == d && j.stepInTime(t, a, to, left, needs) {
			return true
		}
	}
	return false
}

func (j *joint) stepInTime(t, a int, to place, left int, needs *rest) bool {
	j.tried++
	if !j.clear(t, a, to) {
		return false
	}
	j.frames[t+1].at[a] = to
	if needs != nil {
		if needs = j.bounds.step(j, t, a, 0, left, needs); needs == nil {
			return false
		}
	}
	return j.moveInTime(t, a+1, left, needs)
}
