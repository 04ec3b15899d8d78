package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/experiment"
	"floe/internal/pause"
)

// Claim makes sure that a step is done once. It returns the step's manifest when
// the step is done; done is true then. Else it returns a Hold: the caller, and
// nobody else, works on the step until it commits or releases it. While somebody
// else works on it Claim waits and tells waiting whose lease it waits for, about
// once a second; it takes the step over when that lease is no longer renewed.
func (s Steps) Claim(ctx context.Context, id experiment.StepID, who Claimant, waiting func(Lease)) (h *Hold, m Manifest, done bool, err error) {
	if err := errors.Join(checkID(id), checkStep(id, who.Attempt, nil)); err != nil {
		return nil, m, false, fmt.Errorf("claim step: %w", err)
	}
	c := claiming{Steps: s, id: id, who: who}
	for {
		h, m, done, err = c.try(ctx)
		if err != nil || done || h != nil {
			return h, m, done, err
		}
		if c.wait { // for somebody else
			waiting(c.seen.lease)
			if pause.For(ctx, min(time.Second, s.leaseFor()/10)) != nil {
				return nil, m, false, context.Cause(ctx)
			}
		}
	}
}

// claiming is one call of Claim.
type claiming struct {
	Steps
	id    experiment.StepID
	who   Claimant
	seen  claims    // as last read
	since time.Time // since when it has been like that, on this process's own clock
	wait  bool      // before the next try
}

// try looks at the step once and does the next thing.
func (c *claiming) try(ctx context.Context) (*Hold, Manifest, bool, error) {
	c.wait = false
	m, done, err := c.Find(ctx, c.id)
	if err != nil || done {
		return nil, m, done, err
	}
	now, err := c.claims(ctx, c.id)
	if err != nil {
		return nil, m, false, fmt.Errorf("claim step %s: %w", c.id, err)
	}
	if now.token != c.seen.token || !bytes.Equal(now.body, c.seen.body) {
		c.since = time.Now()
	}
	c.seen = now
	switch {
	case now.end != nil && now.end.Manifest != nil:
		return nil, m, false, c.help(ctx, *now.end.Manifest)
	case now.token == 0 || now.end != nil:
		return c.take(ctx, now.token+1)
	case c.who.follows(now.lease.Owner) || time.Since(c.since) >= now.lease.lasts():
		c.log().Warn("a step is taken over", "step", c.id.String(), "from", now.lease.Owner.Attempt, "token", now.token, "by", c.who.Attempt)
		_, err := c.putEnd(ctx, c.id, leaseEnd{Token: now.token, How: endTaken, By: c.who.Attempt})
		return nil, m, false, err
	default:
		c.wait = true
		return nil, m, false, nil
	}
}

// help finishes the commit of somebody who wrote its end and then no manifest.
func (c *claiming) help(ctx context.Context, m Manifest) error {
	if _, err := c.publish(ctx, m); err != nil {
		return fmt.Errorf("claim step %s: finish the commit of %s: %w", c.id, m.Attempt, err)
	}
	return nil
}

// take writes a lease. Nobody else's with this token can be there then.
func (c *claiming) take(ctx context.Context, token int) (*Hold, Manifest, bool, error) {
	l := Lease{Schema: leaseSchema, Token: token, Owner: c.who, Seconds: c.leaseFor().Seconds(), Renewed: c.now()}
	body, err := encodeJSON(l)
	if err != nil {
		return nil, Manifest{}, false, err
	}
	if put := c.Store.PutIfAbsent(ctx, heldKey(c.id, token), body); put != nil {
		// Ours is there all the same if only the answer was lost.
		there, err := get(ctx, c.Store, heldKey(c.id, token))
		switch {
		case err == nil && bytes.Equal(there, body):
		case errors.Is(put, ErrExists):
			return nil, Manifest{}, false, nil // somebody was quicker
		default:
			return nil, Manifest{}, false, fmt.Errorf("claim step %s: %w", c.id, put)
		}
	}
	// Who committed and cleaned up between our two looks left the step done.
	m, done, err := c.Find(ctx, c.id)
	if err != nil || done {
		c.forget(ctx, c.id, token)
		return nil, m, done, err
	}
	return newHold(ctx, c.Steps, c.id, l), Manifest{}, false, nil
}

// forget removes a lease that was never contested, and its end.
func (s Steps) forget(ctx context.Context, id experiment.StepID, token int) {
	err := errors.Join(s.Store.Delete(ctx, heldKey(id, token)), s.Store.Delete(ctx, endKey(id, token)))
	if err != nil {
		s.log().Warn("a lease that has ended stays behind", "step", id.String(), "token", token, "error", err)
	}
}
