package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
		a.steerCmd(workflows.VerbPause, "Pause after the running step", `Finishes the running step; then the experiment waits in state paused, for any length
of time and without a worker.`),
		a.steerCmd(workflows.VerbResume, "Resume a paused experiment", `Resumes a paused experiment with its next step.`),
		a.steerCmd(workflows.VerbStop, "Stop after the running round and report", `Finishes the running round; then the experiment ends in state stopped, with its
report. starter retry resumes it.`),
		a.steerCmd(workflows.VerbSkip, "Continue without the failed step", `After a failure: skipping a design keeps the curriculum, skipping a benchmark omits
it, and skipping a report keeps the last one. Other steps cannot be skipped.`),
		a.steerCmd(workflows.VerbAbort, "Give up after a failure", `After a failure: ends the experiment in state failed, with the reason. Completed
steps are kept; starter retry resumes it.`),
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
	c.Flags().StringVar(&reason, "reason", "", "`WHY`, kept in the log")
	return c
}

// steer gives an order and says how the experiment stands once it has taken effect.
// An order that has been carried out already is no failure.
func (a *app) steer(ctx context.Context, name string, order workflows.Control) error {
	run, err := a.alive(ctx, name)
	if ended := (*endedError)(nil); errors.As(err, &ended) && ended.state == endOf[order.Verb] {
		return a.emitResult(result{name, ended.state, fmt.Sprintf("%s is %s already", name, ended.state)})
	}
	if err != nil {
		return err
	}
	status, err := update(ctx, a.temporal, name, workflows.UpdateSteer, order)
	if silent := (*silentError)(nil); errors.As(err, &silent) {
		// The server keeps a signal until a worker takes it.
		if err := a.temporal.SignalWorkflow(ctx, workflows.ExperimentID(name), "", workflows.SignalControl, order); err != nil {
			return err
		}
		return a.emitResult(result{Name: name, Text: fmt.Sprintf("no worker is running; %s will %s as soon as one starts", name, order.Verb)})
	}
	if err != nil {
		if now, silent := query(ctx, a.temporal, run); silent == nil && obeyed(order.Verb, now) {
			return a.emitAnswer(now)
		}
		return err
	}
	return a.emitAnswer(effect(ctx, a.temporal, run, status))
}

// endOf are the states in which verbs end an experiment.
var endOf = map[string]string{
	workflows.VerbStop: workflows.StateStopped, workflows.VerbAbort: workflows.StateFailed, workflows.VerbCancel: workflows.StateCancelled,
}

// obeyed says whether an experiment stands as a verb wants it to.
func obeyed(verb string, s workflows.Status) bool {
	if end, ends := endOf[verb]; ends && s.State == end {
		return true // its workflow is about to close
	}
	switch verb {
	case workflows.VerbPause:
		return s.Pausing || s.State == workflows.StatePaused
	case workflows.VerbResume:
		return !s.Pausing && slices.Contains([]string{workflows.StatePreparing, workflows.StateRunning, workflows.StateBenchmarking, workflows.StateOutage}, s.State)
	case workflows.VerbStop:
		return s.Stopping
	}
	return false
}

// effect waits until an experiment has left the state that an order ends: the
// workflow takes an update before it acts on it.
func effect(ctx context.Context, c client.Client, run client.WorkflowRun, s workflows.Status) workflows.Status {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for unsettled(s) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s
		}
		if now, err := query(ctx, c, run); err == nil {
			s = now
		}
	}
	return s
}

const settlePoll = 50 * time.Millisecond

// unsettled says whether a state is over as soon as the workflow gets to it.
func unsettled(s workflows.Status) bool {
	switch s.State {
	case workflows.StatePaused:
		return !s.Pausing || s.Stopping
	case workflows.StateAttention:
		return s.Failure == nil
	case workflows.StateWaiting:
		return s.Stopping
	}
	return false
}

// endedError says that an experiment does not run any more.
type endedError struct{ name, state string }

func (e *endedError) Error() string {
	return fmt.Sprintf("experiment %s is not running: %s", e.name, e.state)
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
		return nil, &endedError{name, listedOf(d.WorkflowExecutionInfo).State}
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
	return a.emit(versioned{"floe.status/v1", s}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, standing(s))
		return err
	})
}

// standing says in a sentence how an experiment stands.
func standing(s workflows.Status) string {
	if line := s.Line(); line != s.State && s.State != workflows.StateAttention {
		return fmt.Sprintf("%s: %s; %s", s.Name, s.State, line)
	}
	if s.Cause != "" {
		return s.Cause // names the experiment itself
	}
	return s.Name + ": " + s.State
}

// result is what a verb did, where there is no more to say than a sentence.
type result struct {
	Name  string `json:"name"`
	State string `json:"state,omitempty"`
	Text  string `json:"result"`
}

// emitResult says on stdout what a verb did.
func (a *app) emitResult(r result) error {
	return a.emit(versioned{"floe.result/v1", r}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, r.Text)
		return err
	})
}
