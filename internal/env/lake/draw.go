package lake

import (
	"fmt"
	"slices"
	"strings"

	"floe/internal/env"
)

var _ env.Drawable = (*problem)(nil)

// longestDrawn bounds the steps of a drawing. Plans need below 100; an answer may
// claim any number.
const longestDrawn = 200

// Draw draws a task and what an answer does in it.
func (p *problem) Draw(s env.Scene) ([]byte, error) {
	sc := p.scene(s)
	switch s.Format {
	case env.FormatText:
		return sc.text(), nil
	case env.FormatSVG:
		return sc.svg(false), nil
	case env.FormatAnimatedSVG:
		return sc.svg(true), nil
	}
	return nil, fmt.Errorf("draw task %q: format %q is not known", p.task.ID, s.Format)
}

// scene is a task with what an answer does in it, ready to be drawn.
type scene struct {
	task     env.Task
	in       *Instance
	answered bool
	plan     Plan // cut to longestDrawn steps; nil if there is none to draw
	steps    int  // of the whole plan
	marks    []mark
	verdict  env.Verdict
}

func (p *problem) scene(s env.Scene) *scene {
	sc := &scene{task: p.task, in: &p.in, answered: s.Answered}
	if !s.Answered {
		return sc
	}
	sc.verdict = p.Judge(s.Answer)
	r := parseAnswer(s.Answer, &p.in)
	for _, path := range r.plan {
		sc.steps = max(sc.steps, len(path)-1)
		sc.plan = append(sc.plan, path[:min(len(path), longestDrawn+1)])
	}
	for _, m := range marksOf(&p.in, r.plan) {
		if m.step <= longestDrawn {
			sc.marks = append(sc.marks, m)
		}
	}
	return sc
}

// last is the last step drawn.
func (sc *scene) last() int { return min(sc.steps, longestDrawn) }

// at is where an agent is at a step; one without a path stays on its start.
func (sc *scene) at(agent, step int) Cell {
	if sc.plan == nil || sc.plan[agent] == nil {
		return sc.in.Starts[agent]
	}
	path := sc.plan[agent]
	return path[min(step, len(path)-1)]
}

// title is what the task is, in a line.
func (sc *scene) title() string {
	return fmt.Sprintf("%s, %d agents, %s, optimum %d (%s)",
		sc.in.SizeName(), sc.in.Agents(), words(sc.task.Group), sc.task.Optimum, words(sc.task.Objective))
}

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// outcome is what the referee says, in a line.
func (sc *scene) outcome() string {
	v := sc.verdict
	switch {
	case v.Optimal:
		return fmt.Sprintf("valid and optimal, cost %d", v.Cost)
	case v.Valid:
		return fmt.Sprintf("valid, cost %d; the optimum is %d", v.Cost, v.Optimum)
	default:
		return "not valid, failed: " + strings.Join(v.Failed, ", ")
	}
}

// captions are what the referee found, and what the drawing leaves out.
func (sc *scene) captions() []string {
	all := slices.Clone(sc.verdict.Faults)
	if sc.steps > longestDrawn {
		all = append(all, fmt.Sprintf("only the first %d of %d steps are drawn", longestDrawn, sc.steps))
	}
	return all
}

// errand is an agent's way in words.
func (sc *scene) errand(agent int) string {
	return fmt.Sprintf("%s to %s", sc.in.Starts[agent], sc.in.Goals[agent])
}

// waits counts the steps in which an agent stays in its cell before its path ends.
func (sc *scene) waits(agent int) int {
	n := 0
	for t := 1; t < len(sc.plan[agent]); t++ {
		if sc.plan[agent][t] == sc.plan[agent][t-1] {
			n++
		}
	}
	return n
}
