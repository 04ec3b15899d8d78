package scorecard

import (
	"errors"
	"fmt"
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Merge pools cards of one environment, such as the same set under several seeds
// or the held-out sets of several agent counts, into one card under a new name.
// Cells come in the environment's order. Every answer counts the same, as in the
// paper's totals. Cards of another environment are refused, all faults at once.
func Merge(policy, set string, e env.Environment, cards ...experiment.Scorecard) (experiment.Scorecard, error) {
	t := newTally(e)
	for _, card := range cards {
		t.merge(card)
	}
	if err := t.faults.err(); err != nil {
		return experiment.Scorecard{}, fmt.Errorf("merge scorecards into %s on %s: %w", policy, set, err)
	}
	return experiment.Scorecard{Policy: policy, Set: set, Checks: t.checks, Cells: t.filled()}, nil
}

func (t *tally) merge(card experiment.Scorecard) {
	if err := Validate(card); err != nil {
		t.faults.add("%w", err)
		return
	}
	if !slices.Equal(card.Checks, t.checks) {
		t.faults.add("%s on %s has checks %q; want %q", card.Policy, card.Set, card.Checks, t.checks)
		return
	}
	for _, c := range card.Cells {
		size, group := slices.Index(t.sizes, c.Size), slices.Index(t.groups, c.Group)
		if size < 0 || group < 0 {
			t.faults.add("%s on %s has a cell for %q, %q; want one of %q and one of %q", card.Policy, card.Set, c.Size, c.Group, t.sizes, t.groups)
			continue
		}
		into := &t.cells[size*len(t.groups)+group]
		*into = plus(*into, c)
	}
}

// Validate says everything that cannot be true of a card's counts, or nil.
func Validate(card experiment.Scorecard) error {
	var errs []error
	for _, c := range card.Cells {
		if !ordered(0, c.Optimal, c.Valid, c.N) || !ordered(0, c.Truncated, c.N) {
			errs = append(errs, fmt.Errorf("%s %s: %d answers, %d valid, %d optimal, %d truncated; want each at most the one before, truncated at most answers",
				c.Size, c.Group, c.N, c.Valid, c.Optimal, c.Truncated))
		}
		if len(c.Errors) != len(card.Checks) {
			errs = append(errs, fmt.Errorf("%s %s: %d error counts for %d checks", c.Size, c.Group, len(c.Errors), len(card.Checks)))
		}
		for i, n := range c.Errors {
			if !ordered(0, n, c.N-c.Valid) {
				errs = append(errs, fmt.Errorf("%s %s: %d answers failed check %d; %d were invalid", c.Size, c.Group, n, i, c.N-c.Valid))
			}
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("scorecard of %s on %s: %w", card.Policy, card.Set, errors.Join(errs...))
	}
	return nil
}

func ordered(v ...int) bool { return slices.IsSorted(v) }
