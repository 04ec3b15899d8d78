package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/artifact"
	designers "floe/internal/designer/all"
	"floe/internal/endpoint"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/job"
	backends "floe/internal/job/backend/all"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
	"floe/internal/serve/pool"
	"floe/internal/version"
	"floe/workflows"
)

// stopTimeout is how long running activities get to stop when the worker does.
const stopTimeout = 20 * time.Second

// heartbeatThrottle lets progress reach the server often enough for a live view.
const heartbeatThrottle = time.Second

// stops is how many trainings a worker with a device ends at the same time.
const stops = 4

// wire is the only list of adapters.
func wire(c client.Client, store artifact.Store, directory endpoint.Directory, s settings, log *slog.Logger) (*activities.Activities, *pool.Pool, error) {
	build := provenance()
	jobs, known := pool.Folders(s.folder)
	servers, err := process.New(process.Settings{Root: jobs})
	if err != nil {
		return nil, nil, err
	}
	models := pool.New(pool.Settings{
		Local:     serve.Local{Jobs: servers, Root: known},
		Directory: directory, Exclusive: s.jobs == 1, Log: log,
	})
	var device func(context.Context) ([]string, error)
	if s.jobs == 1 {
		own, err := process.New(process.Settings{Root: backends.ProcessRoot(s.folder)})
		if err != nil {
			return nil, nil, err
		}
		device = own.Live
	}
	return &activities.Activities{
		Device: device,
		Jobs: func(spec experiment.Spec) (job.Backend, error) {
			return backends.Open(*spec.Job, spec.Trainer.Kind, s.folder)
		},
		Models: models, Asker: designers.Served, Folder: s.folder, Host: s.host, JobPoll: s.haste.jobPoll,
		Steps:       artifact.Steps{Store: store, Version: build.Version, Host: build.Host, LeaseFor: s.haste.lease, Log: log},
		Environment: all.Open,
		Designer:    designers.With(directory),
		Tell: func(ctx context.Context, id string, p activities.Progress) error {
			return c.SignalWorkflow(ctx, id, "", workflows.SignalProgress, p)
		},
		Build: build,
	}, models, nil
}

func provenance() experiment.Provenance {
	v := version.Get()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return experiment.Provenance{
		Version: v.Version, Commit: v.Commit, Dirty: v.Dirty, GoVersion: v.Go, Modules: v.Modules,
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Host: host, CPUs: runtime.NumCPU(),
	}
}

// identity is how this worker is called: in logs, in failures and in the
// Temporal UI.
func identity(host string) string { return fmt.Sprintf("%d@%s", os.Getpid(), host) }

// deployment has workflows stay with the build that started them, if that was
// asked for. Without it, workers of all builds share all work, and stored
// histories and versions keep that safe.
func deployment(s settings) worker.DeploymentOptions {
	if s.deployment == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: s.deployment, BuildID: s.build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

// workers makes one poller per queue, and one for workflows, which is the last.
// Jobs hold a device: few at a time, and
// never in the way of the small work; what only this machine can go on with has a
// queue of its own. Watching costs nothing, and neither does ending what holds a
// device: there is always a place for it.
func workers(c client.Client, acts *activities.Activities, s settings) []poller {
	base := worker.Options{
		WorkerStopTimeout:                stopTimeout,
		MaxHeartbeatThrottleInterval:     heartbeatThrottle,
		DefaultHeartbeatThrottleInterval: heartbeatThrottle,
		// A machine that trains on all cores may starve a workflow task for a while.
		DeadlockDetectionTimeout: 10 * time.Second,
		Identity:                 identity(acts.Build.Host),
		Interceptors: append(s.haste.interceptors(),
			&activities.Retries{Tell: acts.Tell},
			&activities.Recorder{Steps: acts.Steps, Worker: identity(acts.Build.Host)}),
		DeploymentOptions: deployment(s),
	}
	var all []poller
	for _, q := range []struct {
		name string
		most int
	}{ // a queue that no place is left for is not polled
		{workflows.QueueWork, s.work},
		{workflows.QueueJobs, s.jobs},
		{workflows.QueueOf(s.host), s.jobs + min(s.jobs, stops)},
		{workflows.QueueStops, min(s.jobs, 1) * stops},
		{workflows.QueueWatch, s.watch},
	} {
		if q.most == 0 {
			continue
		}
		o := base
		o.MaxConcurrentActivityExecutionSize = q.most
		o.DisableWorkflowWorker = true
		w := worker.New(c, q.name, o)
		w.RegisterActivity(acts)
		if q.name == workflows.QueueWork {
			w.RegisterActivity(&activities.Sweeps{Steps: acts.Steps, Client: c})
		}
		all = append(all, poller{w, q.name})
	}
	base.LocalActivityWorkerOnly = true // of activities it leaves all to the others
	story := worker.New(c, workflows.QueueWork, base)
	workflows.Register(story)
	return append(all, poller{story, workflows.QueueWork})
}
