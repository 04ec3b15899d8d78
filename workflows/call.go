package workflows

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// do names the activities; it is never called.
var do *activities.Activities

// call runs one activity and waits for it. The summary is what the Temporal UI
// shows beside it.
func call[I, O any](ctx workflow.Context, w wait, limits experiment.LimitsSpec, summary string,
	activity func(context.Context, I) (O, error), in I,
) (O, error) {
	var out O
	ctx = workflow.WithActivityOptions(ctx, w.options(limits, summary))
	err := workflow.ExecuteActivity(ctx, activity, in).Get(ctx, &out)
	return out, err
}
