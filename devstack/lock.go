package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// holder is what the lock file says about the process that holds it.
type holder struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// lockPatience covers a reader that takes the lock for an instant to see
// whether a stack is running.
const lockPatience = 250 * time.Millisecond

// acquireLock makes this process the only stack on the folder until the
// returned file is closed. The kernel gives the lock back when we die, however
// we die; the file itself stays. Two Temporal servers on one database would
// both start and corrupt each other's work without a word.
func acquireLock(d dataDir, started time.Time) (*os.File, error) {
	f, err := os.OpenFile(d.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := flockPatiently(f); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, inUse(d, f)
		}
		return nil, fmt.Errorf("lock %s: %w", d.lock(), err)
	}
	if err := describeHolder(f, holder{os.Getpid(), started.UTC().Truncate(time.Second)}); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", d.lock(), err)
	}
	return f, nil
}

func flockPatiently(f *os.File) error {
	deadline := time.Now().Add(lockPatience)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func describeHolder(f *os.File, h holder) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(line, '\n'), 0)
	return err
}

// inUse explains a refused lock: who has it and what to do about it.
func inUse(d dataDir, f *os.File) error {
	var h holder
	text, err := io.ReadAll(f)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return fmt.Errorf("data folder %s is in use by another devstack; stop that one or choose another folder with --data", d)
	}
	return fmt.Errorf("data folder %s is in use by devstack pid %d, started %s; stop it (kill %d) or choose another folder with --data",
		d, h.PID, h.Started.Format(time.RFC3339), h.PID)
}
