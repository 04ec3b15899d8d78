package workflows

import (
	"strconv"

	"go.temporal.io/sdk/temporal"
)

// Task queues. CPU work is small and many; jobs are long and few, one at a time
// on a worker, so that two trainings never share a device.
const (
	QueueWork = "floe"
	QueueJobs = "floe-jobs"
)

// Names under which others reach a running experiment.
const (
	QueryStatus    = "status"
	SignalProgress = "progress"
	SignalWaiting  = "waiting" // a round waits for a person, or no longer does
)

// States of an experiment, as in the search attribute FloeState.
const (
	StatePreparing    = "preparing"
	StateRunning      = "running"
	StateWaiting      = "waiting for approval" // of a person; costs nothing
	StateBenchmarking = "benchmarking"
	StateDone         = "done"
	StateFailed       = "failed"
	StateCancelled    = "cancelled"
)

// Search attributes. The server must know them: devstack registers them, and
// the worker tries to at start.
var (
	AttrExperiment = temporal.NewSearchAttributeKeyKeyword("FloeExperiment")
	AttrVariant    = temporal.NewSearchAttributeKeyKeyword("FloeVariant")
	AttrDesigner   = temporal.NewSearchAttributeKeyKeyword("FloeDesigner")
	AttrState      = temporal.NewSearchAttributeKeyKeyword("FloeState")
	AttrRound      = temporal.NewSearchAttributeKeyInt64("FloeRound")
	AttrValidRate  = temporal.NewSearchAttributeKeyFloat64("FloeValidRate")
)

// SearchAttributes lists them all.
var SearchAttributes = []temporal.SearchAttributeKey{
	AttrExperiment, AttrVariant, AttrDesigner, AttrState, AttrRound, AttrValidRate,
}

const experimentPrefix = "exp-"

// ExperimentID is the workflow ID of an experiment: one name, one workflow.
func ExperimentID(name string) string { return experimentPrefix + name }

// RoundID is the workflow ID of one round.
func RoundID(name string, round int) string {
	return experimentPrefix + name + "-round-" + strconv.Itoa(round)
}

// ExperimentName is the name behind an experiment's workflow ID.
func ExperimentName(workflowID string) string {
	return workflowID[min(len(experimentPrefix), len(workflowID)):]
}
