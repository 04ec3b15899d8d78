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
	"floe/internal/plan"
)

var errStopping = errors.New("worker is stopping")

const (
	beatEvery = time.Second     // heartbeats go on through silent phases
	tellEvery = 5 * time.Second // least time between two signals to the workflow
	tellSteps = 20              // most signals per step, so that histories stay small
)

// work computes the files of a step that this attempt holds.
type work func(ctx context.Context, h *artifact.Hold, report func(done, total int, note string)) ([]artifact.Body, error)

// step does keyed work once. Inputs are all that determines the result; where
// the manifest of their digest exists the work is done already, whoever did it,
// and where another attempt is at it this one waits for that one's result.
func (a *Activities) step(ctx context.Context, where Where, spec experiment.Spec, kind string, inputs any, do work) (artifact.Manifest, Done, error) {
	ctx, b := a.begin(ctx, where, kind)
	defer b.end()
	m, reused, err := a.once(ctx, where, spec, kind, inputs, do, b.report)
	if err != nil {
		return artifact.Manifest{}, Done{}, classify(ctx, err)
	}
	return m, Done{ID: m.ID, Seconds: m.Finished.Sub(m.Started).Seconds(), Reused: reused}, nil
}

func (a *Activities) once(ctx context.Context, where Where, spec experiment.Spec, kind string, inputs any, do work, report func(int, int, string)) (artifact.Manifest, bool, error) {
	step, err := plan.Identify(spec, kind, inputs, where.Again)
	if err != nil {
		return artifact.Manifest{}, false, badInput(err)
	}
	h, m, done, err := a.Steps.Claim(ctx, step.ID, a.claimant(ctx, where), waiting(report))
	if err != nil || done {
		return m, done, err
	}
	return held(h, step, do, report) //nolint:contextcheck // the hold's context is ctx, and ends also when the hold is lost
}

// held does a step that this attempt holds, and gives it up if it cannot.
func held(h *artifact.Hold, step plan.Identity, do work, report func(int, int, string)) (m artifact.Manifest, reused bool, err error) {
	defer h.Release()
	ctx := h.Context()
	report(0, 0, "")
	started := time.Now().UTC()
	files, err := do(ctx, h, report)
	if err == nil {
		m, err = h.Commit(ctx, step.Inputs, started, files)
	}
	if err != nil && errors.Is(context.Cause(ctx), artifact.ErrLost) {
		err = artifact.ErrLost // not the end of the context that came of it
	}
	if err != nil {
		return artifact.Manifest{}, false, fmt.Errorf("%s: %w", step.ID, err)
	}
	return m, false, nil
}

// waiting tells whose work a step waits for.
func waiting(report func(int, int, string)) func(artifact.Lease) {
	since := time.Now()
	return func(l artifact.Lease) {
		report(0, 0, fmt.Sprintf("waits for %s, which does the same step on %s (round %d, %s), for %s",
			l.Owner.Experiment, l.Owner.Host, l.Owner.Round, l.Owner.Attempt, time.Since(since).Round(time.Second)))
	}
}

// claimant names this try. Tries of one activity follow each other: Temporal
// starts the next when it has given up the last.
func (a *Activities) claimant(ctx context.Context, where Where) artifact.Claimant {
	info := activity.GetInfo(ctx)
	work := info.WorkflowExecution.RunID + "-" + info.ActivityID
	return artifact.Claimant{
		Experiment: where.Name, Round: where.Round, Work: work, Try: int(info.Attempt), Host: a.Steps.Host,
		Attempt: fmt.Sprintf("%s-a%d", work, info.Attempt),
	}
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
	if stillAway(b.ctx, p) {
		return // the experiment shows what is waited for
	}
	if time.Since(b.toldAt) < tellEvery || percent < b.told+100/tellSteps {
		return
	}
	b.toldAt, b.told = time.Now(), percent
	if err := b.a.Tell(b.ctx, b.where.Workflow, p); err != nil && b.ctx.Err() == nil {
		activity.GetLogger(b.ctx).Warn("cannot report progress", "error", err)
	}
}

func (b *beat) end() {
	close(b.done)
	b.wg.Wait()
	b.cancel(nil)
}
