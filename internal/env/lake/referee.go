package lake

import (
	"slices"
	"strconv"

	"floe/internal/env"
)

// The eight checks of the paper, in the order in which a verdict names them.
const (
	checkParse = iota
	checkMoves
	checkCollision
	checkGoal
	checkStart
	checkCount
	checkHole
	checkBounds
	numChecks
)

var checks = [numChecks]env.Check{
	checkParse:     {Name: "parse", Doc: "The answer can be read, and in one way only."},
	checkMoves:     {Name: "legal_moves", Doc: "Every step leads to one of the four neighbours or waits; no jumps."},
	checkCollision: {Name: "no_collision", Doc: "No two agents are in one cell at one time or exchange cells in one step; agents stay where their path ends."},
	checkGoal:      {Name: "reaches_goal", Doc: "Every agent's path ends on its goal."},
	checkStart:     {Name: "starts_at_start", Doc: "Every agent's path begins on its start."},
	checkCount:     {Name: "agent_count", Doc: "There is one path for each agent of the task and no other."},
	checkHole:      {Name: "no_hole", Doc: "No agent is ever in a hole."},
	checkBounds:    {Name: "in_bounds", Doc: "No agent is ever off the map."},
}

// Checks are the referee's checks in order.
func (Lake) Checks() []env.Check { return slices.Clone(checks[:]) }

// sentencesPerCheck bounds what people are told about one check; the flags are
// always complete.
const sentencesPerCheck = 2

// findings collects what the referee sees. Each check is found on its own: a
// jump off the map into another agent's cell fails three.
type findings struct {
	count     [numChecks]int
	sentences [numChecks][]string
}

// fault counts a fault of a check and says whether to describe it.
func (f *findings) fault(check int) (describe bool) {
	f.count[check]++
	return f.count[check] <= sentencesPerCheck
}

func (f *findings) describe(check int, parts ...any) {
	f.sentences[check] = append(f.sentences[check], sentence(parts...))
}

// sentence joins words, numbers and cells. It is there because a training run
// describes some hundred thousand faults, and fmt takes its time.
func sentence(parts ...any) string {
	b := make([]byte, 0, 80)
	for _, p := range parts {
		switch v := p.(type) {
		case string:
			b = append(b, v...)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case Cell:
			b = appendCell(b, v)
		}
	}
	return string(b)
}

func appendCell(b []byte, c Cell) []byte {
	b = strconv.AppendInt(append(b, '('), int64(c[0]), 10)
	b = strconv.AppendInt(append(b, ", "...), int64(c[1]), 10)
	return append(b, ')')
}

// Judge referees an answer. Only the flag parse is raised for a text that cannot
// be read. A valid plan that is cheaper than the task's optimum shows that the
// task is wrong: it counts as valid but not as optimal, and a fault says so.
func (p *problem) Judge(answer string) env.Verdict {
	v := env.Verdict{Optimum: p.task.Optimum, Tokens: EstimateTokens(answer)}
	s, _ := scratches.Get().(*scratch)
	defer s.release()
	r := s.parse(answer, &p.in)
	if r.fault == "" && r.extra == 0 {
		v.Cost, v.Valid = p.flawless(s, r.plan)
	}
	switch {
	case !v.Valid:
		p.explain(r, &v)
	case v.Cost < v.Optimum:
		v.Faults = []string{sentence("the task is wrong: this valid plan costs ", v.Cost, ", its recorded optimum is ", v.Optimum)}
	}
	v.Optimal = v.Valid && v.Cost == v.Optimum
	return v
}

// explain says what is wrong with an answer.
func (p *problem) explain(r reading, v *env.Verdict) {
	var f findings
	if r.fault != "" {
		v.Truncated = r.cut
		f.fault(checkParse)
		f.describe(checkParse, "cannot read the answer, ", r.rule, ": ", r.fault)
	} else {
		f.inspect(&p.in, r)
	}
	f.report(v)
}

func (f *findings) report(v *env.Verdict) {
	for check, n := range f.count {
		if n == 0 {
			continue
		}
		v.Failed = append(v.Failed, checks[check].Name)
		v.Faults = append(v.Faults, f.sentences[check]...)
	}
}

func (f *findings) inspect(in *Instance, r reading) {
	for agent, path := range r.plan {
		if path == nil {
			if f.fault(checkCount) {
				f.describe(checkCount, "agent ", agent, " has no path")
			}
			continue
		}
		f.inspectEnds(in, agent, path)
		f.inspectSteps(in, agent, path)
	}
	if r.extra > 0 && f.fault(checkCount) {
		f.describe(checkCount, "there are paths of agents that the task does not have; it has ", in.Agents())
	}
	for b := range r.plan {
		for a := range b {
			f.inspectPair(a, b, r.plan[a], r.plan[b])
		}
	}
}

func (f *findings) inspectEnds(in *Instance, agent int, path []Cell) {
	if first := path[0]; first != in.Starts[agent] && f.fault(checkStart) {
		f.describe(checkStart, "agent ", agent, " starts at ", first, "; its start is ", in.Starts[agent])
	}
	if last := path[len(path)-1]; last != in.Goals[agent] && f.fault(checkGoal) {
		f.describe(checkGoal, "agent ", agent, " ends at ", last, "; its goal is ", in.Goals[agent])
	}
}

func (f *findings) inspectSteps(in *Instance, agent int, path []Cell) {
	before := path[0]
	for t, c := range path {
		switch {
		case !in.Inside(c):
			if f.fault(checkBounds) {
				f.describe(checkBounds, "agent ", agent, " is off the map at ", c, " at step ", t)
			}
		case in.Hole(c):
			if f.fault(checkHole) {
				f.describe(checkHole, "agent ", agent, " is in the hole ", c, " at step ", t)
			}
		}
		if distance(before, c) > 1 && f.fault(checkMoves) {
			f.describe(checkMoves, "agent ", agent, " jumps ", before, "-", c, " at step ", t)
		}
		before = c
	}
}

// inspectPair looks for collisions until both agents rest.
func (f *findings) inspectPair(a, b int, pa, pb []Cell) {
	if pa == nil || pb == nil {
		return
	}
	wasA, wasB := pa[0], pb[0]
	for t := range max(len(pa), len(pb)) {
		atA, atB := pa[min(t, len(pa)-1)], pb[min(t, len(pb)-1)]
		switch {
		case atA == atB:
			if f.fault(checkCollision) {
				f.describe(checkCollision, "agents ", a, " and ", b, " are both at ", atA, " at step ", t)
			}
		case atA == wasB && atB == wasA:
			if f.fault(checkCollision) {
				f.describe(checkCollision, "agents ", a, " and ", b, " swap ", wasA, "-", wasB, " at step ", t)
			}
		}
		wasA, wasB = atA, atB
	}
}

// distance is the number of moves between two cells without obstacles.
func distance(a, b Cell) int {
	return max(a[0]-b[0], b[0]-a[0]) + max(a[1]-b[1], b[1]-a[1])
}

// cost of a valid plan: the sum over agents of the time of their last arrival,
// or the latest of these times. Waiting on the goal is free once an agent does
// not leave it any more.
func cost(plan Plan, goals []Cell, objective string) int {
	sum, latest := 0, 0
	for agent, path := range plan {
		t := len(path) - 1
		for t > 0 && path[t-1] == goals[agent] {
			t--
		}
		sum += t
		latest = max(latest, t)
	}
	if objective == objectiveMakespan {
		return latest
	}
	return sum
}
