package runner

import (
	"fmt"

	"floe/internal/job"
)

// EndedError is a job that ended without success, and will not be tried again
// for this work.
type EndedError struct {
	Job     string
	Outcome job.Outcome // of the last attempt
	Reason  string      // in a sentence, with what back end and trainer said
	// Final says that the same fails again until spec, data or settings are
	// changed; otherwise a person's retry can help.
	Final bool
}

// Error implements error.
func (e *EndedError) Error() string { return e.Job + ": " + e.Reason }

// ElsewhereError is a job that only a worker on another machine can see.
type ElsewhereError struct {
	Name string // of the attempt
	Host string // where it is
	Here string
	Done bool // it has ended well, and what it trained lies there
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	what := "is at work on"
	if e.Done {
		what = "has ended well, and what it trained lies on"
	}
	return fmt.Sprintf("%s %s %s, and this worker is on %s: only a worker on that machine can go on. "+
		"Start one there; or, if that machine is gone, start this one with --host %s, and the training begins anew from what is here",
		e.Name, what, e.Host, e.Here, e.Host)
}
