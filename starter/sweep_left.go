package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/experiment"
	"floe/workflows"
)

// leftOut are the cells that earlier files of a sweep had, that ran, and that are
// not among the present ones. Nothing of them is lost: cells are experiments.
func (a *app) leftOut(ctx context.Context, c client.Client, sweep string, present []string) ([]cellView, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := a.plansOf(ctx, sweep)
	if err != nil || len(plans) < 2 {
		return nil, err
	}
	seen := map[string]bool{}
	for _, name := range present {
		seen[name] = true
	}
	look := &activities.Sweeps{Steps: *steps, Client: c}
	var left []cellView
	for _, p := range plans {
		for _, cell := range p.Cells() {
			name := p.NameOf(cell)
			if seen[name] {
				continue
			}
			seen[name] = true
			found, err := activities.LookAtCell(ctx, look, activities.CellRef{Cell: cell, Name: name, Workflow: workflows.ExperimentID(name)}, true)
			if err != nil {
				return nil, err
			}
			if found.State != "" {
				left = append(left, leftCell(p, cell, found))
			}
		}
	}
	slices.SortFunc(left, func(a, b cellView) int { return strings.Compare(a.Name, b.Name) })
	return left, nil
}

func leftCell(p experiment.Sweep, cell experiment.SweepCell, found activities.CellFound) cellView {
	v := cellView{
		Name: p.NameOf(cell), Arm: p.Arms[cell.Arm].Name, Seed: cell.Seed, State: found.State,
		Start: found.Start, Valid: found.Rate, Cause: found.Cause, LeftOut: true,
	}
	if found.Round >= 0 {
		v.Round = &found.Round
	}
	return v
}

// plansOf are all plans that a sweep has had.
func (a *app) plansOf(ctx context.Context, sweep string) ([]experiment.Sweep, error) {
	prefix := "sweeps/" + sweep + "/"
	listed, err := a.steps.Store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var plans []experiment.Sweep
	for _, o := range listed {
		digest, _, _ := strings.Cut(strings.TrimPrefix(o.Key, prefix), ".")
		p, err := activities.GetPlan(ctx, a.steps.Store, sweep, digest)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// addLeftOut adds them to a view. A store that cannot be read hides them, but not
// the sweep.
func (a *app) addLeftOut(ctx context.Context, c client.Client, v *sweepView) {
	present := make([]string, len(v.Cells))
	for i, cell := range v.Cells {
		present[i] = cell.Name
	}
	var err error
	if v.LeftOut, err = a.leftOut(ctx, c, v.Name, present); err != nil {
		a.say("cannot look up cells that are no longer in the file: %v", err)
	}
}

// sayLeftOut tells at a start which cells the file has no more.
func (a *app) sayLeftOut(ctx context.Context, c client.Client, s experiment.Sweep) {
	var v sweepView
	v.Name = s.Name
	for _, cell := range s.Cells() {
		v.Cells = append(v.Cells, cellView{Name: s.NameOf(cell)})
	}
	a.addLeftOut(ctx, c, &v)
	v.leftOutLines(a.err)
}

// leftOutLines says which cells are left out, that they are kept, and how they come
// back.
func (v sweepView) leftOutLines(w io.Writer) {
	if len(v.LeftOut) == 0 {
		return
	}
	fmt.Fprintf(w, "%d no longer in the file; their results are kept and count again once their arms and seeds return:\n", len(v.LeftOut))
	for i, c := range v.LeftOut {
		if i == failuresShown {
			fmt.Fprintf(w, "  and %d more; -o json lists them all\n", len(v.LeftOut)-failuresShown)
			break
		}
		fmt.Fprintf(w, "  %s %s, valid %s\n", c.Name, c.State, share(c.Valid))
	}
}

// checkDeadline refuses a sweep file under whose deadline no cell would be started.
func checkDeadline(file string) error {
	src, err := readText(file)
	if err != nil {
		return err
	}
	return config.CheckDeadline(file, src, time.Now())
}
