package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/job"
	"floe/internal/job/files"
)

// find makes the history agree with the back end, which alone knows whether the
// newest attempt is at work. Attempts that a record lacks, as one that was
// restored from yesterday's copy, are found when the next is launched: its name
// is taken by what is there.
func (c *course) find(ctx context.Context) error {
	for _, a := range c.history.Attempts {
		if a.Job == c.Request.Job && a.SpecSHA256 != c.Digest {
			return &job.ConflictError{Name: a.Name(), Found: a.SpecSHA256, Want: c.Digest}
		}
	}
	a := c.newest()
	if a == nil || !a.AtWork() && a.Outcome != job.Success {
		return nil
	}
	if err := c.here(a); err != nil || !a.AtWork() {
		return err
	}
	return c.adopt(ctx, a)
}

// here refuses what only another machine can see.
func (c *course) here(a *Attempt) error {
	if a.Host == "" || c.Host == "" || a.Host == c.Host {
		return nil
	}
	return &ElsewhereError{Name: a.Name(), Host: a.Host, Here: c.Host, Done: a.Outcome == job.Success}
}

// findUnrecorded looks for attempts after the last one recorded.
func (c *course) findUnrecorded(ctx context.Context) error {
	for {
		n := c.next()
		s, known, err := c.status(ctx, job.Name(c.Request.Job, n))
		if err != nil || !known {
			return err
		}
		c.Log.Warn("found an attempt that the record lacks", "attempt", s.Name, "state", s.State)
		a := c.attempt(n)
		a.Status, a.Submitted = s, a.Submitting
		c.history.Attempts = append(c.history.Attempts, a)
	}
}

// next is the number of the attempt after the last one.
func (c *course) next() int {
	n := 1
	for _, a := range c.history.Attempts {
		if a.Job == c.Request.Job {
			n = max(n, a.Number+1)
		}
	}
	return n
}

// attempt is a new one of this job.
func (c *course) attempt(n int) Attempt {
	name := job.Name(c.Request.Job, n)
	return Attempt{
		Job: c.Request.Job, Number: n, SpecSHA256: c.Digest, Work: c.Work, Host: c.Host, GPUs: c.Request.Resources.GPUs,
		Submitting: time.Now().UTC(), Status: job.Status{Name: name, State: job.Pending, Reason: "being submitted"},
	}
}

// status asks the back end for an attempt; false if it knows none of that name.
func (c *course) status(ctx context.Context, name string) (s job.Status, known bool, err error) {
	err = c.patiently(ctx, "ask for "+name, func() error {
		s, err = c.Backend.Status(ctx, name)
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
func (c *course) adopt(ctx context.Context, a *Attempt) error {
	s, known, err := c.status(ctx, a.Name())
	switch {
	case err != nil:
		return err
	case !known && a.Submitted.IsZero():
		a.Work, a.Host = c.Work, c.Host
		return c.launch(ctx, a)
	case !known:
		c.Log.Warn("the back end does not know an attempt that was at work; it counts as lost", "attempt", a.Name())
		a.Status = forgotten(a)
		return c.save(ctx)
	}
	if !s.State.Final() {
		a.Work, a.Host = c.Work, c.Host
	}
	// Submitting what is there compares the specs, and starts what a worker that
	// died had only announced.
	err = c.patiently(ctx, "adopt "+a.Name(), func() (err error) {
		s, err = c.Backend.Submit(ctx, c.request(a))
		return err
	})
	if err != nil {
		return err
	}
	return c.submitted(ctx, a, s)
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
func (c *course) another(ctx context.Context) error {
	c.history.Attempts = append(c.history.Attempts, c.attempt(c.next()))
	if err := c.save(ctx); err != nil {
		return err
	}
	return c.launch(ctx, c.newest())
}

// launch submits the newest attempt, which is recorded and not there yet.
func (c *course) launch(ctx context.Context, a *Attempt) error {
	if c.stopped() {
		return errors.Join(ErrStopped, c.withdraw(ctx))
	}
	if !c.put && c.Put != nil {
		c.say("puts the inputs where the training finds them")
		if err := c.Put(ctx); err != nil {
			return fmt.Errorf("put the inputs of %s: %w", c.Request.Job, files.Outage(c.Request.Dir, err))
		}
	}
	c.put = true
	c.say(fmt.Sprintf("submits attempt %d", a.Number))
	var s job.Status
	err := c.patiently(ctx, "submit "+a.Name(), func() (err error) {
		s, err = job.Launch(ctx, c.Backend, c.request(a))
		return err
	})
	if busy, ok := errors.AsType[*job.BusyError](err); ok {
		return c.reopen(ctx, busy.Status)
	}
	if err != nil {
		return err
	}
	return c.submitted(ctx, a, s)
}

// submitted notes that the back end has an attempt.
func (c *course) submitted(ctx context.Context, a *Attempt, s job.Status) error {
	if a.Submitted.IsZero() {
		a.Submitted = time.Now().UTC()
	}
	s.Reason = brief(s.Reason)
	a.Status = s
	c.Log.Info("a training is with the back end", "attempt", a.Name(), "state", s.State, "where", s.Where)
	return c.save(ctx)
}

// withdraw forgets the newest attempt, which was not submitted.
func (c *course) withdraw(ctx context.Context) error {
	c.history.Attempts = c.history.Attempts[:len(c.history.Attempts)-1]
	return c.save(ctx)
}

// reopen goes back to an earlier attempt that was taken for ended and is at work:
// its back end had forgotten it for a while. The newest was not submitted.
func (c *course) reopen(ctx context.Context, s job.Status) error {
	c.Log.Warn("an attempt that was taken for ended is at work", "attempt", s.Name, "state", s.State)
	list := c.history.Attempts
	for i := range list {
		if list[i].Name() == s.Name {
			again := list[i]
			again.Work, again.Host = c.Work, c.Host
			again.Status, again.Ended, again.Outcome, again.Reason, again.Steps = s, time.Time{}, "", "", 0
			c.history.Attempts = append(append(list[:i:i], list[i+1:len(list)-1]...), again)
			return c.save(ctx)
		}
	}
	return fmt.Errorf("%w, and the record does not know it", &job.BusyError{Status: s})
}
