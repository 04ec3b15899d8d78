package lake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"floe/internal/env"
)

// Objectives: what makes a plan optimal.
const (
	objectiveSum      = "sum_of_costs"
	objectiveMakespan = "makespan"
)

// largestOptimum bounds what a task may claim, so that a wrong one cannot keep
// an episode going for ever. The hardest instances of five agents need below 100.
const largestOptimum = 1000

// problem is an opened task.
type problem struct {
	task     env.Task
	in       Instance
	holes    []Cell
	ground   field  // wall in holes and off the map
	nobody   uint64 // see there
	maxSteps int    // of an episode
}

// Open decodes a task. It says everything that is wrong with one. A task without
// an instance is read from its prompt: the published benchmark has only texts.
func (Lake) Open(t env.Task) (env.Problem, error) {
	in, err := instanceOf(t)
	if err == nil {
		err = checkTask(t, in)
	}
	if err != nil {
		return nil, fmt.Errorf("open task %q: %w", t.ID, err)
	}
	p := &problem{task: t, in: in, ground: puzzleOf(in).ground, nobody: nobody(in.Agents()), maxSteps: maxSteps(t, in)}
	for r, row := range in.Grid {
		for c := range row {
			if row[c] == hole {
				p.holes = append(p.holes, Cell{r, c})
			}
		}
	}
	return p, nil
}

func (p *problem) Task() env.Task { return p.task }

func instanceOf(t env.Task) (Instance, error) {
	if len(t.Instance) == 0 {
		return parsePrompt(t.Prompt)
	}
	return decodeInstance(t.Instance)
}

// decodeInstance reads an instance's JSON. Sound ones as datasets have them are
// read fast; what is wrong with others the strict reader says.
func decodeInstance(body []byte) (Instance, error) {
	if in, ok := plainInstance(body); ok && in.check() == nil {
		return in, nil
	}
	return strictInstance(body)
}

// strictInstance reads an instance's JSON strictly: unknown fields, cells that
// are no pairs and text behind the value are faults.
func strictInstance(body []byte) (Instance, error) {
	var raw struct {
		N      int      `json:"n"`
		Grid   []string `json:"grid"`
		Starts [][]int  `json:"starts"`
		Goals  [][]int  `json:"goals"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return Instance{}, fmt.Errorf("decode instance: %w", err)
	}
	if d.More() {
		return Instance{}, errors.New("decode instance: there is something behind it")
	}
	starts, errStarts := pairs("start", raw.Starts)
	goals, errGoals := pairs("goal", raw.Goals)
	in := Instance{N: raw.N, Grid: raw.Grid, Starts: starts, Goals: goals}
	if err := errors.Join(errStarts, errGoals, in.check()); err != nil {
		return Instance{}, fmt.Errorf("decode instance: %w", err)
	}
	return in, nil
}

func pairs(what string, raw [][]int) ([]Cell, error) {
	var errs []error
	cells := make([]Cell, len(raw))
	for i, c := range raw {
		if len(c) != 2 {
			errs = append(errs, fmt.Errorf("%s of agent %d has %d coordinates; want 2", what, i, len(c)))
			continue
		}
		cells[i] = Cell(c)
	}
	return cells, errors.Join(errs...)
}

func checkTask(t env.Task, in Instance) error {
	var errs []error
	if t.Size != in.SizeName() {
		errs = append(errs, fmt.Errorf("size %q of a %s map", t.Size, in.SizeName()))
	}
	if !slices.Contains(Lake{}.Groups(), t.Group) {
		errs = append(errs, fmt.Errorf("group %q; want one of %q", t.Group, Lake{}.Groups()))
	}
	if t.Objective != objectiveSum && t.Objective != objectiveMakespan {
		errs = append(errs, fmt.Errorf("objective %q; want %q or %q", t.Objective, objectiveSum, objectiveMakespan))
	}
	if least := lowerBound(in, t.Objective); t.Optimum < least || t.Optimum > largestOptimum {
		errs = append(errs, fmt.Errorf("optimum %d; want %d, the distance to the goals, to %d", t.Optimum, least, largestOptimum))
	}
	if t.Prompt == "" {
		errs = append(errs, errors.New("no prompt"))
	}
	return errors.Join(errs...)
}

// ways are the distances from start to goal without holes and other agents.
func ways(in Instance) (sum, longest int) {
	for i, start := range in.Starts {
		d := distance(start, in.Goals[i])
		sum += d
		longest = max(longest, d)
	}
	return sum, longest
}

func lowerBound(in Instance, objective string) int {
	sum, longest := ways(in)
	if objective == objectiveMakespan {
		return longest
	}
	return sum
}

// maxSteps is how long an episode may take: 4n+2 steps, which is ample, but
// never less than an optimal plan could need.
func maxSteps(t env.Task, in Instance) int {
	latest := t.Optimum
	if t.Objective == objectiveSum {
		sum, longest := ways(in)
		latest = t.Optimum - sum + longest // if one agent makes all the detours
	}
	return max(4*in.N+2, latest)
}
