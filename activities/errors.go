package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"floe/internal/artifact"
	"floe/internal/ask"
	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/job"
	"floe/internal/job/runner"
	"floe/internal/outage"
	"floe/internal/plan"
	"floe/internal/serve/pool"
)

// Kinds of failure. Go errors do not survive the activity boundary; kinds do.
// They say what can be done: run again, or change something first.
const (
	KindBadInput = "BadInput" // the experiment asks for something impossible: change the spec
	KindCorrupt  = "Corrupt"  // an artifact is not what its manifest says: restore or delete it
	KindMissing  = "Missing"  // a step that was done is so no more: have it done again
	KindModel    = "Model"    // the designer's endpoint refused for good: change endpoint, key or model
	KindJob      = "Job"      // a training ended badly: change what its message names, or try again
	KindServe    = "Serve"    // a model does not come to answer: change how it is served
	KindStopping = "Stopping" // the worker is going down: run again on another
	KindOutage   = "Outage"   // a service does not answer: wait for it
	KindTimeout  = "Timeout"  // attempts ended without a sign of life, or took too long: look at the worker
	KindTrouble  = "Trouble"  // anything else: run again
)

// badInput marks an error that no retry can mend.
func badInput(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), KindBadInput, nil)
}

// classify is the one place where domain errors become Temporal's.
func classify(ctx context.Context, err error) error {
	var app *temporal.ApplicationError
	var corrupt *artifact.CorruptError
	var final *designer.FinalError
	var unavailable *designer.UnavailableError
	var ended *runner.EndedError
	var elsewhere *runner.ElsewhereError
	var conflict *job.ConflictError
	var spent *ask.SpentError
	out, away := outage.As(err)
	var trouble *endpoint.Trouble
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errStopping):
		return temporal.NewApplicationError("the worker is stopping; the next attempt resumes from the last checkpoint", KindStopping)
	case errors.Is(ctx.Err(), context.Canceled): // whatever error came of it
		return temporal.NewCanceledError()
	case errors.As(err, &app): // without what wraps it: that would hide its kind
		return app
	case errors.As(err, &corrupt):
		return temporal.NewNonRetryableApplicationError(err.Error(), KindCorrupt, corrupt)
	case away:
		return temporal.NewApplicationErrorWithOptions(err.Error(), KindOutage, temporal.ApplicationErrorOptions{NextRetryDelay: out.After, Cause: out})
	case errors.Is(err, plan.ErrMissing): // another experiment may be doing it again just now
		return temporal.NewApplicationError(err.Error(), KindMissing)
	case errors.As(err, &final):
		return temporal.NewNonRetryableApplicationError(err.Error(), KindModel, nil)
	case errors.As(err, &ended), errors.As(err, &elsewhere), errors.As(err, &conflict), errors.Is(err, runner.ErrStopped):
		return temporal.NewNonRetryableApplicationError(err.Error(), KindJob, nil)
	case errors.As(err, &spent):
		return temporal.NewNonRetryableApplicationError(err.Error()+"; what was answered is kept", KindBadInput, nil)
	case pool.Final(err):
		return temporal.NewNonRetryableApplicationError(err.Error(), KindServe, nil)
	case errors.As(err, &trouble):
		if trouble.Final {
			return temporal.NewNonRetryableApplicationError(err.Error(), KindModel, nil)
		}
		return temporal.NewApplicationErrorWithOptions(err.Error(), KindModel, temporal.ApplicationErrorOptions{NextRetryDelay: trouble.After})
	case errors.As(err, &unavailable):
		return temporal.NewApplicationErrorWithOptions(err.Error(), KindModel, temporal.ApplicationErrorOptions{NextRetryDelay: unavailable.RetryAfter})
	default:
		return temporal.NewApplicationError(err.Error(), KindTrouble)
	}
}
