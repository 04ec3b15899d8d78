package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/workflows"
)

// Times of following a run.
const (
	pollEvery = 500 * time.Millisecond
	queryWait = 5 * time.Second
	silence   = 24 * time.Hour // of the server, before following is given up: as limits.outage_minutes
)

// follow shows a run live until it ends, or until it needs attention. Its error
// is the run's, or says what to decide.
func (a *app) follow(ctx context.Context, c client.Client, run client.WorkflowRun) error {
	view := newView(a.err, a.color(a.err))
	name := workflows.ExperimentName(run.GetID())
	view.decide = append([]string{a.command("design show " + name)}, a.decideWith(name)...)
	defer view.close()
	ended := make(chan error, 1)
	waiting, over := context.WithCancel(ctx)
	defer over() // before the connection closes, which would look like trouble
	go func() { ended <- await(waiting, run, view) }()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if status, e := query(ctx, c, run); e == nil {
				view.show(status)
			}
			if err != nil && ctx.Err() == nil {
				return a.ended(run, err)
			}
			return err
		case <-tick.C:
			status, err := snapshot(ctx, c, run)
			if ctx.Err() != nil {
				continue
			}
			if err != nil {
				view.waiting(err)
				continue
			}
			view.show(status)
			if status.State == workflows.StateAttention {
				return fail(exitFailed, "%s", status.Cause)
			}
		}
	}
}

// await waits for the end of a run. A server that goes away for a while is
// waited for: the run is in its database, not in its memory.
func await(ctx context.Context, run client.WorkflowRun, view *view) error {
	var since time.Time
	for {
		err := run.Get(ctx, nil)
		var ended *temporal.WorkflowExecutionError
		if err == nil || ctx.Err() != nil || errors.As(err, &ended) {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) > silence {
			return err
		}
		view.waiting(err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended says why a run did not succeed, deepest cause first.
func (a *app) ended(run client.WorkflowRun, err error) error {
	name := workflows.ExperimentName(run.GetID())
	if temporal.IsCanceledError(err) {
		return fail(exitFailed, "experiment %s was cancelled; to resume: %s", name, a.command("retry "+name))
	}
	return fail(exitFailed, "experiment %s failed: %s\ncompleted steps are kept; once the cause is fixed: %s", name, cause(err), a.command("retry "+name))
}

// cause says in one sentence which step of which round failed and why, without
// the scaffolding of Temporal's chain of errors.
func cause(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == workflows.KindAborted {
		return app.Message() // with the reason and the cause
	}
	where := ""
	if child, ok := errors.AsType[*temporal.ChildWorkflowExecutionError](err); ok {
		if _, round, ok := strings.Cut(child.WorkflowID(), "-round-"); ok {
			where = "round " + round + ", "
		}
	}
	if act, ok := errors.AsType[*temporal.ActivityError](err); ok {
		return where + activities.StepOf(act.ActivityType().GetName(), nil) + ": " + activities.DeepestMessage(act)
	}
	return where + activities.DeepestMessage(err)
}

// query asks the workflow itself.
func query(ctx context.Context, c client.Client, run client.WorkflowRun) (workflows.Status, error) {
	var s workflows.Status
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	v, err := c.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryStatus)
	if err != nil {
		return s, err
	}
	return s, v.Get(&s)
}

// snapshot is the status with the freshest progress: that of the heartbeats of
// the activities that are running now, in the experiment or in its round.
func snapshot(ctx context.Context, c client.Client, run client.WorkflowRun) (workflows.Status, error) {
	s, err := query(ctx, c, run)
	if err != nil {
		return s, err
	}
	ids := []string{run.GetID()}
	if s.State == workflows.StateRunning {
		ids = append(ids, workflows.RoundID(s.Name, s.Progress.Round))
	}
	for _, id := range ids {
		if p, ok := heartbeat(ctx, c, id); ok {
			s.Progress = p
		}
	}
	return s, nil
}

func heartbeat(ctx context.Context, c client.Client, id string) (activities.Progress, bool) {
	var p activities.Progress
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	d, err := describe(ctx, c, id)
	if err != nil || d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return p, false
	}
	for _, act := range d.PendingActivities {
		if decode(act.HeartbeatDetails, &p) {
			if act.Attempt > 1 {
				p.Note += fmt.Sprintf(" (attempt %d)", act.Attempt)
			}
			return p, true
		}
	}
	return p, false
}

// describe is the server's view of the newest run of a workflow.
func describe(ctx context.Context, c client.Client, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := c.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, err
	}
	return d.RawResponse, nil
}

func decode(details *commonpb.Payloads, p *activities.Progress) bool {
	return details != nil && converter.GetDefaultDataConverter().FromPayloads(details, p) == nil
}
