// Package process is the back end for one machine: an attempt is a process under
// a small supervisor, in a session of its own. It goes on when its worker dies,
// and the next worker finds it by the supervisor's lock, number and start time.
//
// A folder an attempt holds what there is to know:
//
//	request.json      what was submitted
//	started.json      the supervisor; written once, so nothing starts twice
//	supervisor.lock   held while the supervisor lives
//	exit.json         how it ended
//	log               what the program printed
//
// The program has the environment of the worker that submitted it. Processors,
// memory and GPUs are not portioned out: a worker offers one machine or, by
// CUDA_VISIBLE_DEVICES, a part of it.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
)

// Settings of the back end.
type Settings struct {
	Root string // folder of the records, on a local disk
	// Supervisor is the argument vector of a program that calls Supervise with
	// one more argument, the last.
	Supervisor []string
}

// Verb is what a program is called with to be a supervisor.
const Verb = "job-supervise"

// New returns the back end. The supervisor is this program under Verb unless
// settings say otherwise.
func New(s Settings) (*Backend, error) {
	if s.Root == "" {
		return nil, errors.New("process back end: no folder for its records")
	}
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return nil, err
	}
	s.Root = root
	if len(s.Supervisor) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		s.Supervisor = []string{self, Verb}
	}
	return &Backend{s}, nil
}

// Backend implements job.Backend.
type Backend struct{ settings Settings }

var _ job.Backend = (*Backend)(nil)

// startWithin bounds the start of a supervisor, also on a busy machine.
const startWithin = time.Minute

// Check implements job.Backend.
func (b *Backend) Check(context.Context) error {
	if err := supported(); err != nil {
		return err
	}
	if err := os.MkdirAll(b.settings.Root, 0o750); err != nil {
		return fmt.Errorf("process back end: %w", err)
	}
	if _, err := exec.LookPath(b.settings.Supervisor[0]); err != nil {
		return fmt.Errorf("process back end: %w", err)
	}
	return nil
}

// Submit implements job.Backend.
func (b *Backend) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	if err := supported(); err != nil {
		return job.Status{}, err
	}
	if err := r.Validate(); err != nil {
		return job.Status{}, err
	}
	rec, err := attempt.Claim(b.settings.Root, r)
	if err != nil {
		return job.Status{}, err
	}
	if s, err := status(rec); err != nil || s.State != job.Pending {
		return s, err
	}
	return b.start(ctx, rec, r)
}

// start runs a supervisor until it has told of itself. One too many does no
// harm: it finds the lock taken, or the start recorded, and ends.
func (b *Backend) start(ctx context.Context, rec attempt.Folder, r job.Request) (job.Status, error) {
	log, err := os.OpenFile(rec.Path(fileSupervisorLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return job.Status{}, err
	}
	defer func() { _ = log.Close() }() // the supervisor has its own
	argv := append(b.settings.Supervisor[1:len(b.settings.Supervisor):len(b.settings.Supervisor)], rec.Dir)
	cmd := exec.Command(b.settings.Supervisor[0], argv...) //nolint:gosec // ours; without the context, which it must outlive
	cmd.Env = cli.Inherited()
	for _, v := range r.Environ() {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return job.Status{}, fmt.Errorf("start supervisor: %w", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }() // reaps it if it ends before us
	var s job.Status
	started, err := attempt.Until(ctx, startWithin, func(context.Context) (bool, error) {
		var err error
		s, err = status(rec)
		if err != nil || s.State != job.Pending {
			return true, err
		}
		select {
		case err := <-gone:
			if err != nil {
				return true, fmt.Errorf("supervisor: %w; see %s", err, log.Name())
			}
		default:
		}
		return false, nil
	})
	if err == nil && !started {
		err = fmt.Errorf("the supervisor did not start within %s; see %s", startWithin, log.Name())
	}
	return s, err
}

// Status implements job.Backend.
func (b *Backend) Status(_ context.Context, name string) (job.Status, error) {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return job.Status{}, err
	}
	return status(rec)
}

// Logs implements job.Backend.
func (b *Backend) Logs(ctx context.Context, name string, o job.LogOptions, w io.Writer) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return err
	}
	return attempt.Follow(ctx, rec.Path(fileLog), o, w, func(context.Context) (bool, error) {
		s, err := status(rec)
		return s.State.Final(), err
	})
}

// status reads what the folder and the process table say. Exit is looked for
// again after the lock was found free, as it is written before.
func status(rec attempt.Folder) (job.Status, error) {
	if s, ok, err := ended(rec); ok || err != nil {
		return s, err
	}
	var at started
	ok, err := rec.Read(fileStarted, &at)
	if err != nil {
		return job.Status{}, err
	}
	s := job.Status{Name: rec.Name, State: job.Pending}
	if !ok {
		s.Reason = "submitted, not started"
		return s, nil
	}
	s.State, s.Started, s.Where = job.Running, at.Time, at.where()
	lives, err := rec.Held(fileSupervisorLock)
	if lives || err != nil {
		return s, err
	}
	if s, ok, err := ended(rec); ok || err != nil {
		return s, err
	}
	if left := session(at); len(left) > 0 {
		s.Reason = fmt.Sprintf("its supervisor is gone; processes %v are left", left)
		return s, nil
	}
	s.State, s.Reason = job.Lost, "its supervisor ended without a word: killed, or the machine went down"
	return s, nil
}

func ended(rec attempt.Folder) (job.Status, bool, error) {
	var e exit
	ok, err := rec.Read(fileExit, &e)
	if err != nil || !ok {
		return job.Status{}, false, err
	}
	return job.Status{
		Name: rec.Name, State: job.Ended, ExitCode: &e.Code, Reason: e.Reason, Where: e.Where, Started: e.Started, Ended: e.Ended,
	}, true, nil
}
