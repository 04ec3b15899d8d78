package retry_test

import (
	"strings"
	"testing"
	"time"

	"floe/internal/retry"
)

var limits = retry.Limits{Attempts: 5, Outage: time.Hour, Step: 24 * time.Hour, Lost: 15, LostFor: 30 * time.Minute}

// work is a piece of work whose attempts are played one after the other.
type work struct {
	t     *testing.T
	tally *retry.Tally
	n     int
	now   time.Time
}

func newWork(t *testing.T) *work {
	return &work{t: t, now: time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)}
}

// attempt begins the next attempt, lets it live for a while, and ends it with how;
// nil loses it. It says why no attempt may begin, if so.
func (w *work) attempt(lives time.Duration, kept int, how func(*retry.Tally, time.Time)) string {
	w.t.Helper()
	w.n++
	t := retry.Begin(w.tally, w.n, w.now, limits)
	if why := t.Exhausted(w.now, limits); why != "" {
		return why
	}
	w.now = w.now.Add(lives)
	t.Seen = w.now
	t.Keep(kept)
	if how != nil {
		how(&t, w.now)
	}
	w.tally = &t
	w.now = w.now.Add(time.Second)
	return t.Exhausted(w.now, limits)
}

func fail(t *retry.Tally, now time.Time) { t.Fail(now) }
func stop(t *retry.Tally, now time.Time) { t.Stop(now) }

func TestFiveFailuresWithoutProgressAreEnough(t *testing.T) {
	w := newWork(t)
	for i := range 4 {
		if why := w.attempt(time.Minute, 0, fail); why != "" {
			t.Fatalf("failure %d: %s", i+1, why)
		}
	}
	if why := w.attempt(time.Minute, 0, fail); !strings.Contains(why, "5 attempts without progress") {
		t.Errorf("after the fifth failure: %q", why)
	}
}

func TestProgressStartsTheCountAnew(t *testing.T) {
	w := newWork(t)
	for i := range 40 {
		if why := w.attempt(time.Minute, i/4, fail); why != "" {
			t.Fatalf("failure %d: %s", i+1, why)
		}
	}
	for range 4 { // the same checkpoint again and again is none
		w.attempt(time.Minute, 9, fail)
	}
	if why := w.attempt(time.Minute, 9, fail); why == "" {
		t.Error("five failures at one checkpoint were not enough")
	}
}

func TestStoppedWorkersCostNothing(t *testing.T) {
	w := newWork(t)
	for i := range 100 {
		if why := w.attempt(time.Second, 0, stop); why != "" {
			t.Fatalf("stop %d: %s", i+1, why)
		}
	}
	if w.tally.Failed != 0 || w.tally.Lost != 0 {
		t.Errorf("tally %+v; want nothing counted", *w.tally)
	}
}

func TestARollingReleaseOfKilledWorkersCostsNothing(t *testing.T) {
	w := newWork(t)
	for i := range 10 {
		if why := w.attempt(time.Minute, 0, nil); why != "" {
			t.Fatalf("kill %d: %s", i+1, why)
		}
	}
}

func TestWorkThatKillsItsWorkerComesToAnEnd(t *testing.T) {
	w := newWork(t)
	began := w.now
	for range 1000 {
		if why := w.attempt(15*time.Second, 0, nil); why != "" {
			if since := w.now.Sub(began); !strings.Contains(why, "were lost") || since < limits.LostFor || since > 2*limits.LostFor {
				t.Errorf("after %s: %s", since, why)
			}
			return
		}
	}
	t.Error("a thousand killed workers were not enough")
}

func TestAnAttemptThatRanIntoItsLimitOfTimeHasFailed(t *testing.T) {
	w := newWork(t)
	var why string
	for range 5 {
		why = w.attempt(limits.Step-time.Second, 0, nil)
	}
	if why != "" {
		t.Fatalf("after the fourth: %s", why)
	}
	if why = w.attempt(time.Second, 0, nil); !strings.Contains(why, "limits.step_minutes") {
		t.Errorf("after the fifth: %q", why)
	}
}

func TestAttemptsThatLeftNoSignAreLost(t *testing.T) {
	w := newWork(t)
	w.attempt(time.Second, 0, stop)
	w.n += 3
	w.attempt(time.Second, 0, stop)
	if w.tally.Lost != 3 {
		t.Errorf("%d lost; want 3", w.tally.Lost)
	}
}

func TestAnOutageIsWaitedOutByTime(t *testing.T) {
	w := newWork(t)
	began := w.now
	for i := range 1000 {
		w.n++
		tally := retry.Begin(w.tally, w.n, w.now, limits)
		if why := tally.Exhausted(w.now, limits); why != "" {
			t.Fatalf("an outage uses up attempts: %s", why)
		}
		pause, over := tally.Miss("S3 at http://store", "connection refused", 0, w.now, limits)
		w.tally = &tally
		if i == 0 && pause != time.Second || pause > 5*time.Minute {
			t.Fatalf("pause %s after %d tries", pause, i+1)
		}
		if over {
			if since := w.now.Sub(began); since < limits.Outage || since > limits.Outage+6*time.Minute {
				t.Errorf("given up after %s; want %s", since, limits.Outage)
			}
			if got, want := tally.Outage.String(), "waiting for S3 at http://store since 01:00 UTC: connection refused"; got != want {
				t.Errorf("got %q; want %q", got, want)
			}
			return
		}
		w.now = w.now.Add(pause)
	}
	t.Error("never given up")
}

func TestAnOutageAfterWorkWentOnIsAnother(t *testing.T) {
	for name, lives := range map[string]time.Duration{"at once": time.Second, "after 20 minutes": 20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			miss := func(tally *retry.Tally, now time.Time) { tally.Miss("S3", "refused", 0, now, limits) }
			w.attempt(time.Second, 0, miss)
			since := w.tally.Outage.Since
			w.attempt(lives, 0, miss)
			if another := w.tally.Outage.Since != since; another != (lives > time.Minute) {
				t.Errorf("another outage: %v", another)
			}
			w.attempt(time.Second, 1, stop)
			if w.tally.Outage != nil {
				t.Error("progress does not end an outage")
			}
		})
	}
}
