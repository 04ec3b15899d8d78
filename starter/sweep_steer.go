package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"floe/workflows"
)

// steering is a verb on a whole sweep.
type steering struct {
	verb, short, long string
	states            []string // that it brings a sweep to
	waits             bool     // the command returns when the sweep has ended
}

var steerings = []steering{
	{
		verb: workflows.VerbPause, short: "Pause a sweep after its running steps",
		states: []string{workflows.StatePaused},
		long:   "Starts no more cells; running cells pause after their current step.",
	},
	{
		verb: workflows.VerbResume, short: "Resume a paused sweep",
		states: []string{workflows.StateRunning, workflows.StateAttention, workflows.StateWaiting},
		long:   "Resumes a paused sweep; its cells continue as slots become free.",
	},
	{
		verb: workflows.VerbStop, short: "Stop a sweep after its running experiments",
		states: []string{workflows.StateStopping, workflows.StateStopped},
		long: `Lets running experiments finish and starts no others. Experiments that are paused or
need attention end with their results so far. Starting the file again resumes.`,
	},
	{
		verb: workflows.VerbCancel, short: "Cancel a sweep and wait until its work has stopped", waits: true,
		states: []string{workflows.StateCancelling, workflows.StateCancelled},
		long:   "Cancels all experiments of the sweep and returns once they have ended. Completed steps are kept.",
	},
}

func (a *app) sweepSteerCmd(s steering) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: s.verb + " NAME", Short: s.short, Long: s.long,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.sweepNames,
		RunE: func(c *cobra.Command, args []string) error {
			return a.steerSweep(c.Context(), s, args[0], reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`REASON`, kept in the log of the sweep and its experiments")
	return c
}

func (a *app) steerSweep(ctx context.Context, s steering, name, reason string) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	if _, err = a.updateSweep(ctx, c, name, workflows.UpdateSteer, workflows.Control{Verb: s.verb, Reason: reason}); err != nil {
		// An order that has been carried out already is no failure.
		if v, gone := sweepStatus(ctx, c, name); gone == nil && slices.Contains(s.states, v.State) {
			return a.emitSweep(v)
		}
		return err
	}
	for {
		v, err := sweepStatus(ctx, c, name)
		if err == nil && (final(v.State) || !s.waits && slices.Contains(s.states, v.State)) {
			return a.emitSweep(v)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// emitSweep says how a sweep stands after an order.
func (a *app) emitSweep(s workflows.SweepStatus) error {
	v := viewOf(s)
	return a.emitResult(result{v.Name, v.State, "sweep " + v.line()})
}

func (a *app) sweepRetryCmd() *cobra.Command {
	var r workflows.SweepRetry
	c := &cobra.Command{
		Use:   "retry NAME [CELL...]",
		Short: "Retry failed cells of a sweep",
		Long: `Retries the named cells, or with --failed all cells that failed or need attention.
Completed steps are reused. If there is nothing to retry, the command fails and
says so.`,
		Example:           "  starter sweep retry sweep-demo --failed\n  starter sweep retry sweep-demo sweep-demo-fixed-s1",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.sweepNames,
		RunE: func(c *cobra.Command, args []string) error {
			r.Cells = args[1:]
			if r.Failed == (len(r.Cells) > 0) {
				return fail(exitUsage, "found --failed and %d cells; want either --failed or the names of cells", len(r.Cells))
			}
			return a.retrySweep(c.Context(), args[0], r)
		},
	}
	c.Flags().BoolVar(&r.Failed, "failed", false, "all cells that failed or need attention")
	c.Flags().StringVar(&r.Reason, "reason", "", "`REASON`, kept in the log of the sweep and its experiments")
	return c
}

func (a *app) retrySweep(ctx context.Context, name string, r workflows.SweepRetry) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	answer, err := a.updateSweep(ctx, c, name, workflows.UpdateRetry, r)
	if err != nil {
		return err
	}
	return a.emitResult(result{Name: name, Text: fmt.Sprintf("sweep %s: %s to be tried again: %s", name, plural(answer.Cells, "cell"), answer.Tally)})
}
