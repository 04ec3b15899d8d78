package lake

import (
	"cmp"
	"slices"
)

// mark is a fault of a plan with its place and time. The referee only counts and
// tells the first of each kind; a drawing shows them all. A test holds the two
// against each other, flag for flag and word for word.
type mark struct {
	check    int
	step     int
	row, col float64 // of a swap, between its two cells
	text     string
}

// marksOf finds the faults of a plan that have a place, in the order of time.
func marksOf(in *Instance, plan Plan) (all []mark) {
	for agent, path := range plan {
		if path == nil {
			continue
		}
		all = append(all, endMarks(in, agent, path)...)
		all = append(all, stepMarks(in, agent, path)...)
		for a := range agent {
			if plan[a] != nil {
				all = append(all, pairMarks(a, agent, plan[a], path)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b mark) int { return cmp.Compare(a.step, b.step) })
	return all
}

func newMark(check, step int, at Cell, parts ...any) mark {
	return mark{check, step, float64(at[0]), float64(at[1]), sentence(parts...)}
}

func endMarks(in *Instance, agent int, path []Cell) (all []mark) {
	if first := path[0]; first != in.Starts[agent] {
		all = append(all, newMark(checkStart, 0, first, "agent ", agent, " starts at ", first, "; its start is ", in.Starts[agent]))
	}
	if end := len(path) - 1; path[end] != in.Goals[agent] {
		all = append(all, newMark(checkGoal, end, path[end], "agent ", agent, " ends at ", path[end], "; its goal is ", in.Goals[agent]))
	}
	return all
}

func stepMarks(in *Instance, agent int, path []Cell) (all []mark) {
	before := path[0]
	for t, c := range path {
		switch {
		case !in.Inside(c):
			all = append(all, newMark(checkBounds, t, c, "agent ", agent, " is off the map at ", c, " at step ", t))
		case in.Hole(c):
			all = append(all, newMark(checkHole, t, c, "agent ", agent, " is in the hole ", c, " at step ", t))
		}
		if distance(before, c) > 1 {
			all = append(all, newMark(checkMoves, t, c, "agent ", agent, " jumps ", before, "-", c, " at step ", t))
		}
		before = c
	}
	return all
}

func pairMarks(a, b int, pa, pb []Cell) (all []mark) {
	wasA, wasB := pa[0], pb[0]
	for t := range max(len(pa), len(pb)) {
		atA, atB := pa[min(t, len(pa)-1)], pb[min(t, len(pb)-1)]
		switch {
		case atA == atB:
			all = append(all, newMark(checkCollision, t, atA, "agents ", a, " and ", b, " are both at ", atA, " at step ", t))
		case atA == wasB && atB == wasA:
			m := newMark(checkCollision, t, atA, "agents ", a, " and ", b, " swap ", wasA, "-", wasB, " at step ", t)
			m.row, m.col = float64(atA[0]+atB[0])/2, float64(atA[1]+atB[1])/2
			all = append(all, m)
		}
		wasA, wasB = atA, atB
	}
	return all
}
