package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
)

const (
	killsWithin = 15 * time.Second // a supervisor that was told to kill
	goneWithin  = time.Minute      // processes that got SIGKILL; a driver may hold one for a while
)

// Stop implements job.Backend.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if errors.Is(err, job.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	gone := func(context.Context) (bool, error) {
		s, err := status(rec)
		return s.State.Final(), err
	}
	for _, try := range []struct {
		do   func(attempt.Folder) error
		wait time.Duration
	}{
		{forbid, 0},
		{func(r attempt.Folder) error { return tell(r, syscall.SIGTERM) }, grace},
		{func(r attempt.Folder) error { return tell(r, killSignal) }, killsWithin},
		{killSession, goneWithin},
	} {
		if done, err := gone(ctx); done || err != nil {
			return err
		}
		if err := try.do(rec); err != nil {
			return err
		}
		if done, err := attempt.Until(ctx, try.wait, gone); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: processes are left %s after SIGKILL", name, goneWithin)
}

// forbid makes sure that an attempt which has not started never will.
func forbid(rec attempt.Folder) error {
	held, ok, err := rec.TryLock(fileSupervisorLock)
	if err != nil || !ok {
		return err
	}
	defer func() { _ = held.Close() }() // frees the lock
	var at started
	if was, err := rec.Read(fileStarted, &at); err != nil || was {
		return err
	}
	now := time.Now().UTC()
	if err := rec.Write(fileStarted, started{Time: now}); err != nil {
		return err
	}
	return rec.Write(fileExit, exit{Code: job.ExitTerm, Reason: "stopped before it started", Started: now, Ended: now})
}

// tell signals the supervisor, and nobody who got its number after it.
func tell(rec attempt.Folder, s syscall.Signal) error {
	var at started
	if ok, err := rec.Read(fileStarted, &at); err != nil || !ok {
		return err
	}
	p, err := os.FindProcess(at.PID) // on Linux a handle on this very process
	if err != nil {
		return err
	}
	if ticks, ok := startTicks(at.PID); !ok || ticks != at.Ticks || at.elsewhere() {
		return away(rec, at)
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", at.where(), err)
	}
	return nil
}

// away tells an attempt that has ended from one that cannot be reached from here.
func away(rec attempt.Folder, at started) error {
	lives, err := rec.Held(fileSupervisorLock)
	if err == nil && lives {
		err = fmt.Errorf("%s runs as %s, out of reach from this machine or container", rec.Name, at.where())
	}
	return err
}

// killSession kills what is left, supervisor or no supervisor.
func killSession(rec attempt.Folder) error {
	var at started
	if _, err := rec.Read(fileStarted, &at); err != nil {
		return err
	}
	for _, pid := range session(at) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // gone already, which is as well
	}
	return nil
}
