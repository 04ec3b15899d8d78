package runner

import (
	"context"
	"fmt"
	"time"

	"floe/internal/job"
	"floe/internal/pause"
)

const (
	mostBusy     = 10              // attempts that find the directory held
	longestPause = 2 * time.Minute // before another attempt
	mostDoubled  = 10
)

// mayGoOn says whether there may be another attempt after the newest, and waits
// before it: longer each time, as what made it end may still be there.
func (r *runner) mayGoOn(ctx context.Context, a *Attempt) error {
	r.done = a.Steps
	if a.Work == r.Work { // otherwise somebody was asked since, and wants it to go on
		if err := r.within(a); err != nil {
			return err
		}
	}
	wait := r.pause(a)
	r.tellNext(a, wait)
	return pause.For(ctx, wait)
}

// pause is the time before the attempt after one; none where this work had not
// ended in the same way, or has got on since.
func (r *runner) pause(a *Attempt) time.Duration {
	n := 0
	switch a.Outcome {
	case job.Busy:
		n = r.history.busy(r.Work)
	case job.Failed:
		n = r.history.since(a.Job, r.Work, job.Failed)
	case job.Interrupted:
		n = r.history.since(a.Job, r.Work, job.Interrupted)
	default:
	}
	if n == 0 {
		return 0
	}
	return min(r.Every<<min(n-1, mostDoubled), longestPause)
}

// within holds what became of this work against its bounds.
func (r *runner) within(a *Attempt) error {
	ended := func(final bool, format string, args ...any) error {
		return &EndedError{Job: a.Job, Outcome: a.Outcome, Reason: fmt.Sprintf(format, args...), Final: final}
	}
	switch a.Outcome {
	case job.Success: // and what it left is gone
	case job.Hopeless:
		return ended(true, "attempt %d: %s", a.Number, a.Reason)
	case job.Failed:
		if n := r.history.since(a.Job, r.Work, job.Failed); n >= r.Attempts {
			return ended(false, "failed %s without a newer checkpoint than that of step %d; attempt %d: %s", times(n), a.Steps, a.Number, a.Reason)
		}
	case job.Interrupted:
		if n := r.history.since(a.Job, r.Work, job.Interrupted); n > r.Resumes {
			return ended(false, "interrupted %s without a newer checkpoint than that of step %d; attempt %d: %s", times(n), a.Steps, a.Number, a.Reason)
		}
	case job.Busy:
		if n := r.history.busy(r.Work); n > mostBusy {
			return ended(false, "another program has held the directory %s, looked at %s; attempt %d: %s", r.Request.Dir, times(n), a.Number, a.Reason)
		}
	}
	return nil
}

// tellNext says what comes after an attempt.
func (r *runner) tellNext(a *Attempt, wait time.Duration) {
	from := "the beginning"
	if a.Steps > 0 && a.Host == r.Host {
		from = fmt.Sprintf("step %d", a.Steps)
	}
	if a.Steps > 0 && a.Host != r.Host {
		r.Log.Warn("the checkpoint of a training lies on another machine; it begins anew", "job", a.Job, "step", a.Steps, "host", a.Host)
	}
	r.Log.Info("another attempt at a training", "job", a.Job, "attempt", r.next(), "from", from, "in", wait, "after", a.Reason)
	in := ""
	if wait > time.Second {
		in = " in " + span(wait)
	}
	r.say(fmt.Sprintf("attempt %d %s (%s); the next goes on from %s%s", a.Number, past(a.Outcome), a.Reason, from, in))
}

func past(o job.Outcome) string {
	switch o {
	case job.Interrupted:
		return "was interrupted"
	case job.Busy:
		return "found the directory held by another program"
	case job.Success:
		return "is of no more use"
	default:
		return "failed"
	}
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
