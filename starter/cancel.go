package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/workflows"
)

func (a *app) cancelCmd() *cobra.Command {
	var reason string
	var detach bool
	c := &cobra.Command{
		Use:   "cancel NAME",
		Short: "Cancel an experiment and wait until its work has stopped",
		Long: `Cancels an experiment: asks the running step to stop and returns once it has. Until
then the state is cancelling, and the command shows what is still running. Completed
steps are kept; starter retry, or running the same file again, resumes. Without a
worker nothing runs, and the experiment ends as soon as one starts.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.cancel(c.Context(), args[0], reason, detach)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`WHY`, kept in the log")
	c.Flags().BoolVar(&detach, "detach", false, "do not wait")
	return c
}

func (a *app) cancel(ctx context.Context, name, reason string, detach bool) error {
	run, err := a.alive(ctx, name)
	if ended := (*endedError)(nil); errors.As(err, &ended) && ended.state == workflows.StateCancelled {
		return a.emitResult(result{name, ended.state, name + " is cancelled already"})
	}
	if err != nil {
		return err
	}
	if err := a.orderCancel(ctx, run, reason); err != nil {
		return err
	}
	if detach {
		return a.emitResult(result{name, workflows.StateCancelling, "cancelling " + name})
	}
	return a.untilCancelled(ctx, name, run)
}

// orderCancel tells the reason first, and then the server: it is the server that
// makes the cancellation visible where no worker is.
func (a *app) orderCancel(ctx context.Context, run client.WorkflowRun, reason string) error {
	order := workflows.Control{Verb: workflows.VerbCancel, Reason: reason}
	if err := a.temporal.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), workflows.SignalControl, order); err != nil {
		return err
	}
	_, err := a.temporal.WorkflowService().RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace: a.settings.Namespace(), Reason: reason,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	return err
}

// untilCancelled waits until nothing is left, and says what is.
func (a *app) untilCancelled(ctx context.Context, name string, run client.WorkflowRun) error {
	ended := make(chan error, 1)
	go func() { ended <- run.Get(ctx, nil) }()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	said := ""
	for {
		left, err := a.left(ctx, name)
		if line := left.String(); err == nil && line != said && line != "" && !left.nobody {
			said = line
			a.say("cancelling %s: %s", name, line)
		}
		if err == nil && left.nobody {
			return a.emitResult(result{name, workflows.StateCancelling, fmt.Sprintf("%s: cancelling; %s", name, left)})
		}
		select {
		case err := <-ended:
			if err != nil && ctx.Err() != nil {
				return err
			}
			state, err := a.stateOf(ctx, a.temporal, name)
			if err != nil {
				return err
			}
			return a.emitResult(result{name, state, name + ": " + state})
		case <-tick.C:
		}
	}
}

// remains is what an experiment that is being cancelled still waits for.
type remains struct {
	steps  []string
	nobody bool // no worker is there, so nothing runs
}

// String is a sentence, or nothing if nothing is known to be left.
func (r remains) String() string {
	switch {
	case r.nobody:
		return "no worker runs, so nothing does; it ends as soon as one starts"
	case len(r.steps) == 0:
		return ""
	}
	return "waits for " + strings.Join(r.steps, " and ")
}

// left asks the server what still runs, and where.
func (a *app) left(ctx context.Context, name string) (remains, error) {
	var r remains
	ids, err := a.executions(ctx, name, "ExecutionStatus = 'Running'")
	if err != nil {
		return r, err
	}
	for _, id := range ids {
		d, err := describe(ctx, a.temporal, id)
		if err != nil {
			return r, err
		}
		for _, p := range d.PendingActivities {
			where := "not begun"
			if p.State == enumspb.PENDING_ACTIVITY_STATE_STARTED || p.State == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED {
				where = "on worker " + p.LastWorkerIdentity
			}
			r.steps = append(r.steps, fmt.Sprintf("%s, attempt %d, %s", activities.StepOf(p.ActivityType.GetName(), nil), p.Attempt, where))
		}
	}
	polled, err := a.polled(ctx)
	r.nobody = err == nil && !polled
	return r, nil
}

// polled says whether any worker asks for workflow tasks.
func (a *app) polled(ctx context.Context) (bool, error) {
	d, err := a.temporal.DescribeTaskQueue(ctx, workflows.QueueWork, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return false, err
	}
	for _, p := range d.Pollers {
		if time.Since(p.LastAccessTime.AsTime()) < pollerGone {
			return true, nil
		}
	}
	return false, nil
}

// pollerGone is the silence after which a worker counts as gone; one that is
// there asks again at least once a minute.
const pollerGone = 75 * time.Second

// executions are the workflow IDs of an experiment and its rounds.
func (a *app) executions(ctx context.Context, name, filter string) ([]string, error) {
	q := fmt.Sprintf("FloeExperiment = '%s'", name)
	if filter != "" {
		q += " AND " + filter
	}
	all, err := a.visible(ctx, q)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, e.Execution.WorkflowId)
	}
	return ids, nil
}
