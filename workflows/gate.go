package workflows

import "go.temporal.io/sdk/workflow"

// Held is what a round tells its experiment when it begins to wait, and when it
// goes on.
type Held struct {
	Round int    `json:"round"`
	Step  string `json:"step"` // that is not begun
	On    bool   `json:"on"`
}

// gate lets a round begin a step unless its experiment is paused.
type gate struct{ closed bool }

func newGate(ctx workflow.Context) *gate {
	g := &gate{}
	every(ctx, SignalHold, func(_ workflow.Context, closed bool) { g.closed = closed })
	return g
}

// pass waits while the experiment is paused, and says so.
func (g *gate) pass(ctx workflow.Context, round int, step string) error {
	if !g.closed {
		return nil
	}
	workflow.SetCurrentDetails(ctx, "paused before "+step)
	tell(ctx, Held{Round: round, Step: step, On: true})
	if err := workflow.Await(ctx, func() bool { return !g.closed }); err != nil {
		return err
	}
	tell(ctx, Held{Round: round, Step: step})
	return nil
}

// tell tells the experiment that this round belongs to.
func tell(ctx workflow.Context, h Held) {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil {
		return
	}
	if err := workflow.SignalExternalWorkflow(ctx, parent.ID, parent.RunID, SignalHeld, h).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("cannot notify the experiment of the pause", "error", err)
	}
}
