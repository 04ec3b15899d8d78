// Package job is the contract between a worker and a training that runs
// outside it, on a machine with a GPU: what the worker writes, what the program
// leaves behind, and what a back end that starts such programs must keep.
// docs/jobs.md says the same for people who write trainers.
//
// A job is one step's training. An attempt is one start of its program, under a
// name that follows from the step and the attempt's number; so a job is known
// before it exists, and a worker that died between submitting and hearing the
// answer finds what it submitted. Losing the worker never ends a job.
//
// A back end only reports facts: where an attempt is, and its exit code. Judge
// alone says what they mean.
package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Backend starts programs somewhere and knows them by name. Package jobtest
// proves a back end. Every method may be called by several workers at once, by
// one that has never seen the job, and again after an error.
type Backend interface {
	// Submit starts an attempt unless one of its name is there already, in
	// whatever state: that one is adopted if it has the same spec, and is a
	// *ConflictError otherwise. Of many that submit the same, one starts it.
	Submit(ctx context.Context, r Request) (Status, error)
	// Status says where an attempt is; ErrUnknown if the back end knows none of
	// that name.
	Status(ctx context.Context, name string) (Status, error)
	// Logs writes what the attempt printed, from a byte on, to w. With Follow it
	// goes on until the attempt has ended and all of it was written. ErrUnknown
	// as Status.
	Logs(ctx context.Context, name string, o LogOptions, w io.Writer) error
	// Stop asks the program to end, kills it when grace has passed, and returns
	// when it is gone. No error if it has ended or is not known. Some systems can
	// only kill: then stop.requested, which the function Stop writes first, is
	// how the program is asked.
	Stop(ctx context.Context, name string, grace time.Duration) error
	// Check fails within seconds, saying what is missing, when the back end
	// cannot be used.
	Check(ctx context.Context) error
}

// LogOptions choose a part of a log.
type LogOptions struct {
	From   int64 // first byte wanted
	Follow bool  // until the attempt has ended
}

// State is where an attempt is, as its back end sees it.
type State string

// States. The last three are final. A back end that takes an attempt off its
// machine and starts it again by itself reports Pending or Running with another
// number of Restarts.
const (
	Pending   State = "pending"   // accepted; waits for a machine
	Running   State = "running"   // its program runs
	Ended     State = "ended"     // its program ended, by itself or by a signal
	Preempted State = "preempted" // its machine was reassigned
	Lost      State = "lost"      // gone, and nobody knows how it ended
)

// Final reports whether nothing changes any more.
func (s State) Final() bool { return s == Ended || s == Preempted || s == Lost }

// Status is what a back end knows of an attempt.
type Status struct {
	Name     string    `json:"name"`
	State    State     `json:"state"`
	ExitCode *int      `json:"exit_code,omitempty"` // 128+n after signal n; nil: not ended, or not known
	Reason   string    `json:"reason,omitempty"`    // in the back end's words
	Restarts int       `json:"restarts,omitempty"`  // by the back end itself, after preemption
	Where    string    `json:"where,omitempty"`     // what finds it in the back end: a process, a Slurm number, an address
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
}

// String is the status as a person reads it.
func (s Status) String() string {
	text := s.Name + " " + string(s.State)
	if s.ExitCode != nil {
		text += fmt.Sprintf(" with exit code %d", *s.ExitCode)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// ErrUnknown is returned for names of which a back end knows no attempt.
var ErrUnknown = errors.New("no job of that name")

// ConflictError is an attempt of the wanted name that was given another spec.
// It is never adopted: its result would be somebody else's.
type ConflictError struct {
	Name        string
	Found, Want string // digests of specs
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("job %s is there with the spec %s; want %s", e.Name, e.Found, e.Want)
}

// BusyError is an earlier attempt of the job that has not ended.
type BusyError struct{ Status Status }

// Error implements error.
func (e *BusyError) Error() string {
	return "an earlier attempt has not ended: " + e.Status.String()
}

// Launch submits an attempt if no earlier one can still be at work: two programs
// must never train the same job.
func Launch(ctx context.Context, b Backend, r Request) (Status, error) {
	if err := r.Validate(); err != nil {
		return Status{}, err
	}
	for n := r.Attempt - 1; n > 0; n-- {
		before, err := b.Status(ctx, Name(r.Job, n))
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return Status{}, fmt.Errorf("look for attempt %d of %s: %w", n, r.Job, err)
		}
		if !before.State.Final() {
			return Status{}, &BusyError{before}
		}
	}
	s, err := b.Submit(ctx, r)
	if err != nil {
		return Status{}, fmt.Errorf("submit %s: %w", r.Name(), err)
	}
	return s, nil
}
