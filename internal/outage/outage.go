// Package outage marks errors of services that do not answer at present: a store
// that refuses connections, a model endpoint that restarts, a scheduler under
// maintenance, a full disk. Such an error says nothing about the work: it is waited
// out by time (limits.outage_minutes) and uses up no attempt. An answer, also a bad
// one, is never an outage.
package outage

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Error is the error of a call that its service did not serve.
type Error struct {
	Service string        // who did not answer, as people know it: "S3 at http://...", "Slurm", "the disk of host7"
	Err     error         // what failed
	Reason  string        // why, in a few words; empty: as Err says
	After   time.Duration // when the service wants to be asked again; 0 if it did not say
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s does not answer: %v", e.Service, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of marks err, unless it is nil or marked already.
func Of(service string, err error) error {
	if _, marked := As(err); err == nil || marked {
		return err
	}
	return &Error{Service: service, Err: err}
}

// As finds the outage in an error's chain. A full disk is one without a mark.
func As(err error) (*Error, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e, true
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &Error{Service: "the worker's disk", Err: err}, true
	}
	return nil, false
}
