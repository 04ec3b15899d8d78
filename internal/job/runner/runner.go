// Package runner runs one job to its end: it finds the attempt that is at work
// or starts the next, watches it, judges how it ended, and goes on until the
// policy is there or trying again is of no use.
//
// All that it knows is kept: in the record of attempts, by the back end, and in
// the job's directory. So a watcher can die at any moment, and the next one goes
// on where it was. The end of a watcher never ends a job; only Stop does.
//
// Run and Stop of one job are meant to be called by whoever holds the lease of
// its step. Should a watcher that is past its time still go on while Stop is
// called, it hears of that before it starts another attempt.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"floe/internal/job"
)

// Job is one job and the bounds within which it is run.
type Job struct {
	Backend job.Backend
	Files   job.Files   // the job's directory as the worker sees it
	Request job.Request // of all attempts; the attempt's number and the spec's digest are filled in
	Spec    job.Spec
	Digest  string // of spec.json

	// Put writes spec.json and the inputs where the job finds them, before the
	// first attempt that Run starts. It may be called again with all of it there;
	// nil: nothing to write.
	Put func(ctx context.Context) error
	// Record keeps the history of attempts.
	Record Record
	// Work names on whose behalf attempts are made: bounds count those of the same
	// work alone, so a person's retry, which is a new work, starts anew.
	Work string
	// Host is the machine, for a back end that keeps jobs on one; empty: every
	// worker sees the jobs.
	Host string

	Attempts int // failures of this work after which somebody is asked; at least 1
	Resumes  int // interruptions in a row that may pass without a newer checkpoint
	Patience job.Patience
	// Every is the time between two looks, the first ones apart, which come sooner;
	// 0: 5 seconds.
	Every time.Duration
	// Tolerance is how long a back end or a store may be away while it is needed;
	// 0: 5 minutes.
	Tolerance time.Duration

	// Report hears how far the job is, in steps, and what it does. Nil: nobody.
	Report func(done, total int, note string)
	// Saved hears of the step of the newest whole checkpoint, whenever a newer one is
	// seen: what the job has done for good. It is called beside Report. Nil: nobody.
	Saved func(step int)
	Log   *slog.Logger // nil: none
}

// Record keeps the history of a job's attempts as it is written here. It must
// outlive the worker.
type Record interface {
	Load(ctx context.Context) ([]byte, error) // nil: none yet
	Save(ctx context.Context, body []byte) error
}

const (
	defaultEvery     = 5 * time.Second
	defaultTolerance = 5 * time.Minute
)

// Run brings the job to its end and returns how it succeeded. It can be called
// again after any error, by any worker: it adopts what is at work. Errors:
//
//   - *EndedError: it ended without success, and bounds of this work are used up;
//   - *ElsewhereError: only another machine can watch it;
//   - *job.ConflictError: what is there was given another spec;
//   - ErrStopped: Stop was called meanwhile;
//   - the context's, which has no effect on the job;
//   - anything else is trouble that may pass.
//
// The history is as far as it is known, also beside an error.
func (j Job) Run(ctx context.Context) (job.Verdict, History, error) {
	r, err := begin(ctx, j)
	if err != nil {
		return job.Verdict{}, History{}, err
	}
	v, err := r.run(ctx)
	return v, r.history, err
}

// runner is one Run or Stop of a job.
type runner struct {
	Job
	history History
	asked   time.Time // of the last request to stop, as this run began
	put     bool      // inputs were written
	done    int       // steps last reported
	total   int
	phase   string
	saved   int  // step of the newest checkpoint seen
	blind   bool // something could not be asked since this was last set to false
}

func begin(ctx context.Context, j Job) (*runner, error) {
	if j.Every <= 0 {
		j.Every = defaultEvery
	}
	if j.Tolerance <= 0 {
		j.Tolerance = defaultTolerance
	}
	if j.Report == nil {
		j.Report = func(int, int, string) {}
	}
	if j.Saved == nil {
		j.Saved = func(int) {}
	}
	if j.Log == nil {
		j.Log = slog.New(slog.DiscardHandler)
	}
	j.Attempts, j.Resumes = max(j.Attempts, 1), max(j.Resumes, 0)
	j.Request.SpecSHA256 = j.Digest
	first := j.Request
	first.Attempt = 1
	if err := first.Validate(); err != nil {
		return nil, err
	}
	r := &runner{Job: j, total: j.Spec.ExpectedSteps}
	var err error
	r.history, err = r.load(ctx)
	r.asked = r.history.StopAsked
	return r, err
}

// run is the whole story.
func (r *runner) run(ctx context.Context) (job.Verdict, error) {
	if err := r.stopOthers(ctx); err != nil {
		return job.Verdict{}, err
	}
	if err := r.find(ctx); err != nil {
		return job.Verdict{}, err
	}
	for {
		if a := r.newest(); a != nil && (a.Outcome == "" || a.Outcome == job.Success) {
			v, err := r.finish(ctx, a)
			if err != nil || v.Outcome == job.Success {
				return v, err
			}
		}
		if a := r.newest(); a != nil {
			if err := r.mayGoOn(ctx, a); err != nil {
				return job.Verdict{}, err
			}
		}
		if err := r.another(ctx); err != nil {
			return job.Verdict{}, err
		}
	}
}

// finish watches an attempt to its end and judges it. A success is judged again
// whenever it is met: its files may be gone.
func (r *runner) finish(ctx context.Context, a *Attempt) (job.Verdict, error) {
	if !a.Status.State.Final() {
		if err := r.watch(ctx, a); err != nil {
			return job.Verdict{}, err
		}
	}
	v, err := r.judge(ctx, a)
	if err == nil && v.Outcome != job.Success && r.stopped() {
		err = ErrStopped
	}
	return v, err
}

// newest is the latest attempt of this job; nil if there is none.
func (r *runner) newest() *Attempt {
	for i := len(r.history.Attempts) - 1; i >= 0; i-- {
		if a := &r.history.Attempts[i]; a.Job == r.Request.Job {
			return a
		}
	}
	return nil
}

// stopped reports whether a stop was asked for since this run began.
func (r *runner) stopped() bool { return r.history.StopAsked.After(r.asked) }

// request is that of an attempt.
func (r *runner) request(a *Attempt) job.Request {
	req := r.Request
	req.Job, req.Attempt, req.SpecSHA256 = a.Job, a.Number, a.SpecSHA256
	return req
}

// say reports what is done at the moment, at the steps last seen.
func (r *runner) say(note string) { r.Report(r.done, r.total, note) }

// ErrStopped is returned by a Run during which Stop was called.
var ErrStopped = errors.New("the training was stopped")
