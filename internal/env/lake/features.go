package lake

import "slices"

// The features are binary and relative to the agent that decides, so that one
// small network serves all agents, maps and places. About 32 are active. They
// stand in blocks, one behind the other.
const (
	mapRadius   = 4 // holes are seen in a 9x9 window
	agentRadius = 3 // other agents in a 7x7 window
	mapWindow   = (2*mapRadius + 1) * (2*mapRadius + 1)
	agentWindow = (2*agentRadius + 1) * (2*agentRadius + 1)
	span        = 2*MaxSize - 1 // an offset between two cells, in one direction

	atBias      = 0                              // always on
	atHoles     = atBias + 1                     // holes in the window
	atWalls     = atHoles + mapWindow            // distance to each of the four edges
	atGoal      = atWalls + 4*MaxSize            // offset of the own goal
	atGoalRow   = atGoal + span*span             // its rows alone
	atGoalCol   = atGoalRow + span               // its columns alone
	atUndecided = atGoalCol + span               // cells of agents that decide later
	atBefore    = atUndecided + agentWindow      // where agents that have decided were
	atAfter     = atBefore + agentWindow         // where they go
	atGoals     = atAfter + agentWindow          // goals of the others
	atHeading   = atGoals + agentWindow          // the others, with the sign of the way to their goal
	atLast      = atHeading + agentWindow*3*3    // own last action
	atVisits    = atLast + actions               // target cells visited once, more than once
	atSize      = atVisits + 2*actions           // size of the map
	atAgents    = atSize + MaxSize - MinSize + 1 // number of agents
	features    = atAgents + MaxAgents - MinAgents + 1
)

// index is the index of a computed feature.
func index(feature int) int32 { return int32(feature) }

// Features is the number of binary features of an observation.
func (Lake) Features() int { return features }

// Actions is the number of actions: up, down, left, right, wait.
func (Lake) Actions() int { return actions }

// Observe appends the active features of the deciding agent, each once.
func (e *episode) Observe(dst []int32) []int32 {
	in, i := &e.p.in, e.agent
	me := e.now(i)
	dst = append(dst, atBias, index(atSize+in.N-MinSize), index(atAgents+in.Agents()-MinAgents))
	for _, h := range e.p.holes {
		dst = appendWindow(dst, atHoles, mapRadius, me, h)
	}
	for side, d := range [4]int{me[0], in.N - 1 - me[0], me[1], in.N - 1 - me[1]} {
		dst = append(dst, index(atWalls+side*MaxSize+d))
	}
	dst = appendGoal(dst, me, in.Goals[i])
	dst = e.appendOthers(dst, me)
	if e.last[i] < actions {
		dst = append(dst, index(atLast+e.last[i]))
	}
	return e.appendVisits(dst, me)
}

// appendWindow adds the feature of a cell in a window around me, if it is in it.
func appendWindow(dst []int32, block, radius int, me, c Cell) []int32 {
	if k, ok := window(radius, me, c); ok {
		return append(dst, index(block+k))
	}
	return dst
}

func window(radius int, me, c Cell) (index int, ok bool) {
	r, q := c[0]-me[0]+radius, c[1]-me[1]+radius
	width := 2*radius + 1
	return r*width + q, uint(r) < uint(width) && uint(q) < uint(width) // negative ones are large
}

func appendGoal(dst []int32, me, goal Cell) []int32 {
	r, q := goal[0]-me[0]+MaxSize-1, goal[1]-me[1]+MaxSize-1
	return append(dst, index(atGoal+r*span+q), index(atGoalRow+r), index(atGoalCol+q))
}

func (e *episode) appendOthers(dst []int32, me Cell) []int32 {
	headings := len(dst)
	for j := range e.p.in.Starts { // headings come first: two of them can be the same feature
		if j != e.agent {
			dst = appendHeading(dst, headings, me, e.now(j), e.p.in.Goals[j])
		}
	}
	for j, goal := range e.p.in.Goals {
		switch {
		case j < e.agent:
			before, after := e.move(j)
			dst = appendWindow(dst, atBefore, agentRadius, me, before)
			dst = appendWindow(dst, atAfter, agentRadius, me, after)
		case j > e.agent:
			dst = appendWindow(dst, atUndecided, agentRadius, me, e.now(j))
		default:
			continue
		}
		dst = appendWindow(dst, atGoals, agentRadius, me, goal)
	}
	return dst
}

func appendHeading(dst []int32, headings int, me, c, goal Cell) []int32 {
	k, ok := window(agentRadius, me, c)
	if !ok {
		return dst
	}
	way := (sign(goal[0]-c[0])+1)*3 + sign(goal[1]-c[1]) + 1
	feature := index(atHeading + k*9 + way)
	if slices.Contains(dst[headings:], feature) {
		return dst
	}
	return append(dst, feature)
}

func sign(x int) int { return min(max(x, -1), 1) }

func (e *episode) appendVisits(dst []int32, me Cell) []int32 {
	for action := range actions {
		to := me.step(action)
		if !e.p.in.Inside(to) {
			continue
		}
		if v := e.visits[e.agent][to[0]*MaxSize+to[1]]; v > 0 {
			dst = append(dst, index(atVisits+action*2+int(v)-1))
		}
	}
	return dst
}
