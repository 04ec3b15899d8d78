package endpoint

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"floe/internal/experiment"
	"floe/internal/outage"
	"floe/internal/pause"
)

// Clock bounds and makes waiting, so that tests need not wait.
type Clock struct {
	Call     time.Duration // longest time for one call
	Patience time.Duration // after this long, trouble is handed to the caller
	Now      func() time.Time
	Sleep    func(context.Context, time.Duration) error
}

// A call of 4096 tokens takes 40 to 80 s on a GPU and minutes on a CPU.
var realClock = Clock{Call: 10 * time.Minute, Patience: 2 * time.Minute, Now: time.Now, Sleep: pause.For}

// mostBroken is how often a question is asked again that was served and broken off:
// each time may cost as much as a whole reply.
const mostBroken = 8

// Persist calls until there is no trouble, waiting out trouble that may pass; tell
// hears of every wait before it begins. What is left is a *Trouble, marked as an
// outage where the last call was not served, or the context's cause. The name seeds
// the waits.
func (e Endpoint) Persist(ctx context.Context, name string, call func() *Trouble, tell func(wait time.Duration, t *Trouble)) error {
	c, start, broken := e.Clock, e.Clock.Now(), 0
	for try := 1; ; try++ {
		t := call()
		if t == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.Final {
			return t
		}
		if t.Served {
			broken++
		}
		wait := backoff(name, try, t)
		if c.Now().Sub(start)+wait > c.Patience || broken >= mostBroken {
			return e.outlasted(t, try)
		}
		tell(wait, t)
		if err := c.Sleep(ctx, wait); err != nil {
			return context.Cause(ctx)
		}
	}
}

// outlasted is trouble that lasted longer than patience did.
func (e Endpoint) outlasted(t *Trouble, tries int) error {
	last := *t
	if tries > 1 {
		last.Reason = fmt.Sprintf("%s (tried %d times)", t.Reason, tries)
	}
	return e.marked(&last)
}

// marked is trouble as an error: an outage where the call was not served.
func (e Endpoint) marked(t *Trouble) error {
	if t.Final || t.Served {
		return t
	}
	return &outage.Error{Service: e.Service(), Err: t, After: t.After}
}

// backoff is what the endpoint asks for, or else doubles from 1 s to 30 s, with
// up to half of it taken off so that callers do not knock together.
func backoff(name string, try int, t *Trouble) time.Duration {
	if t.After > 0 {
		return t.After
	}
	full := min(30*time.Second, time.Second<<min(try-1, 10))
	jitter := experiment.Rand(name, "backoff", strconv.Itoa(try)).Float64()
	return full - time.Duration(jitter*float64(full)/2)
}
