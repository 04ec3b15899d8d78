package workflows

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
)

// round runs one round and takes in what it found.
func (e *arm) round(ctx workflow.Context, round int) error {
	e.where.Round = round
	e.status.Progress = activities.Progress{Round: round, Step: "starting"}
	e.status.show(ctx)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrRound.ValueSet(int64(round))); err != nil {
		return err
	}
	var out RoundResult
	if err := e.try(ctx, "round", func(ctx workflow.Context) (err error) {
		out, err = e.play(ctx, round)
		return err
	}); err != nil {
		return err
	}
	e.skip = ""
	e.refs.Rounds = append(e.refs.Rounds, out.Refs)
	e.status.Done = append(e.status.Done, RoundFigures{round, out.Rates, out.Outcome})
	e.status.Progress = activities.Progress{Round: round} // its last step has ended
	e.status.show(ctx)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrValidRate.ValueSet(out.Rates.ValidRate())); err != nil {
		return err
	}
	e.tellSweep(ctx)
	return e.publish(ctx, StateRunning)
}

// How long an experiment waits for a round that an ended run of the same
// experiment left behind, and how often it looks.
const (
	leftoverLook = 2 * time.Second
	leftoverWait = 3 * time.Minute
)

// play runs a round as a child workflow, so that no history grows with the
// number of rounds and each round is a page of its own in the UI. A run of this
// experiment that was terminated a moment ago may have left the same round
// behind, on its way to its end: only one of the two may be at work, so the old
// one is asked to end and waited for.
func (e *arm) play(ctx workflow.Context, round int) (RoundResult, error) {
	e.child = RoundID(e.spec.Name, round)
	defer func() { e.child = "" }()
	began := workflow.Now(ctx)
	for {
		var out RoundResult
		err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, e.childOptions(round)), Round, RoundInput{
			Where: e.where, Spec: e.spec, Refs: e.refs, Again: e.again(round), SkipDesign: e.skip,
		}).Get(ctx, &out)
		if _, old := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); !old || !e.waits {
			return out, err
		}
		if workflow.Now(ctx).Sub(began) > leftoverWait {
			return out, fmt.Errorf("an earlier run's %s does not end within %s; terminate it in the Temporal UI", e.child, leftoverWait)
		}
		e.status.Progress.Note = "waits for an earlier run's round to end"
		e.status.show(ctx)
		// That it has ended meanwhile is no error.
		_ = workflow.RequestCancelExternalWorkflow(ctx, e.child, "").Get(ctx, nil)
		if err := workflow.Sleep(ctx, leftoverLook); err != nil {
			return out, err
		}
	}
}

func (e *arm) childOptions(round int) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            RoundID(e.spec.Name, round),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         roundOf(round, e.spec.Rounds),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			AttrExperiment.ValueSet(e.spec.Name),
			AttrVariant.ValueSet(e.spec.Designer.Context),
			AttrDesigner.ValueSet(e.spec.Designer.Kind),
			AttrRound.ValueSet(int64(round)),
		),
	}
}

// again counts how often each step of a round is to be made anew.
func (e *arm) again(round int) []string {
	var steps []string
	for _, r := range e.redo {
		if r.Round == round {
			steps = append(steps, r.Step)
		}
	}
	return steps
}
