package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/internal/experiment"
)

// heartbeat is how long a silent worker is believed to be alive. Activities beat
// every few seconds, whatever they do; a killed worker costs this long.
const heartbeat = 15 * time.Second

// wait is a kind of waiting: where the work is done and how long it may take.
type wait struct {
	queue string
	// limit bounds one attempt; zero takes the experiment's step_minutes.
	limit time.Duration
}

var (
	shortWork = wait{queue: QueueWork, limit: 5 * time.Minute} // bookkeeping: seconds
	cpuWork   = wait{queue: QueueWork}                         // generating, scoring, asking a model
	jobWork   = wait{queue: QueueJobs}                         // training: holds a device
)

// options are the activity options of a wait. Retries are bounded, and
// cancellation is waited for: an activity that is told to stop has stopped
// before the workflow goes on, so that nothing is left running.
func (w wait) options(limits experiment.LimitsSpec, summary string) workflow.ActivityOptions {
	limit := w.limit
	if limit == 0 {
		limit = time.Duration(limits.StepMinutes) * time.Minute
	}
	return workflow.ActivityOptions{
		TaskQueue:           w.queue,
		StartToCloseTimeout: limit,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    time.Minute,
			MaximumAttempts:    int32(limits.Attempts),
		},
	}
}
