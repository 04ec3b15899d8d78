package runner

import (
	"context"
	"fmt"
	"time"

	"floe/internal/job"
)

// Stop ends whatever is at work of the step's jobs, and returns when it is gone:
// each attempt is asked to save, and killed when its grace has passed. No error
// if there is none. *ElsewhereError, and nothing is touched, if only another
// machine can reach one.
func (j Job) Stop(ctx context.Context) error {
	r, err := begin(ctx, j)
	if err != nil {
		return err
	}
	for i := range r.history.Attempts {
		if a := &r.history.Attempts[i]; a.AtWork() {
			if err := r.here(a); err != nil {
				return err
			}
		}
	}
	asked := time.Now().UTC()
	for {
		if err := r.findUnrecorded(ctx); err != nil {
			return err
		}
		if !r.history.anyAtWork() && (len(r.history.Attempts) == 0 || r.history.StopAsked.Equal(asked)) {
			return nil
		}
		r.history.StopAsked = asked
		if err := r.save(ctx); err != nil {
			return err
		}
		if err := r.stopAll(ctx); err != nil {
			return err
		}
		// A watcher that had not heard yet may have started another one.
		if r.history, err = r.load(ctx); err != nil {
			return err
		}
		r.history.StopAsked = asked
	}
}

func (h History) anyAtWork() bool {
	for _, a := range h.Attempts {
		if a.AtWork() {
			return true
		}
	}
	return false
}

// stopAll ends every attempt that can be at work.
func (r *runner) stopAll(ctx context.Context) error {
	for i := range r.history.Attempts {
		a := &r.history.Attempts[i]
		var err error
		switch {
		case a.AtWork():
			err = r.stop(ctx, a)
		case a.Status.State == job.Lost && r.here(a) == nil: // a back end can remember what it had forgotten
			err = r.end(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stopOthers ends what other jobs of the step left at work: one that was begun
// with settings which were changed since.
func (r *runner) stopOthers(ctx context.Context) error {
	for i := range r.history.Attempts {
		a := &r.history.Attempts[i]
		if a.Job == r.Request.Job || !a.AtWork() {
			continue
		}
		r.Log.Info("the settings have changed since an attempt was started; it is stopped", "attempt", a.Name())
		if err := r.stop(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// othersGrace is for jobs that nobody goes on with: what they save is not used.
const othersGrace = time.Minute

// stop ends one attempt and keeps how it ended.
func (r *runner) stop(ctx context.Context, a *Attempt) error {
	if err := r.here(a); err != nil {
		return err
	}
	r.say(fmt.Sprintf("stops attempt %d and waits for it to save", a.Number))
	if err := r.end(ctx, a); err != nil {
		return err
	}
	s, known, err := r.status(ctx, a.Name())
	if err != nil {
		return err
	}
	switch {
	case known && !s.State.Final():
		return fmt.Errorf("%s was stopped and is there still: %s", a.Name(), s)
	case known:
		a.Status = s
	case a.Submitted.IsZero():
		a.Status.State, a.Status.Reason = job.Lost, "stopped before it was submitted"
	default:
		a.Status = forgotten(a)
		r.Log.Warn("the back end does not know an attempt that was at work; it counts as lost", "attempt", a.Name())
	}
	a.Ended = time.Now().UTC()
	if a.Job != r.Request.Job { // nobody judges it: its files are out of sight
		a.Outcome, a.Reason = job.Interrupted, "stopped; its settings are no longer those of the step"
	}
	return r.save(ctx)
}

// end has an attempt ended, and waits until it is gone.
func (r *runner) end(ctx context.Context, a *Attempt) error {
	req, files := r.request(a), r.Files
	if a.Job != r.Request.Job {
		files = nil // they are those of this job
		req.Grace = min(req.Grace, othersGrace)
	}
	return r.patiently(ctx, "stop "+a.Name(), func() error { return job.Stop(ctx, r.Backend, files, req) })
}
