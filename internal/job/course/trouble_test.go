package course_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/course"
)

// away is a back end and a record that do not answer for a number of calls.
type away struct {
	job.Backend
	course.Record
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

// Load implements course.Record.
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
	if _, ended := errors.AsType[*course.EndedError](err); ended || !errors.Is(err, errAway) {
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
