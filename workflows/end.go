package workflows

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
)

// cancelling says what is still to come to an end.
func (e *arm) cancelling(ctx workflow.Context) {
	if e.status.ended() {
		return
	}
	if err := e.enter(ctx, StateCancelling); err != nil {
		workflow.GetLogger(ctx).Warn("state", "error", err)
	}
}

// end leaves a failed or cancelled experiment in a state that says so: in the
// search attributes, in the UI and in the report.
func (e *arm) end(ctx workflow.Context, cause error) error {
	var given *temporal.ApplicationError
	if errors.As(cause, &given) && given.Type() == KindAborted {
		cause = given // without what wraps it: the reason is to be read first
	}
	state := StateFailed
	cancelled := temporal.IsCanceledError(cause) || errors.Is(ctx.Err(), workflow.ErrCanceled)
	if cancelled {
		state = StateCancelled
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	e.status.State, e.status.Waiting = state, nil
	hear(ctx)
	e.status.Cause = fmt.Sprintf("%s %s: %s", e.spec.Name, state, e.why(cause, cancelled))
	workflow.SetCurrentDetails(ctx, e.status.details())
	// What could not be told must not hide why the experiment ended.
	_ = workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(state))
	in := activities.PublishInput{Where: e.where, Spec: e.spec, RunID: e.runID, State: state, Refs: e.refs}
	in.Operations = e.operations()
	if out, err := call(ctx, lastWork, e.spec.Limits, "publish the report", do.Publish, in); err != nil {
		workflow.GetLogger(ctx).Warn("the report of an ended experiment was not written", "error", err)
	} else {
		e.report, e.status.Report = out, out.URL
	}
	e.tellSweep(ctx)
	if cancelled && e.waits {
		return temporal.NewCanceledError(e.status.Cause)
	}
	return cause
}

// hear lets signals that came together with a cancellation be taken in first: they
// hold its reason.
func hear(ctx workflow.Context) {
	heard := false
	workflow.Go(ctx, func(workflow.Context) { heard = true }) // runs after those that wait for signals
	_ = workflow.Await(ctx, func() bool { return heard })     // nothing can end ctx
}

func (e *arm) why(cause error, cancelled bool) string {
	if app, ok := cause.(*temporal.ApplicationError); ok && app.Type() == KindAborted { //nolint:errorlint // end unwraps it
		return app.Message()
	}
	if !cancelled {
		return activities.DeepestMessage(cause)
	}
	if e.status.Reason != "" {
		return e.status.Reason
	}
	return "no reason given"
}

// enter moves to a state and tells the search attributes and the sweep.
func (e *arm) enter(ctx workflow.Context, state string) error {
	e.status.State = state
	e.status.show(ctx)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(state)); err != nil {
		return err
	}
	e.tellSweep(ctx)
	return nil
}

// sweepOf is the workflow ID of the sweep that an experiment is a cell of. One
// that somebody started again by hand has no parent any more.
func sweepOf(info *workflow.Info, in ExperimentInput) string {
	if p := info.ParentWorkflowExecution; p != nil && strings.HasPrefix(p.ID, sweepPrefix) {
		return p.ID
	}
	if in.Sweep != "" {
		return SweepID(in.Sweep)
	}
	return ""
}

// tellSweep tells the sweep how this cell stands. A sweep that has ended need
// not know.
func (e *arm) tellSweep(ctx workflow.Context) {
	if e.sweep == "" || !e.waits {
		return
	}
	cell := activities.CellState{Name: e.spec.Name, State: e.status.State, Cause: e.status.Cause, Round: e.status.Progress.Round, Validated: len(e.status.Done)}
	if e.status.Waits() {
		cell.Cause = e.status.Waiting.Reason
	}
	if e.status.Base != nil {
		start := e.base.ValidRate()
		cell.Start = &start
	}
	if n := len(e.status.Done); n > 0 {
		rate := e.status.Done[n-1].Rates.ValidRate()
		cell.ValidRate = &rate
	} else if e.status.Base != nil {
		rate := e.base.ValidRate()
		cell.ValidRate = &rate
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	// Waited for: a signal on its way is lost when its sender ends.
	if err := workflow.SignalExternalWorkflow(ctx, e.sweep, "", SignalCell, cell).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("cannot notify the sweep", "sweep", e.sweep, "error", err)
	}
}
