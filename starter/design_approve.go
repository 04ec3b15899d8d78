package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// decideWithin is how long a worker gets to take and store a decision.
const decideWithin = time.Minute

func (a *app) designApproveCmd() *cobra.Command {
	var who byFlag
	var note string
	c := &cobra.Command{
		Use:               "approve NAME",
		Short:             "Approve the pending proposal unchanged",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			by, err := who.name()
			if err != nil {
				return err
			}
			w, err := a.mustWait(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.decide(c.Context(), args[0], w.Round, workflows.UpdateApprove, workflows.Approval{By: by, Note: note})
		},
	}
	who.register(c)
	c.Flags().StringVar(&note, "note", "", "`TEXT` to keep with the decision")
	return c
}

// byFlag is --by: who decides.
type byFlag struct{ by string }

func (b *byFlag) register(c *cobra.Command) {
	c.Flags().StringVar(&b.by, "by", "", "`NAME` to record with the decision (default: the user of this machine)")
}

func (b *byFlag) name() (string, error) {
	if b.by != "" {
		return b.by, nil
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username, nil
	}
	if name := os.Getenv("USER"); name != "" {
		return name, nil
	}
	return "", fail(exitUsage, "this machine does not say who its user is; say who decides with --by NAME")
}

// mustWait is the proposal that waits; exit code 3 if none does.
func (a *app) mustWait(ctx context.Context, name string) (workflows.Waiting, error) {
	w, err := a.waiting(ctx, name)
	if err != nil {
		return workflows.Waiting{}, err
	}
	if w == nil {
		return workflows.Waiting{}, a.nothingWaits(ctx, name)
	}
	return *w, nil
}

// verdict is a decision that was taken, as it is printed.
type verdict struct {
	Name  string `json:"name"`
	Round int    `json:"round"`
	activities.Decided
}

// decide sends a decision to the round that waits, and returns when it is stored.
func (a *app) decide(ctx context.Context, name string, round int, update string, arg any) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	var d activities.Decided
	h, err := c.UpdateWorkflow(within, client.UpdateWorkflowOptions{
		WorkflowID: workflows.RoundID(name, round), UpdateName: update, Args: []any{arg},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(within, &d)
	}
	if err != nil {
		return a.undecided(ctx, within, name, err)
	}
	return a.emit(verdict{name, round, d}, func(w io.Writer) error {
		what := "the proposal is used as it is"
		switch d.Verdict {
		case experiment.VerdictEdited:
			what = "your curriculum is used"
		case experiment.VerdictRejected:
			what = "the last curriculum stays"
		}
		_, err := fmt.Fprintf(w, "%s by %s: in round %d of %s %s\n", d.Verdict, d.By, round+1, name, what)
		return err
	})
}

// undecided says why a decision was not taken.
func (a *app) undecided(ctx, within context.Context, name string, err error) error {
	if within.Err() != nil && ctx.Err() == nil {
		return fail(exitUnreachable, "no worker accepted the decision within %s; check whether %s still waits before deciding again: %s",
			decideWithin, name, a.command("design show "+name))
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return a.nothingWaits(ctx, name) // somebody else was quicker
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case ok && app.Type() == workflows.KindDecided:
		return fail(exitNotFound, "nothing waits for a decision in %s: %s", name, app.Message())
	case ok && app.Type() == activities.KindBadInput:
		return fail(exitUsage, "%s", app.Message())
	}
	return err
}
