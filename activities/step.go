package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/experiment"
)

var errStopping = errors.New("worker is stopping")

const (
	beatEvery = time.Second     // heartbeats go on through silent phases
	tellEvery = 5 * time.Second // least time between two signals to the workflow
	tellSteps = 20              // most signals per step, so that histories stay small
)

// work computes the files of a step that is not done yet.
type work func(ctx context.Context, id experiment.StepID, report func(done, total int, note string)) ([]artifact.Body, error)

// step does keyed work once. Inputs are all that determines the result; where
// the manifest of their digest exists the work is done already, whoever did it.
func (a *Activities) step(ctx context.Context, where Where, kind string, inputs any, do work) (artifact.Manifest, Done, error) {
	ctx, b := a.begin(ctx, where, kind)
	defer b.end()
	m, reused, err := a.once(ctx, kind, inputs, do, b.report)
	if err != nil {
		return artifact.Manifest{}, Done{}, classify(ctx, err)
	}
	return m, Done{ID: m.ID, Seconds: m.Finished.Sub(m.Started).Seconds(), Reused: reused}, nil
}

func (a *Activities) once(ctx context.Context, kind string, inputs any, do work, report func(int, int, string)) (artifact.Manifest, bool, error) {
	id, err := experiment.NewStepID(kind, inputs)
	if err != nil {
		return artifact.Manifest{}, false, badInput(err)
	}
	if m, ok, err := a.Steps.Find(ctx, id); err != nil || ok {
		return m, ok, err
	}
	started := time.Now().UTC()
	files, err := do(ctx, id, report)
	if err != nil {
		return artifact.Manifest{}, false, fmt.Errorf("%s: %w", id, err)
	}
	m, adopted, err := a.Steps.Commit(ctx, id, attempt(ctx), inputs, started, files)
	return m, adopted, err
}

// attempt names this try; no other try has the same name, so no two write the
// same place.
func attempt(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return fmt.Sprintf("%s-%s-a%d", info.WorkflowExecution.RunID, info.ActivityID, info.Attempt)
}

// beat keeps an activity's life signs going until it ends.
type beat struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	a        *Activities
	where    Where
	mu       sync.Mutex
	progress Progress
	toldAt   time.Time // of the last signal
	told     int       // percent at the last signal
	done     chan struct{}
	wg       sync.WaitGroup
}

// begin starts the life signs: a heartbeat every few seconds with the latest
// progress, and the end of the context when the worker is told to stop.
func (a *Activities) begin(ctx context.Context, where Where, step string) (context.Context, *beat) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &beat{
		ctx: ctx, cancel: cancel, a: a, where: where, done: make(chan struct{}), told: -100,
		progress: Progress{Round: where.Round, Step: step},
	}
	stopping := activity.GetWorkerStopChannel(ctx)
	b.wg.Go(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			activity.RecordHeartbeat(ctx, b.latest())
			select {
			case <-tick.C:
				b.tell()
			case <-stopping:
				cancel(errStopping)
				return
			case <-b.done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, b
}

func (b *beat) latest() Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.progress
}

// report takes in progress from the work. It is cheap: the work calls it often.
func (b *beat) report(done, total int, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress.Done, b.progress.Total, b.progress.Note = done, total, note
}

// tell signals the workflow, if there is news and the last signal is a while
// ago; a step of a second never does. A signal that does not arrive costs a line
// in the UI, not the work.
func (b *beat) tell() {
	p := b.latest()
	percent := 100 * p.Done / max(1, p.Total)
	if time.Since(b.toldAt) < tellEvery || percent < b.told+100/tellSteps {
		return
	}
	b.toldAt, b.told = time.Now(), percent
	if err := b.a.Tell(b.ctx, b.where.Workflow, p); err != nil && b.ctx.Err() == nil {
		activity.GetLogger(b.ctx).Warn("progress was not told", "error", err)
	}
}

func (b *beat) end() {
	close(b.done)
	b.wg.Wait()
	b.cancel(nil)
}
