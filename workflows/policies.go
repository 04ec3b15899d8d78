package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/internal/designer"
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
	// start bounds the wait for a worker; zero does not.
	start time.Duration
	// all bounds all attempts together; zero does not.
	all time.Duration
}

var (
	shortWork = wait{queue: QueueWork, limit: 5 * time.Minute} // bookkeeping: seconds
	cpuWork   = wait{queue: QueueWork}                         // generating, scoring, asking a model
	jobWork   = wait{queue: QueueJobs}                         // training: holds a device
	watchWork = wait{queue: QueueWatch}                        // watching what works elsewhere: costs nothing here
	// lastWork is the report of what failed or was cancelled: it must not keep it from ending.
	lastWork = wait{queue: QueueWork, limit: 5 * time.Minute, all: 5 * time.Minute}
)

// trainWait is where a training of a spec waits.
func trainWait(s experiment.Spec) wait {
	if s.Trainer.TrainsModel() && s.Job.Backend != "process" {
		return watchWork
	}
	return jobWork
}

// stopWait is where a training that waited so is ended: never behind those that wait
// for the device it holds.
func stopWait(w wait) wait {
	if w.queue == QueueJobs {
		w.queue = QueueStops
	}
	w.start = stopStart
	return w
}

// policyWait is where the policy of a spec is asked: a language model that a worker
// serves holds a device, one that somebody else serves none.
func policyWait(s experiment.Spec) wait {
	switch {
	case !s.Trainer.TrainsModel():
		return cpuWork
	case s.Serve.Kind == experiment.ServeExternal:
		return watchWork
	}
	return jobWork
}

// designWait is where the designer of a spec is asked.
func designWait(s experiment.Spec) wait {
	if kind, ok := designer.KindOf(s.Designer.Kind); ok && kind.Serves {
		return policyWait(s)
	}
	return cpuWork
}

// on is the same wait on one machine, for work that lives there.
func (w wait) on(host string) wait {
	w.queue = QueueOf(host)
	return w
}

// options are the activity options of a wait. The worker bounds the attempts
// (activities.Retries), since Temporal would count stopped workers and services that are
// away like failures of the work. Cancellation is waited for: an activity that is
// cancelled has stopped before the workflow goes on, so that nothing is left running.
func (w wait) options(limits experiment.LimitsSpec, summary string) workflow.ActivityOptions {
	limit := w.limit
	if limit == 0 {
		limit = time.Duration(limits.StepMinutes) * time.Minute
	}
	return workflow.ActivityOptions{
		TaskQueue:              w.queue,
		ScheduleToStartTimeout: w.start,
		StartToCloseTimeout:    limit,
		ScheduleToCloseTimeout: w.all,
		HeartbeatTimeout:       heartbeat,
		WaitForCancellation:    true,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    time.Minute,
		},
	}
}
