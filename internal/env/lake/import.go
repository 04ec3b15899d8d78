package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"floe/internal/curriculum"
	"floe/internal/env"
)

var (
	_ env.Importing   = Lake{}
	_ env.Subdividing = Lake{}
)

// solvers keep their memory from one import to the next.
var solvers = sync.Pool{New: func() any { return NewSolver() }}

// Import reads a row of the published benchmark, which is little but a prompt,
// and solves its instance.
func (Lake) Import(ctx context.Context, row env.Published, objective string) (env.Task, error) {
	in, err := parsePrompt(tidied(row.Text))
	if err == nil && in.Agents() != row.Agents {
		err = fmt.Errorf("the text has %d agents, the row says %d", in.Agents(), row.Agents)
	}
	if err != nil {
		return env.Task{}, fmt.Errorf("import task %q: %w", row.ID, err)
	}
	task, err := imported(ctx, in, objective)
	if err != nil {
		return env.Task{}, fmt.Errorf("import task %q: %w", row.ID, err)
	}
	task.ID, task.Prompt = row.ID, row.Text
	return task, nil
}

// tidied is a text without what files and web pages do to line ends: CRLF, HTML
// breaks, spaces at the end of a line, blank lines around it all. Nothing else is
// forgiven.
func tidied(text string) string {
	text = htmlBreak.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	lines := strings.Split(strings.Trim(text, " \t\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n") + "\n"
}

// htmlBreak takes the line end behind it along: some write both.
var htmlBreak = regexp.MustCompile(`(?i)<br ?/?>\n?`)

// imported is the task of an instance, but for its ID and prompt.
func imported(ctx context.Context, in Instance, objective string) (env.Task, error) {
	solver, _ := solvers.Get().(*Solver)
	defer solvers.Put(solver)
	s, err := solver.Solve(ctx, in, objective)
	if err != nil {
		return env.Task{}, err
	}
	if !s.Solvable {
		return env.Task{}, errors.New("no plan brings all agents to their goals")
	}
	body, err := json.Marshal(in)
	if err != nil {
		return env.Task{}, fmt.Errorf("encode instance: %w", err)
	}
	return env.Task{Size: in.SizeName(), Group: s.group(), Objective: objective, Optimum: s.optimum(objective), Instance: body}, nil
}

func (s Solution) group() string {
	if s.NeedsWait {
		return groupWait
	}
	return groupFree
}

func (s Solution) optimum(objective string) int {
	if objective == objectiveMakespan {
		return s.Makespan
	}
	return s.SumOfCosts
}

// Subsets names the wait subsets as published: wr_025, wr_050 and wr_075.
func (Lake) Subsets(o env.Order) []string {
	names := make([]string, 0, o.Samples)
	for i, count := range curriculum.Apportion(even(len(benchmarkWaits)), o.Samples) {
		for range count {
			names = append(names, fmt.Sprintf("wr_%03.0f", math.Round(100*benchmarkWaits[i])))
		}
	}
	return names
}
