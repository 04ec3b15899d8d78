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
	// QueueWatch is for work that is done elsewhere and only watched: many at a time.
	QueueWatch = "floe-watch"
	// QueueStops is for ending trainings that hold a worker's device: they must not
	// wait behind those that wait for it.
	QueueStops = "floe-stops"
)

// QueueOf is the task queue of one machine's workers, for jobs that are known there
// alone.
func QueueOf(host string) string { return QueueJobs + "@" + host }

// Names under which others reach a running experiment.
const (
	QueryStatus    = "status"
	SignalProgress = "progress"
	// SignalControl steers an experiment with a Control; it is kept by the server
	// while no worker is there. The updates do the same with an answer.
	SignalControl = "control"
	// SignalTags sets an experiment's tags, all of them.
	SignalTags  = "tags"
	UpdateRetry = "retry" // takes a Retry
	UpdateSteer = "steer" // takes a Control
	// SignalHold tells a round whether it may begin another step; SignalHeld is
	// its answer, a Held, when it waits or goes on.
	SignalHold = "hold"
	SignalHeld = "held"
	// SignalCell goes from an experiment to the sweep that it is a cell of, with
	// an activities.CellState, on each change of its state.
	SignalCell = "cell"
	// SignalWaiting tells an experiment that its round waits for a person, or no
	// longer does; SignalRelease tells the round that nobody needs to decide any more.
	SignalWaiting = "waiting"
	SignalRelease = "release"
)

// States of an experiment, as in the search attribute FloeState.
const (
	StatePreparing    = "preparing"
	StateRunning      = "running"
	StateWaiting      = "waiting for approval" // of a person; costs nothing
	StateOutage       = "waiting for service"  // that does not answer; it goes on by itself
	StateBenchmarking = "benchmarking"
	StateDone         = "done"
	StateUndesigned   = "done without designs" // ran to its end, but no design of its designer could be used
	StateAttention    = "needs attention"      // a step failed for good; somebody decides
	StatePaused       = "paused"
	StateStopped      = "stopped" // ended early on purpose, with its report
	StateCancelling   = "cancelling"
	StateFailed       = "failed"
	StateCancelled    = "cancelled"
)

// Finished says whether an experiment ran to its end.
func Finished(state string) bool { return state == StateDone || state == StateUndesigned }

// Search attributes. The server must know them: devstack registers them, and
// the worker tries to at start.
var (
	AttrExperiment = temporal.NewSearchAttributeKeyKeyword("FloeExperiment")
	AttrVariant    = temporal.NewSearchAttributeKeyKeyword("FloeVariant")
	AttrDesigner   = temporal.NewSearchAttributeKeyKeyword("FloeDesigner")
	AttrState      = temporal.NewSearchAttributeKeyKeyword("FloeState")
	AttrRound      = temporal.NewSearchAttributeKeyInt64("FloeRound")
	AttrValidRate  = temporal.NewSearchAttributeKeyFloat64("FloeValidRate")
	AttrSweep      = temporal.NewSearchAttributeKeyKeyword("FloeSweep")
	AttrArm        = temporal.NewSearchAttributeKeyKeyword("FloeArm")
	AttrTags       = temporal.NewSearchAttributeKeyKeywordList("FloeTags")
)

// SearchAttributes lists them all.
var SearchAttributes = []temporal.SearchAttributeKey{
	AttrExperiment, AttrVariant, AttrDesigner, AttrState, AttrRound, AttrValidRate,
	AttrSweep, AttrArm, AttrTags,
}

// MemoSpec is the workflow memo that holds the effective spec.
const MemoSpec = "floe_spec"

const (
	experimentPrefix = "exp-"
	sweepPrefix      = "sweep-"
)

// ExperimentID is the workflow ID of an experiment: one name, one workflow.
func ExperimentID(name string) string { return experimentPrefix + name }

// RoundID is the workflow ID of one round.
func RoundID(name string, round int) string {
	return experimentPrefix + name + "-round-" + strconv.Itoa(round)
}

// SweepID is the workflow ID of a sweep.
func SweepID(name string) string { return sweepPrefix + name }

// ExperimentName is the name behind an experiment's workflow ID.
func ExperimentName(workflowID string) string {
	return workflowID[min(len(experimentPrefix), len(workflowID)):]
}
