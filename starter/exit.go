package main

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"floe/internal/artifact"
	"floe/internal/artifact/s3"
	"floe/internal/config"
	"floe/internal/connect"
	"floe/internal/outage"
	"floe/internal/temporalclient"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnreachable = 4
	exitUndesigned  = 5
	exitInterrupted = 130
)

// codedError ends the program with a code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// fail makes an error with an exit code.
func fail(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

// codeOf is the exit code of an error: the one place that decides.
func codeOf(ctx context.Context, err error) int {
	var coded *codedError
	var faults *config.Faults
	var unreachable *temporalclient.UnreachableError
	var store *s3.UnusableError
	var noStack *connect.NoStackError
	var notFound *serviceerror.NotFound
	var deadline *serviceerror.DeadlineExceeded
	var unavailable *serviceerror.Unavailable
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &faults):
		return exitUsage
	case isOutage(err), errors.As(err, &unreachable), errors.As(err, &store), errors.As(err, &noStack),
		errors.As(err, &deadline), errors.As(err, &unavailable):
		return exitUnreachable
	case errors.As(err, &notFound), errors.Is(err, artifact.ErrNotFound):
		return exitNotFound
	default:
		return exitFailed
	}
}

// isOutage says whether a service was away when it was needed.
func isOutage(err error) bool {
	_, away := outage.As(err)
	return away
}
