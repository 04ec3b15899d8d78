package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Register makes the workflows known to a worker. On a worker that belongs to a
// deployment, experiments stay with the build that started them; a sweep, which
// outlives its cells, moves on to the newest (docs/adr/0010).
func Register(w worker.WorkflowRegistry) {
	w.RegisterWorkflow(Experiment)
	w.RegisterWorkflow(Round)
	w.RegisterWorkflowWithOptions(Sweep, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
}
