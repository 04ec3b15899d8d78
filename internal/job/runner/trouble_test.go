package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/runner"
	"floe/internal/outage"
)

// away is a back end and a record that do not answer for a number of calls.
type away struct {
	job.Backend
	runner.Record
	calls atomic.Int32 // that fail; negative: all
}

var errAway = errors.New("connection refused")

func (a *away) fails() bool {
	n := a.calls.Load()
	return n < 0 || n > 0 && a.calls.Add(-1) >= 0
}

// Status implements job.Backend.
func (a *away) Status(ctx context.Context, name string) (job.Status, error) {
	if a.fails() {
		return job.Status{}, errAway
	}
	return a.Backend.Status(ctx, name)
}

// Load implements runner.Record.
func (a *away) Load(ctx context.Context) ([]byte, error) {
	if a.fails() {
		return nil, errAway
	}
	return a.Record.Load(ctx)
}

func TestABackEndThatIsAwayForAWhileIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	a := &away{Backend: w.Backend, Record: w.Record}
	w.Backend, w.Record = a, a
	a.calls.Store(2)
	end, done := w.background()
	defer end()
	w.until("trouble with the record", func() bool {
		return w.heard.heard("cannot read the record of attempts, and tries again: connection refused")
	})
	w.until("the job", func() bool { return w.heard.heard("1/3 trains") })
	a.calls.Store(3)
	w.until("trouble while watching", func() bool { return w.heard.heard("1/3 cannot ask for " + w.Request.Job + "-a1, and tries again") })
	w.letGo()
	if err := <-done; err != nil || len(w.starts()) != 1 {
		t.Errorf("got %v, starts %q; want success in one start", err, w.starts())
	}
}

func TestABackEndThatStaysAwayIsToldOfAndTheJobGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	a := &away{Backend: w.Backend, Record: w.Record}
	w.Backend, w.Record, w.Tolerance = a, a, 200*time.Millisecond
	end, done := w.background()
	defer end()
	w.until("the job", func() bool { return w.heard.heard("1/3 trains") })
	a.calls.Store(-1)
	err := <-done
	if _, ended := errors.AsType[*runner.EndedError](err); ended || !errors.Is(err, errAway) {
		t.Errorf("got %v; want the trouble, which is no end of the job", err)
	}
	a.calls.Store(0)
	if s := w.state(1); s != job.Running {
		t.Errorf("the job is %s; want it running", s)
	}
	w.letGo()
	if h := w.succeed(); outcomes(h) != "success" || len(w.starts()) != 1 {
		t.Errorf("outcomes %s, starts %q; want the next try to adopt the job", outcomes(h), w.starts())
	}
}

func TestAnOutageKeepsItsMarkAndADiskThatIsFullIsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.Put = func(context.Context) error { return fmt.Errorf("write spec.json: %w", syscall.ENOSPC) }
	if _, _, err := w.run(); outageOf(err) != "the disk of "+w.Request.Dir {
		t.Errorf("got %v; want an outage of the disk", err)
	}
	w = newWorld(t, "hold", "")
	away := &outages{Backend: w.Backend}
	w.Backend, w.Tolerance = away, 100*time.Millisecond
	end, done := w.background()
	defer end()
	w.until("the job", func() bool { return w.heard.heard("1/3 trains") })
	away.on.Store(true)
	if err := <-done; outageOf(err) != "Slurm" {
		t.Errorf("got %v; want an outage of Slurm", err)
	}
	away.on.Store(false)
	if s := w.state(1); s != job.Running {
		t.Errorf("the job is %s; want it running", s)
	}
	w.letGo()
	if h := w.succeed(); outcomes(h) != "success" {
		t.Errorf("outcomes %s; want the next watcher to adopt the job", outcomes(h))
	}
}

// outages is a back end that can be away.
type outages struct {
	job.Backend
	on atomic.Bool
}

// Status implements job.Backend.
func (o *outages) Status(ctx context.Context, name string) (job.Status, error) {
	if o.on.Load() {
		return job.Status{}, outage.Of("Slurm", errAway)
	}
	return o.Backend.Status(ctx, name)
}

func outageOf(err error) string {
	if o, ok := outage.As(err); ok {
		return o.Service
	}
	return ""
}

func TestTheNewestCheckpointIsHeardOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	var saved atomic.Int32
	var heard []int
	w.Saved = func(step int) { heard = append(heard, step); saved.Store(int32(step)) }
	_, done := w.background()
	w.training(1)
	if err := w.Backend.Stop(t.Context(), job.Name(w.Request.Job, 1), patience); err != nil { // as a preemption: it saves
		t.Fatal(err)
	}
	w.until("the first checkpoint", func() bool { return saved.Load() == 1 })
	w.until("the next attempt", func() bool { return w.heard.heard("saved up to step 1") })
	w.letGo()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(heard) || heard[len(heard)-1] != steps {
		t.Errorf("heard of the steps %v; want ever newer ones up to %d", heard, steps)
	}
}

func TestAContextThatEndsInTroubleEndsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	a := &away{Backend: w.Backend, Record: w.Record}
	w.Backend, w.Record, w.Every = a, a, time.Hour
	a.calls.Store(-1)
	end, done := w.background()
	w.until("trouble", func() bool { return w.heard.heard("tries again") })
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that the context has ended", err)
	}
}

func TestInputsThatCannotBePutStartNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	put := w.Put
	w.Put = func(context.Context) error { return errAway }
	if _, _, err := w.run(); !errors.Is(err, errAway) {
		t.Errorf("got %v; want the trouble with the inputs", err)
	}
	w.Put = put
	if h := w.succeed(); outcomes(h) != "success" || h.Attempts[0].Number != 1 {
		t.Errorf("want attempt 1 to be made when they can:\n%s", shown(h))
	}
}

func TestABadRequestIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.Request.Command = nil
	if _, _, err := w.run(); err == nil || !strings.Contains(err.Error(), "no command") {
		t.Errorf("got %v; want what is wrong", err)
	}
}
