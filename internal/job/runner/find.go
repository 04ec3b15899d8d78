package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/disk"
	"floe/internal/job"
)

// find makes the history agree with the back end, which alone knows whether the
// newest attempt is at work. Attempts that a record lacks, as one that was
// restored from yesterday's copy, are found when the next is launched: its name
// is taken by what is there.
func (r *runner) find(ctx context.Context) error {
	for _, a := range r.history.Attempts {
		if a.Job == r.Request.Job && a.SpecSHA256 != r.Digest {
			return &job.ConflictError{Name: a.Name(), Found: a.SpecSHA256, Want: r.Digest}
		}
	}
	a := r.newest()
	if a == nil || !a.AtWork() && a.Outcome != job.Success {
		return nil
	}
	if err := r.here(a); err != nil || !a.AtWork() {
		return err
	}
	return r.adopt(ctx, a)
}

// here refuses what only another machine can see.
func (r *runner) here(a *Attempt) error {
	if a.Host == "" || r.Host == "" || a.Host == r.Host {
		return nil
	}
	return &ElsewhereError{Name: a.Name(), Host: a.Host, Here: r.Host, Done: a.Outcome == job.Success}
}

// findUnrecorded looks for attempts after the last one recorded.
func (r *runner) findUnrecorded(ctx context.Context) error {
	for {
		n := r.next()
		s, known, err := r.status(ctx, job.Name(r.Request.Job, n))
		if err != nil || !known {
			return err
		}
		r.Log.Warn("found an attempt that the record lacks", "attempt", s.Name, "state", s.State)
		a := r.attempt(n)
		a.Status, a.Submitted = s, a.Submitting
		r.history.Attempts = append(r.history.Attempts, a)
	}
}

// next is the number of the attempt after the last one.
func (r *runner) next() int {
	n := 1
	for _, a := range r.history.Attempts {
		if a.Job == r.Request.Job {
			n = max(n, a.Number+1)
		}
	}
	return n
}

// attempt is a new one of this job.
func (r *runner) attempt(n int) Attempt {
	name := job.Name(r.Request.Job, n)
	return Attempt{
		Job: r.Request.Job, Number: n, SpecSHA256: r.Digest, Work: r.Work, Host: r.Host, GPUs: r.Request.Resources.GPUs,
		Submitting: time.Now().UTC(), Status: job.Status{Name: name, State: job.Pending, Reason: "being submitted"},
	}
}

// status asks the back end for an attempt; false if it knows none of that name.
func (r *runner) status(ctx context.Context, name string) (s job.Status, known bool, err error) {
	err = r.patiently(ctx, "ask for "+name, func() error {
		s, err = r.Backend.Status(ctx, name)
		s.Reason = brief(s.Reason)
		if errors.Is(err, job.ErrUnknown) {
			known = false
			return nil
		}
		known = true
		return err
	})
	return s, known, err
}

// adopt goes on with an attempt that was not seen to end. One that was about to
// be submitted and never arrived is submitted now; one that was forgotten is
// lost.
func (r *runner) adopt(ctx context.Context, a *Attempt) error {
	s, known, err := r.status(ctx, a.Name())
	switch {
	case err != nil:
		return err
	case !known && a.Submitted.IsZero():
		a.Work, a.Host = r.Work, r.Host
		return r.launch(ctx, a)
	case !known:
		r.Log.Warn("the back end does not know an attempt that was at work; it counts as lost", "attempt", a.Name())
		a.Status = forgotten(a)
		return r.save(ctx)
	}
	if !s.State.Final() {
		a.Work, a.Host = r.Work, r.Host
	}
	// Submitting what is there compares the specs, and starts what a worker that
	// died had only announced.
	err = r.patiently(ctx, "adopt "+a.Name(), func() (err error) {
		s, err = r.Backend.Submit(ctx, r.request(a))
		return err
	})
	if err != nil {
		return err
	}
	return r.submitted(ctx, a, s)
}

// forgotten is an attempt that its back end knew and knows no more.
func forgotten(a *Attempt) job.Status {
	s := a.Status
	s.Name, s.State, s.ExitCode = a.Name(), job.Lost, nil
	s.Reason = "the back end knows it no more"
	return s
}

// another makes the next attempt: first it is recorded, then submitted, so that
// whoever comes next knows what to look for.
func (r *runner) another(ctx context.Context) error {
	r.history.Attempts = append(r.history.Attempts, r.attempt(r.next()))
	if err := r.save(ctx); err != nil {
		return err
	}
	return r.launch(ctx, r.newest())
}

// launch submits the newest attempt, which is recorded and not there yet.
func (r *runner) launch(ctx context.Context, a *Attempt) error {
	if r.stopped() {
		return errors.Join(ErrStopped, r.withdraw(ctx))
	}
	if !r.put && r.Put != nil {
		r.say("puts the inputs where the training finds them")
		if err := r.Put(ctx); err != nil {
			return fmt.Errorf("put the inputs of %s: %w", r.Request.Job, disk.Outage(r.Request.Dir, err))
		}
	}
	r.put = true
	r.say(fmt.Sprintf("submits attempt %d", a.Number))
	var s job.Status
	err := r.patiently(ctx, "submit "+a.Name(), func() (err error) {
		s, err = job.Launch(ctx, r.Backend, r.request(a))
		return err
	})
	if busy, ok := errors.AsType[*job.BusyError](err); ok {
		return r.reopen(ctx, busy.Status)
	}
	if err != nil {
		return err
	}
	return r.submitted(ctx, a, s)
}

// submitted notes that the back end has an attempt.
func (r *runner) submitted(ctx context.Context, a *Attempt, s job.Status) error {
	if a.Submitted.IsZero() {
		a.Submitted = time.Now().UTC()
	}
	s.Reason = brief(s.Reason)
	a.Status = s
	r.Log.Info("a training is with the back end", "attempt", a.Name(), "state", s.State, "where", s.Where)
	return r.save(ctx)
}

// withdraw forgets the newest attempt, which was not submitted.
func (r *runner) withdraw(ctx context.Context) error {
	r.history.Attempts = r.history.Attempts[:len(r.history.Attempts)-1]
	return r.save(ctx)
}

// reopen goes back to an earlier attempt that was taken for ended and is at work:
// its back end had forgotten it for a while. The newest was not submitted.
func (r *runner) reopen(ctx context.Context, s job.Status) error {
	r.Log.Warn("an attempt that was taken for ended is at work", "attempt", s.Name, "state", s.State)
	list := r.history.Attempts
	for i := range list {
		if list[i].Name() == s.Name {
			again := list[i]
			again.Work, again.Host = r.Work, r.Host
			again.Status, again.Ended, again.Outcome, again.Reason, again.Steps = s, time.Time{}, "", "", 0
			r.history.Attempts = append(append(list[:i:i], list[i+1:len(list)-1]...), again)
			return r.save(ctx)
		}
	}
	return fmt.Errorf("%w, and the record does not know it", &job.BusyError{Status: s})
}
