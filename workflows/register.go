package workflows

import "go.temporal.io/sdk/worker"

// Register makes the workflows known to a worker.
func Register(w worker.WorkflowRegistry) {
	w.RegisterWorkflow(Experiment)
	w.RegisterWorkflow(Round)
	w.RegisterWorkflow(Sweep)
}
