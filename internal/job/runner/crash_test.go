package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/job/runner"
)

// Whatever a worker was about to do or had just done when it was killed, the
// next one goes on as if nothing had happened: no attempt is started twice, none
// is made in vain, none is forgotten.
func TestAWorkerCanBeKilledAtEveryDeed(t *testing.T) {
	t.Parallel()
	const script = `[ "$FLOE_ATTEMPT" = 1 ] && echo 1 > stop.requested`
	for _, done := range []bool{false, true} {
		for deed := 1; ; deed++ {
			w := newWorld(t, "", script)
			p := w.parcel()
			p.Dies, p.Done = deed, done
			if w.worker(p).Wait() == nil {
				if deed < 8 {
					t.Errorf("a worker did only %d deeds; want more to be killed at", deed-1)
				}
				break
			}
			h := w.succeed()
			if outcomes(h) != "interrupted success" || !slices.Equal(w.starts(), []string{"a1", "a2"}) {
				t.Errorf("killed at deed %d (done: %t): starts %q and\n%s", deed, done, w.starts(), shown(h))
			}
		}
	}
}

func TestTheNextWorkerAdoptsTheJobOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.killedWorker()
	if s := w.state(1); s != job.Running {
		t.Fatalf("after the kill of its watcher the job is %s; want it running", s)
	}
	end, done := w.background()
	defer end()
	w.until("the next worker to watch", func() bool { return w.heard.heard("1/3 trains") })
	w.letGo()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h := w.history()
	if outcomes(h) != "success" || !slices.Equal(w.starts(), []string{"a1"}) || h.Attempts[0].Work != "work" {
		t.Errorf("starts %q; want one, that now counts for the work that watched its end:\n%s", w.starts(), shown(h))
	}
}

func TestWhatEndedWhileNobodyWatchedIsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.killedWorker()
	w.letGo()
	w.until("its end", func() bool { return w.state(1).Final() })
	if h := w.succeed(); outcomes(h) != "success" || h.Attempts[0].Work != "work of the dead" {
		t.Errorf("want the success of the dead worker:\n%s", shown(h))
	}
}

func TestTheEndOfAWatcherIsNotTheEndOfTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	if s := w.state(1); s != job.Running {
		t.Fatalf("without its watcher the job is %s; want it running", s)
	}
	w.letGo()
	if h := w.succeed(); outcomes(h) != "success" || len(w.starts()) != 1 {
		t.Errorf("outcomes %s, starts %q; want the one that was at work", outcomes(h), w.starts())
	}
}

// A worker can die between writing that it submits and submitting.
func TestAnAttemptThatWasOnlyAnnouncedIsSubmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	h := w.announced()
	h.Attempts[0].Work = "work of the dead"
	w.keep(h)
	h = w.succeed()
	if outcomes(h) != "success" || h.Attempts[0].Number != 1 || h.Attempts[0].Work != "work" {
		t.Errorf("want attempt 1 to be submitted, not another:\n%s", shown(h))
	}
}

// announced is a history whose only attempt was not heard of since.
func (w *world) announced() runner.History {
	return runner.History{Attempts: []runner.Attempt{{
		Job: w.Request.Job, Number: 1, SpecSHA256: w.Digest, Work: "work", Host: "here", Submitting: time.Now().UTC(),
		Status: job.Status{State: job.Pending},
	}}}
}

// It can also die after the back end took the name and before anything started.
func TestAnAttemptThatWasTakenAndNotStartedIsStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	if err := w.Put(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken, err := process.New(process.Settings{Root: w.root, Supervisor: []string{"false"}})
	if err != nil {
		t.Fatal(err)
	}
	r := w.Request
	r.Attempt, r.SpecSHA256 = 1, w.Digest
	if s, err := broken.Submit(t.Context(), r); err == nil {
		t.Fatalf("a supervisor that fails gave %s; want an error", s)
	}
	w.keep(w.announced())
	if h := w.succeed(); outcomes(h) != "success" || h.Attempts[0].Number != 1 {
		t.Errorf("want attempt 1 to be started:\n%s", shown(h))
	}
}

func TestAnAttemptWhoseSubmissionWasNotHeardOfIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	w.keep(w.announced())
	w.letGo()
	if h := w.succeed(); outcomes(h) != "success" || len(w.starts()) != 1 {
		t.Errorf("outcomes %s, starts %q; want the attempt that was submitted", outcomes(h), w.starts())
	}
}

func TestAnAttemptThatTheRecordLacksIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", `[ "$FLOE_ATTEMPT" = 1 ] && exit 75`)
	w.left(2)
	if err := os.Remove(w.record); err != nil {
		t.Fatal(err)
	}
	w.letGo()
	h := w.succeed()
	if len(h.Attempts) != 2 || h.Attempts[1].Outcome != job.Success || len(w.starts()) != 1 {
		t.Errorf("starts %q; want both attempts found, and none made:\n%s", w.starts(), shown(h))
	}
}

func TestAnAttemptThatItsBackEndForgotIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", `[ "$FLOE_ATTEMPT" = 1 ] || touch go`)
	w.left(1)
	name := job.Name(w.Request.Job, 1)
	if err := w.Backend.Stop(t.Context(), name, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.root, name)); err != nil {
		t.Fatal(err)
	}
	h := w.succeed()
	a := h.Attempts[0]
	if outcomes(h) != "interrupted success" || a.Status.State != job.Lost || a.Steps != 1 {
		t.Errorf("want the first to be lost and the second to go on:\n%s", shown(h))
	}
}

func TestASuccessThatItsBackEndForgotCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	w.letGo()
	w.until("its end", func() bool { return w.state(1).Final() })
	if err := os.RemoveAll(filepath.Join(w.root, job.Name(w.Request.Job, 1))); err != nil {
		t.Fatal(err)
	}
	if h := w.succeed(); outcomes(h) != "success" {
		t.Errorf("outcomes %s; want the success, which its files prove", outcomes(h))
	}
}

func TestAnAttemptThatWasTakenForLostIsAdoptedWhenItShowsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	h := w.history()
	a := &h.Attempts[0]
	a.Status.State, a.Outcome, a.Ended = job.Lost, job.Interrupted, time.Now().UTC()
	w.keep(h)
	w.heard.forget()
	end, done := w.background()
	defer end()
	w.until("the one at work to be watched", func() bool { return w.heard.heard("1/3 trains") })
	w.letGo()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if h := w.history(); outcomes(h) != "success" || len(w.starts()) != 1 {
		t.Errorf("starts %q; want the one at work to be adopted:\n%s", w.starts(), shown(h))
	}
}

func TestWhatHasAnotherSpecIsNotAdopted(t *testing.T) {
	t.Parallel()
	conflict := func(w *world, found string) {
		t.Helper()
		_, _, err := w.run()
		if c, ok := errors.AsType[*job.ConflictError](err); !ok || c.Found != found || c.Want != w.Digest {
			t.Errorf("got %v; want a conflict with %s", err, found)
		}
	}
	other := job.Digest([]byte("another spec"))
	t.Run("InTheRecord", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "hold", "")
		h := w.announced()
		h.Attempts[0].SpecSHA256 = other
		w.keep(h)
		conflict(w, other)
		if len(w.starts()) > 0 {
			t.Error("it was started")
		}
	})
	t.Run("AtTheBackEnd", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "hold", "")
		if err := w.Put(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := w.Request
		r.Attempt, r.SpecSHA256 = 1, other
		if _, err := w.Backend.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		conflict(w, other)
		if w.state(1).Final() {
			t.Error("what somebody else trains was ended")
		}
	})
}
