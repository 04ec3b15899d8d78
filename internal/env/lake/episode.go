package lake

import (
	"fmt"
	"strconv"

	"floe/internal/env"
)

// episode is a task being acted in by a small policy that decides for one agent
// after the other. In every time step agents decide in the order of their
// numbers and see what earlier ones have just chosen. Nothing is masked: the
// first violation ends the episode and stands in its answer. It also ends when
// all agents are home after a full step, or when its steps are used up.
type episode struct {
	p     *problem
	agent int // who decides next
	done  bool
	paths [MaxAgents][]Cell // so far; those of agents that have decided are one longer
	last  [MaxAgents]int    // last action, actions before the first
	// visits counts how often an agent was in a cell, its start included.
	visits [MaxAgents][MaxSize * MaxSize]uint8
}

var _ env.Episode = (*episode)(nil)

// Episode starts acting in the task. It allocates two blocks of memory, about 5 KB.
func (p *problem) Episode() env.Episode {
	e := &episode{p: p}
	steps := p.maxSteps + 1
	cells := make([]Cell, p.in.Agents()*steps)
	for i, start := range p.in.Starts {
		e.paths[i] = append(cells[i*steps:i*steps:(i+1)*steps], start)
		e.last[i] = actions
		e.visit(i, start)
	}
	e.done = e.allHome()
	return e
}

func (e *episode) Done() bool { return e.done }

// Act moves the agent whose turn it is. Actions out of range and acts after the
// end are ignored.
func (e *episode) Act(action int) {
	if e.done || action < 0 || action >= actions {
		return
	}
	i := e.agent
	to := e.now(i).step(action)
	e.done = !e.allowed(i, to)
	e.paths[i] = append(e.paths[i], to)
	e.last[i] = action
	if e.done {
		return
	}
	e.visit(i, to)
	if e.agent++; e.agent == e.p.in.Agents() {
		e.agent = 0
		e.done = e.allHome() || len(e.paths[0]) > e.p.maxSteps
	}
}

// allowed says whether an agent may enter a cell, as far as decisions are made.
func (e *episode) allowed(agent int, to Cell) bool {
	if !e.p.in.Inside(to) || e.p.in.Hole(to) {
		return false
	}
	from := e.now(agent)
	for j := range agent {
		before, after := e.move(j)
		if after == to || after == from && before == to {
			return false
		}
	}
	return true
}

// now is where an agent is, after its decision if it has made one.
func (e *episode) now(agent int) Cell { return e.paths[agent][len(e.paths[agent])-1] }

// move is the latest step of an agent that has decided.
func (e *episode) move(agent int) (from, to Cell) {
	path := e.paths[agent]
	return path[len(path)-2], path[len(path)-1]
}

func (e *episode) visit(agent int, c Cell) {
	if v := &e.visits[agent][c[0]*MaxSize+c[1]]; *v < 2 { // features ask for one or more than one
		*v++
	}
}

func (e *episode) allHome() bool {
	for i, goal := range e.p.in.Goals {
		if e.now(i) != goal {
			return false
		}
	}
	return true
}

// Answer renders the paths as the prompt asks for them. Waits on the goal at the
// end of a path say nothing and are left out.
func (e *episode) Answer() string {
	plan := make(Plan, e.p.in.Agents())
	for i, goal := range e.p.in.Goals {
		plan[i] = withoutRest(e.paths[i], goal)
	}
	return renderPlan(plan)
}

func withoutRest(path []Cell, goal Cell) []Cell {
	end := len(path)
	for end > 1 && path[end-1] == goal && path[end-2] == goal {
		end--
	}
	return path[:end]
}

// renderPlan writes a plan in the canonical form of an answer.
func renderPlan(plan Plan) string {
	b := make([]byte, 0, 600)
	for agent, path := range plan {
		b = strconv.AppendInt(append(b, "Agent "...), int64(agent), 10)
		b = append(b, ": "...)
		for t, c := range path {
			if t > 0 {
				b = append(b, " -> "...)
			}
			b = appendCell(b, c)
		}
		b = append(b, '\n')
	}
	return string(b)
}

// Demonstration is an optimal plan as actions in the order in which an episode
// asks for them, padded with waits until all agents are home. It fails for tasks
// without a solution and for those that record another optimum.
func (p *problem) Demonstration() ([]int, error) {
	plan, err := NewSolver().Plan(p.in, p.task.Objective)
	if err != nil {
		return nil, fmt.Errorf("demonstrate task %q: %w", p.task.ID, err)
	}
	if c := cost(plan, p.in.Goals, p.task.Objective); c != p.task.Optimum {
		return nil, fmt.Errorf("demonstrate task %q: an optimal plan costs %d; the task records %d", p.task.ID, c, p.task.Optimum)
	}
	steps := 0
	for _, path := range plan {
		steps = max(steps, len(path)-1)
	}
	acts := make([]int, 0, steps*len(plan))
	for t := range steps {
		for _, path := range plan {
			acts = append(acts, actionBetween(path, t))
		}
	}
	return acts, nil
}

// actionBetween is the action from time t to t+1; a path that has ended waits.
func actionBetween(path []Cell, t int) int {
	if t+1 >= len(path) {
		return actionWait
	}
	for action := range actions {
		if path[t].step(action) == path[t+1] {
			return action
		}
	}
	return actionWait
}
