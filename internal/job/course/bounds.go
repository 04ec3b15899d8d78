package course

import (
	"context"
	"fmt"
	"time"

	"floe/internal/job"
)

const (
	mostBusy    = 10              // looks at a directory that another program holds
	longestBusy = 2 * time.Minute // between two of them
)

// mayGoOn says whether there may be another attempt after the newest, and waits
// if another program is to go away first.
func (c *course) mayGoOn(ctx context.Context, a *Attempt) error {
	c.done = a.Steps
	if a.Work == c.Work { // otherwise somebody was asked since, and wants it to go on
		if err := c.within(a); err != nil {
			return err
		}
	}
	if a.Outcome == job.Busy {
		wait := min(c.Every<<max(0, c.history.busy(c.Work)-1), longestBusy)
		c.say(fmt.Sprintf("another program holds the directory of the training; looks again in %s", span(wait)))
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	c.tellNext(a)
	return nil
}

// within holds what became of this work against its bounds.
func (c *course) within(a *Attempt) error {
	ended := func(final bool, format string, args ...any) error {
		return &EndedError{Job: a.Job, Outcome: a.Outcome, Reason: fmt.Sprintf(format, args...), Final: final}
	}
	switch a.Outcome {
	case job.Hopeless:
		return ended(true, "attempt %d: %s", a.Number, a.Reason)
	case job.Failed:
		if n := c.history.failures(c.Work); n >= c.Attempts {
			return ended(false, "failed %s; attempt %d: %s", times(n), a.Number, a.Reason)
		}
	case job.Interrupted:
		if n := c.history.interruptions(a.Job, c.Work); n > c.Resumes {
			return ended(false, "interrupted %s without a newer checkpoint than that of step %d; attempt %d: %s", times(n), a.Steps, a.Number, a.Reason)
		}
	case job.Busy:
		if n := c.history.busy(c.Work); n > mostBusy {
			return ended(false, "another program has held the directory %s, looked at %s; attempt %d: %s", c.Request.Dir, times(n), a.Number, a.Reason)
		}
	}
	return nil
}

// tellNext says what comes after an attempt.
func (c *course) tellNext(a *Attempt) {
	from := "the beginning"
	if a.Steps > 0 && a.Host == c.Host {
		from = fmt.Sprintf("step %d", a.Steps)
	}
	if a.Steps > 0 && a.Host != c.Host {
		c.Log.Warn("the checkpoint of a training lies on another machine; it begins anew", "job", a.Job, "step", a.Steps, "host", a.Host)
	}
	c.Log.Info("the next attempt goes on", "job", a.Job, "attempt", c.next(), "from", from, "after", a.Reason)
	c.say(fmt.Sprintf("attempt %d %s (%s); the next goes on from %s", a.Number, past(a.Outcome), a.Reason, from))
}

func past(o job.Outcome) string {
	switch o {
	case job.Interrupted:
		return "was interrupted"
	case job.Busy:
		return "found the directory held"
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
