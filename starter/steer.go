package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"floe/workflows"
)

// answerWithin is how long a workflow may take to answer: longer, and no worker
// is there that could.
const answerWithin = 10 * time.Second

// steerCmds are the verbs that people steer an experiment with.
func (a *app) steerCmds() []*cobra.Command {
	return []*cobra.Command{
		a.steerCmd(workflows.VerbPause, "Finish the running step and begin no other", `The step that runs is finished; then the experiment waits in state paused, for as
long as need be, and holds no worker.`),
		a.steerCmd(workflows.VerbResume, "Go on after a pause", `Has a paused experiment go on with the next step.`),
		a.steerCmd(workflows.VerbStop, "Finish the running round, report, and end", `The round that runs is finished; then the experiment ends in state stopped, with
its report. starter retry goes on from there.`),
		a.steerCmd(workflows.VerbSkip, "Go on without the step that failed", `After a failure: a design that failed leaves the curriculum as it is, a benchmark
is left out, a report stays as it was last written. Other steps are needed.`),
		a.steerCmd(workflows.VerbAbort, "Give up after a failure", `After a failure: the experiment ends in state failed, with the reason. What is
done is kept; starter retry begins again from there.`),
		a.cancelCmd(),
	}
}

func (a *app) steerCmd(verb, short, long string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.steer(c.Context(), args[0], workflows.Control{Verb: verb, Reason: reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads of it later")
	return c
}

func (a *app) steer(ctx context.Context, name string, order workflows.Control) error {
	if _, err := a.alive(ctx, name); err != nil {
		return err
	}
	status, err := update(ctx, a.temporal, name, workflows.UpdateSteer, order)
	if silent := (*silentError)(nil); errors.As(err, &silent) {
		// The server keeps a signal until a worker is there.
		if err := a.temporal.SignalWorkflow(ctx, workflows.ExperimentID(name), "", workflows.SignalControl, order); err != nil {
			return err
		}
		a.say("no worker answers; %s is told to %s when one is there", name, order.Verb)
		return nil
	}
	if err != nil {
		return err
	}
	return a.emitAnswer(status)
}

// alive finds an experiment that runs.
func (a *app) alive(ctx context.Context, name string) (client.WorkflowRun, error) {
	run, err := a.existing(ctx, name)
	if err != nil {
		return nil, err
	}
	d, err := describe(ctx, a.temporal, run.GetID())
	if err != nil {
		return nil, err
	}
	if d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, fail(exitFailed, "experiment %s is not running: %s", name, listedOf(d.WorkflowExecutionInfo).State)
	}
	return run, nil
}

// silentError says that no worker answered.
type silentError struct{ name string }

func (e *silentError) Error() string {
	return fmt.Sprintf("no worker answers for %s within %s; start one with: worker (or starter dev)", e.name, answerWithin)
}

// update asks a workflow to do something, and waits for its answer.
func update(ctx context.Context, c client.Client, name, verb string, arg any) (workflows.Status, error) {
	var status workflows.Status
	wait, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	h, err := c.UpdateWorkflow(wait, client.UpdateWorkflowOptions{
		WorkflowID: workflows.ExperimentID(name), UpdateName: verb, Args: []any{arg},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(wait, &status)
	}
	var refused *temporal.ApplicationError
	var late *serviceerror.DeadlineExceeded
	switch {
	case err == nil:
		return status, nil
	case errors.As(err, &refused):
		return status, fail(exitFailed, "%s", refused.Message())
	case ctx.Err() == nil && (wait.Err() != nil || errors.As(err, &late)):
		return status, &codedError{exitUnreachable, &silentError{name}}
	}
	return status, err
}

// emitAnswer shows how the experiment stands now.
func (a *app) emitAnswer(s workflows.Status) error {
	return a.emit(s, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, s.Line())
		return err
	})
}
