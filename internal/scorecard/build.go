// Package scorecard counts verdicts into scorecards, pools cards, and puts
// intervals around their rates. Cards hold counts, never rates, so that pooling
// is adding.
package scorecard

import (
	"errors"
	"fmt"
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Build counts the verdicts of one policy on one set. Verdicts stand in the order
// of tasks. Cells come in the environment's order, size by size and group by
// group; only sizes that occur have cells, but such a size has all groups.
//
// A card is evidence, so Build refuses verdicts that contradict themselves or
// their task (valid with a failed check, cheaper than the optimum) and names all
// of them, up to a bound.
func Build(policy, set string, e env.Environment, tasks []env.Task, verdicts []env.Verdict) (experiment.Scorecard, error) {
	if len(tasks) != len(verdicts) {
		return experiment.Scorecard{}, fmt.Errorf("scorecard of %s on %s: %d verdicts for %d tasks", policy, set, len(verdicts), len(tasks))
	}
	t := newTally(e)
	for i, task := range tasks {
		t.add(task, verdicts[i])
	}
	if err := t.faults.err(); err != nil {
		return experiment.Scorecard{}, fmt.Errorf("scorecard of %s on %s: %w", policy, set, err)
	}
	return experiment.Scorecard{Policy: policy, Set: set, Checks: t.checks, Cells: t.filled()}, nil
}

// tally is a card being counted: all cells that the environment can have, in
// its order.
type tally struct {
	sizes, groups, checks []string
	cells                 []experiment.Cell // size-major
	faults                faults
}

func newTally(e env.Environment) *tally {
	t := &tally{sizes: e.Space().Sizes, groups: e.Groups()}
	for _, c := range e.Checks() {
		t.checks = append(t.checks, c.Name)
	}
	for _, size := range t.sizes {
		for _, group := range t.groups {
			t.cells = append(t.cells, experiment.Cell{Size: size, Group: group, Errors: make([]int, len(t.checks))})
		}
	}
	return t
}

func (t *tally) add(task env.Task, v env.Verdict) {
	size, group := slices.Index(t.sizes, task.Size), slices.Index(t.groups, task.Group)
	if size < 0 || group < 0 {
		t.faults.add("task %s: size %q, group %q; want one of %q and one of %q", task.ID, task.Size, task.Group, t.sizes, t.groups)
		return
	}
	if fault := contradiction(task, v); fault != "" {
		t.faults.add("task %s: %s", task.ID, fault)
		return
	}
	c := &t.cells[size*len(t.groups)+group]
	count(c, v)
	t.countErrors(c, task, v)
}

func count(c *experiment.Cell, v env.Verdict) {
	c.N++
	c.Valid += one(v.Valid)
	c.Optimal += one(v.Optimal)
	c.Truncated += one(v.Truncated)
	c.Tokens += int64(v.Tokens)
	if v.Valid {
		c.Cost += int64(v.Cost)
		c.Optimum += int64(v.Optimum)
	}
}

// countErrors counts an answer once per check, however often it failed it.
func (t *tally) countErrors(c *experiment.Cell, task env.Task, v env.Verdict) {
	for i, name := range v.Failed {
		check := slices.Index(t.checks, name)
		switch {
		case check < 0:
			t.faults.add("task %s: failed check %q; want one of %q", task.ID, name, t.checks)
		case !slices.Contains(v.Failed[:i], name):
			c.Errors[check]++
		}
	}
}

// contradiction says what cannot be true of a verdict, or "".
func contradiction(task env.Task, v env.Verdict) string {
	switch {
	case v.Valid && len(v.Failed) > 0:
		return fmt.Sprintf("valid, yet failed %q", v.Failed)
	case !v.Valid && len(v.Failed) == 0 && !v.Truncated:
		return "invalid, yet no check failed"
	case v.Optimal && !v.Valid:
		return "optimal, yet invalid"
	case v.Tokens < 0:
		return fmt.Sprintf("%d tokens", v.Tokens)
	case !v.Valid:
		return ""
	case v.Optimum != task.Optimum:
		return fmt.Sprintf("judged against optimum %d; the task has %d", v.Optimum, task.Optimum)
	case v.Cost < v.Optimum:
		return fmt.Sprintf("cost %d is below the optimum %d", v.Cost, v.Optimum)
	case v.Optimal != (v.Cost == v.Optimum):
		return fmt.Sprintf("optimal is %t at cost %d and optimum %d", v.Optimal, v.Cost, v.Optimum)
	}
	return ""
}

// filled are the cells of sizes that occur.
func (t *tally) filled() []experiment.Cell {
	cells := []experiment.Cell{}
	for of := range slices.Chunk(t.cells, max(1, len(t.groups))) {
		if slices.ContainsFunc(of, func(c experiment.Cell) bool { return c.N > 0 }) {
			cells = append(cells, of...)
		}
	}
	return cells
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// faults collects what is wrong. A broken set breaks every task in the same way,
// so only the first few are spelled out.
type faults struct {
	errs []error
	more int
}

const shownFaults = 10

func (f *faults) add(format string, args ...any) {
	if len(f.errs) == shownFaults {
		f.more++
		return
	}
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

func (f *faults) err() error {
	if f.more > 0 {
		return errors.Join(append(f.errs, fmt.Errorf("and %d more", f.more))...)
	}
	return errors.Join(f.errs...)
}
