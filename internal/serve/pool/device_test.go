package pool_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"floe/internal/endpoint"
	"floe/internal/serve/pool"
)

func TestAServerThatNobodyUsesIsStopped(t *testing.T) {
	for how, stop := range map[string]bool{"after a cancellation, at once": true, "with no idle time, at once": false} {
		t.Run(how, func(t *testing.T) {
			p := newWorker(t, false).pool()
			wanted := want(1)
			if !stop {
				wanted.Serve.Idle = 0
			}
			one, two := used(t, p, wanted), used(t, p, wanted)
			pid := pidIn(t, says(t, one))
			one.Done(stop)
			one.Done(stop) // once more changes nothing
			says(t, two)
			two.Done(stop)
			until(t, "its end", func() bool { return !alive(pid) })
			if again := pidIn(t, says(t, used(t, p, wanted))); again == pid {
				t.Error("a stopped server answers")
			}
		})
	}
}

func TestAnIdleServerStaysForTheNextUseAndTheNextWorker(t *testing.T) {
	w := newWorker(t, false)
	p := w.pool()
	c := w.checkpoint("left")
	u := used(t, p, with(want(1), c))
	pid := pidIn(t, says(t, u))
	u.Done(false)
	if again := pidIn(t, says(t, used(t, p, want(1)))); again != pid {
		t.Error("an idle server was not used again")
	}
	p.Close()
	if _, err := p.Use(t.Context(), want(1), nil); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("a closed pool serves: %v", err)
	}
	next := w.pool()
	adopted := used(t, next, with(want(1), w.checkpoint("new"))) // in the only place
	if pidIn(t, says(t, adopted)) != pid {
		t.Error("the server was not adopted")
	}
	if _, trouble := call(u); trouble == nil {
		t.Error("what the earlier worker had loaded was not unloaded")
	}
}

func TestAGuestUsesAWorkersServerAndLeavesItThere(t *testing.T) {
	w := newWorker(t, true)
	host := w.pool()
	pid := pidIn(t, says(t, used(t, host, want(2))))
	guest := pool.New(pool.Settings{Local: w.local, Directory: endpoint.Environment(), Guest: true, GPUs: "3"})
	theirs := []*pool.Use{used(t, host, with(want(2), w.checkpoint("a"))), used(t, host, with(want(2), w.checkpoint("b")))}
	u := used(t, guest, with(want(2), w.checkpoint("one"))) // they have the places; it must not take them
	for _, other := range theirs {
		says(t, other)
	}
	if pidIn(t, says(t, u)) != pid {
		t.Error("the guest started a server of its own")
	}
	whole := used(t, guest, full(want(2), w.checkpoint("whole")))
	own := pidIn(t, says(t, whole))
	u.Done(true)
	guest.Close()
	if !alive(pid) || alive(own) {
		t.Errorf("after the guest the worker's server lives: %t, the guest's: %t", alive(pid), alive(own))
	}
}

func TestOnOneDeviceOneServerIsAtWork(t *testing.T) {
	w := newWorker(t, true)
	left := w.pool()
	old := used(t, left, want(1, "--old"))
	orphan := pidIn(t, says(t, old))
	left.Close() // a worker that ended; its server is still there
	p := w.pool()
	first := used(t, p, want(1))
	if alive(orphan) {
		t.Error("what the earlier worker left is at work beside the new one")
	}
	pid := pidIn(t, says(t, first))
	other, same := begin(t.Context(), p, full(want(1), w.checkpoint("whole"))), (*waiting)(nil)
	until(t, "a word that the device is in use", func() bool { return other.has("waiting for the device") })
	same = begin(t.Context(), p, want(1)) // who comes later must not keep the other out for ever
	until(t, "its place in the line", func() bool { return same.has("others who want the device") })
	first.Done(false)
	u := other.got(t)
	if alive(pid) {
		t.Error("both servers are at work")
	}
	whole := pidIn(t, says(t, u))
	u.Done(false)
	says(t, same.got(t))
	if alive(whole) {
		t.Error("both servers are at work")
	}
}

func TestAServerThatCanSleepMakesWayAsleep(t *testing.T) {
	w := newWorker(t, true)
	p := w.pool()
	sleeping := want(1)
	sleeping.Serve.Sleep = true
	base := used(t, p, sleeping)
	pid := pidIn(t, says(t, base))
	base.Done(false)
	whole := used(t, p, full(sleeping, w.checkpoint("whole")))
	other := pidIn(t, says(t, whole))
	if _, trouble := call(base); trouble == nil || !alive(pid) {
		t.Errorf("the server that made way lives: %t, and is awake: %t", alive(pid), trouble == nil)
	}
	whole.Done(false)
	woken := begin(t.Context(), p, sleeping)
	if again := pidIn(t, says(t, woken.got(t))); again != pid || !woken.has("waking server") {
		t.Errorf("process %d answers, and not %d; told %q", again, pid, woken.notes)
	}
	woken.use.Done(false)
	if err := p.Clear(t.Context()); err != nil || alive(pid) || alive(other) {
		t.Errorf("%v; for a training live the one awake: %t, the one asleep: %t", err, alive(pid), alive(other))
	}
}

func TestADeviceIsClearedForATraining(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		w := newWorker(t, exclusive)
		p := w.pool()
		u := used(t, p, want(1))
		pid := pidIn(t, says(t, u))
		short, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("no more time"))
		if err := p.Clear(short); err == nil || err.Error() != "no more time" || !alive(pid) {
			t.Errorf("a device in use was cleared: %v", err)
		}
		cancel()
		cleared := make(chan error, 1)
		go func() { cleared <- p.Clear(t.Context()) }()
		u.Done(false)
		if err := <-cleared; err != nil || alive(pid) {
			t.Errorf("%v; alive: %t", err, alive(pid))
		}
		says(t, used(t, p, want(1)))
	}
}

func TestABrokenOffStartLeavesNothingOnTheDevice(t *testing.T) {
	w := newWorker(t, false)
	p := w.pool()
	hangs := want(1)
	hangs.Serve.Program = []string{"sh", "-c", "exec sleep 600"}
	live := func() int {
		n := 0
		for _, d := range entries(t, w.local.Root) {
			st, err := w.local.Jobs.Status(t.Context(), "serve-"+d+"-a1")
			if err == nil && !st.State.Final() {
				n++
			}
		}
		return n
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	b := begin(ctx, p, hangs)
	until(t, "a server that does not become ready", func() bool { return live() == 1 })
	cancel(errors.New("cancelled"))
	<-b.done
	if b.err == nil || !strings.Contains(b.err.Error(), "cancelled") {
		t.Errorf("%v", b.err)
	}
	until(t, "its end", func() bool { return live() == 0 })
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}

func TestACrashedServerIsStartedAgainForTheNextUse(t *testing.T) {
	w := newWorker(t, true)
	p := w.pool()
	c := w.checkpoint("one")
	u := used(t, p, with(want(1), c))
	pid := pidIn(t, says(t, u))
	crash, err := os.FindProcess(pid)
	if err == nil {
		err = crash.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	again := used(t, p, with(want(1), c)) // while the first use has not been let go
	if said := says(t, again); pidIn(t, said) == pid || !strings.Contains(said, c.Dir) {
		t.Errorf("it answers %s", said)
	}
}
