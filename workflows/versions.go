package workflows

import "go.temporal.io/sdk/workflow"

// Changes of what workflows command, in the order they were made. A run that
// was started before a change replays without it; a constant is never reused,
// and goes only when no history that needs it is left (docs/adr/0010).
const (
	// changeAttention: a step that failed for good leaves the experiment waiting
	// instead of ending it; each change of state is told to the sweep; a round
	// left over from an ended run is waited for.
	changeAttention = "attention"
	// changeUndesigned: an experiment none of whose designs could be used says so in its
	// last state.
	changeUndesigned = "undesigned"
)

// changed says whether this run knows of a change.
func changed(ctx workflow.Context, id string) bool {
	return workflow.GetVersion(ctx, id, workflow.DefaultVersion, 1) > workflow.DefaultVersion
}
