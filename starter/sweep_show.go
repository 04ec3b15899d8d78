package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

func (a *app) sweepShowCmd() *cobra.Command {
	var cells bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the state of a sweep: wanted = done + running + waiting + failed",
		Long: `Shows the totals of a sweep, one line per arm, and what failed and why. Cells that
are no longer in the sweep file are listed separately. -o json prints all cells,
-o jsonl one cell per line.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.sweepNames,
		Annotations:       map[string]string{knowsJSONL: ""},
		RunE: func(c *cobra.Command, args []string) error {
			v, err := a.lookSweep(c.Context(), args[0])
			if err != nil {
				return err
			}
			a.addLeftOut(c.Context(), a.temporal, &v)
			if a.output == "jsonl" {
				return v.jsonLines(a.out)
			}
			return a.emit(versioned{sweepSchema, v}, func(w io.Writer) error { return v.table(w, cells) })
		},
	}
	c.Flags().BoolVar(&cells, "cells", false, "a line for each cell too")
	return c
}

func (v sweepView) jsonLines(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, c := range slices.Concat(v.Cells, v.LeftOut) {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

// sweepSchema names the form of a sweep's document.
const sweepSchema = "floe.sweep/v2"

// failuresShown bounds the failed cells that are listed for people.
const failuresShown = 20

func (v sweepView) table(w io.Writer, cells bool) error {
	fmt.Fprintln(w, v.line())
	failed := 0
	for _, c := range v.Cells {
		if c.State != sweep.Attention && c.State != sweep.Failed {
			continue
		}
		if failed++; failed <= failuresShown {
			fmt.Fprintf(w, "%s %s: %s\n", c.Name, c.State, c.Cause)
		}
	}
	if failed > failuresShown {
		fmt.Fprintf(w, "and %d more; --cells lists them all\n", failed-failuresShown)
	}
	if failed > 0 {
		again := "starter sweep retry " + v.Name + " --failed"
		if sweepEnded(v.State) {
			again = "starter sweep start FILE" // a workflow that has ended takes no orders
		}
		fmt.Fprintf(w, "look: starter show NAME · again: %s\n", again)
	}
	v.approvals(w)
	if v.UI != "" {
		fmt.Fprintf(w, "Temporal UI  %s\n", v.UI)
	}
	fmt.Fprintln(w)
	if err := v.armTable(w); err != nil {
		return err
	}
	if cells {
		fmt.Fprintln(w)
		if err := v.cellTable(w); err != nil {
			return err
		}
	}
	if len(v.LeftOut) > 0 {
		fmt.Fprintln(w)
		v.leftOutLines(w)
	}
	return nil
}

// approvals lists the cells of which a person has to approve a design.
func (v sweepView) approvals(w io.Writer) {
	n := 0
	for _, c := range v.Cells {
		if c.State != sweep.Approval {
			continue
		}
		if n++; n <= failuresShown {
			fmt.Fprintf(w, "%s %s: %s\n", c.Name, c.State, c.Cause)
		}
	}
	if n > failuresShown {
		fmt.Fprintf(w, "and %d more; --cells lists them all\n", n-failuresShown)
	}
	if n > 0 {
		fmt.Fprintln(w, "decide: starter design show NAME")
	}
}

func (v sweepView) armTable(w io.Writer) error {
	var lines [][]string
	for _, arm := range v.Arms {
		t := arm.Tally
		lines = append(lines, []string{
			arm.Name, fmt.Sprint(t.Wanted), fmt.Sprint(t.Done), fmt.Sprint(t.Running), fmt.Sprint(t.Waiting), fmt.Sprint(t.Failed),
			fmt.Sprint(t.Stopped), share(arm.Start), arm.mean(), arm.GivenUp,
		})
	}
	return rows(w, []string{"ARM", "CELLS", "DONE", "RUNNING", "WAITING", "FAILED", "STOPPED", "UNTRAINED", "VALID", ""}, lines)
}

// mean is the mean over an arm's cells; while some are not done it is not final.
func (arm sweepArmView) mean() string {
	if arm.Valid == nil || arm.Final {
		return share(arm.Valid)
	}
	return fmt.Sprintf("%s so far (%d of %d cells, %d done)", share(arm.Valid), arm.Measured, arm.Tally.Wanted, arm.Tally.Done)
}

func (v sweepView) cellTable(w io.Writer) error {
	var lines [][]string
	for _, c := range v.Cells {
		round := "-"
		if c.Round != nil {
			round = fmt.Sprint(*c.Round)
		}
		lines = append(lines, []string{c.Name, c.State, round, share(c.Start), share(c.Valid), fmt.Sprint(c.Tries), c.Cause})
	}
	return rows(w, []string{"CELL", "STATE", "ROUND", "UNTRAINED", "VALID", "TRIES", "CAUSE"}, lines)
}

// share is a rate that may be missing, in percent.
func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return experiment.Percent(*x)
}

func (a *app) sweepWatchCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "watch NAME",
		Short:             "Follow a sweep live until it ends or needs attention",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.sweepNames,
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := a.client(c.Context()); err != nil {
				return err
			}
			return a.concludeSweep(c.Context(), args[0], a.command("sweep watch "+args[0]))
		},
	}
}

// concludeSweep follows a sweep and shows how it stands then. One that did not end
// with all cells done is a failure of the command.
func (a *app) concludeSweep(ctx context.Context, name, again string) error {
	v, err := a.followSweep(ctx, name)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		a.say("no longer following; the sweep continues. To follow it again:\n  %s", again)
		return &codedError{exitInterrupted, context.Canceled}
	}
	if err != nil {
		return err
	}
	if err := a.emit(versioned{sweepSchema, v}, func(w io.Writer) error { return v.table(w, false) }); err != nil {
		return err
	}
	if v.State == workflows.StateDone {
		a.say("compare the arms with: %s", a.command("sweep compare "+name))
		return nil
	}
	if c, failed := v.worst(); failed {
		return fail(exitFailed, "sweep %s %s: %s: %s", name, stands(v.State), c.Name, c.Cause)
	}
	return fail(exitFailed, "sweep %s %s", name, stands(v.State))
}

func stands(state string) string {
	if state == workflows.StateAttention {
		return "needs attention"
	}
	return "is " + state
}

// settled says that nothing will happen until somebody acts.
func settled(v sweepView) bool {
	return v.State != stateLost && sweepEnded(v.State) || (v.State == workflows.StateAttention && v.Tally.Running == 0)
}

// sweepEnded says that no workflow of a sweep takes orders in this state.
func sweepEnded(state string) bool {
	return final(state) || slices.Contains([]string{"terminated", "failed", "timed_out", stateLost}, state)
}

// followSweep shows a sweep live until it is settled.
func (a *app) followSweep(ctx context.Context, name string) (sweepView, error) {
	view := newSweepScreen(a.err, a.color(a.err))
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var since time.Time // of the first of the failures in a row
	for {
		s, err := sweepStatus(ctx, a.temporal, name)
		_, none := errors.AsType[*serviceerror.NotFound](err)
		switch {
		case ctx.Err() != nil:
			return sweepView{}, ctx.Err()
		case none:
			return sweepView{}, noSweep(name)
		case err == nil:
			since = time.Time{}
			v := viewOf(s)
			view.show(v)
			if settled(v) {
				v.UI = a.uiURL(a.temporal.GetWorkflow(ctx, workflows.SweepID(name), ""))
				return v, nil
			}
		case since.IsZero():
			since = time.Now()
			view.waiting(err)
		case time.Since(since) > silence:
			return sweepView{}, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return sweepView{}, ctx.Err()
		}
	}
}
