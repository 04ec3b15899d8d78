package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// poller is a worker of one task queue.
type poller struct {
	worker.Worker

	queue string
}

// pollUntil runs the pollers until the context ends or one of them fails. The last
// one takes workflows: it begins when the others are known.
func pollUntil(ctx context.Context, c client.Client, s settings, log *slog.Logger, pollers []poller) (int, error) {
	for i, p := range pollers {
		if i == len(pollers)-1 {
			known(ctx, c, s, log, pollers[:i])
		}
		if err := p.Start(); err != nil {
			stopAll(pollers[:i])
			return exitFailed, fmt.Errorf("start polling: %w", err)
		}
	}
	<-ctx.Done()
	stopAll(pollers)
	return 0, nil
}

const (
	knownWithin = time.Minute
	knownLook   = 100 * time.Millisecond
)

// known waits until the server knows which queues this build serves. A workflow that
// is to stay with its build would have its first activities done by another until then.
func known(ctx context.Context, c client.Client, s settings, log *slog.Logger, pollers []poller) {
	if s.deployment == "" {
		return
	}
	build := c.WorkerDeploymentClient().GetHandle(s.deployment)
	var missing []string
	var err error
	for deadline := time.Now().Add(knownWithin); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(knownLook) {
		var d client.WorkerDeploymentVersionDescription
		d, err = build.DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: s.build})
		missing = missing[:0]
		for _, p := range pollers {
			served := func(q client.WorkerDeploymentTaskQueueInfo) bool {
				return q.Name == p.queue && q.Type == client.TaskQueueTypeActivity
			}
			if err != nil || !slices.ContainsFunc(d.Info.TaskQueuesInfos, served) {
				missing = append(missing, p.queue)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	if ctx.Err() == nil {
		log.Warn("the server does not know all task queues of this build yet", "missing", missing, "error", err)
	}
}

// stopAll stops them side by side: each waits for its activities to stop.
func stopAll(pollers []poller) {
	var all sync.WaitGroup
	for _, p := range pollers {
		all.Go(p.Stop)
	}
	all.Wait()
}
