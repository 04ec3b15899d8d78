package artifact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"floe/internal/experiment"
)

// ErrLost says that somebody else has taken a step over. What its holder made
// until then is refused.
var ErrLost = errors.New("artifact: the step was taken over by another attempt")

const releaseWithin = 10 * time.Second // also when the work's context has ended

// Hold is the right to do a step. It renews its lease until Commit or Release.
type Hold struct {
	steps Steps
	id    experiment.StepID
	ctx   context.Context //nolint:containedctx // ends when the hold is lost
	lost  context.CancelCauseFunc
	stop  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
	lease Lease // the renewal's own
	token int
	who   Claimant
	ended bool // by Commit or Release
}

func newHold(ctx context.Context, s Steps, id experiment.StepID, l Lease) *Hold {
	h := &Hold{steps: s, id: id, stop: make(chan struct{}), lease: l, token: l.Token, who: l.Owner}
	h.ctx, h.lost = context.WithCancelCause(ctx)
	h.wg.Go(h.renew)
	return h
}

// ID is the step that is held.
func (h *Hold) ID() experiment.StepID { return h.id }

// Token is the number of the lease: later holders of the step have higher ones.
func (h *Hold) Token() int { return h.token }

// Context ends when the hold is lost, with ErrLost as its cause: then the work is
// for nothing.
func (h *Hold) Context() context.Context { return h.ctx }

// Attempt is where the holder's objects lie. The token keeps apart tries that
// were given the same name.
func (h *Hold) Attempt() string { return fmt.Sprintf("%s-t%d", h.who.Attempt, h.token) }

// renew writes the lease anew, several times while it lasts. Trouble with the
// store does not end the work: the lease is lost only when somebody takes it.
func (h *Hold) renew() {
	tick := time.NewTicker(h.steps.leaseFor() / 5)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-h.ctx.Done():
			return
		case <-tick.C:
			if err := h.beat(); err != nil && h.ctx.Err() == nil {
				h.steps.log().Warn("a lease was not renewed", "step", h.id.String(), "token", h.token, "error", err)
			}
		}
	}
}

func (h *Hold) beat() error {
	end, err := h.steps.readEnd(h.ctx, h.id, h.token)
	if err != nil {
		return err
	}
	if end != nil {
		h.tellLost(end.By)
		h.lost(ErrLost)
		return nil
	}
	h.lease.Beat++
	h.lease.Renewed = h.steps.now()
	return h.steps.putLease(h.ctx, h.id, h.lease)
}

// tellLost logs that its work is for nothing.
func (h *Hold) tellLost(by string) {
	h.steps.log().Warn("a step was taken over while it was worked on", "step", h.id.String(), "attempt", h.Attempt(), "by", by)
}

// quiet ends the renewals, and returns when none is under way.
func (h *Hold) quiet() {
	h.once.Do(func() { close(h.stop) })
	h.wg.Wait()
}

// Commit records the step as done and ends the hold. Objects are written first,
// read back and checked. Then the lease is ended with the manifest in it, which
// fails with ErrLost when somebody else has taken the step over: the objects are
// removed and the refusal is logged. The manifest itself comes last.
func (h *Hold) Commit(ctx context.Context, inputs any, started time.Time, files []Body) (Manifest, error) {
	m, err := h.steps.draft(h.id, h.Attempt(), inputs, started, files)
	m.Lease = h.token
	if err == nil {
		err = h.steps.writeAll(ctx, &m, files)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("commit step %s: %w", h.id, err)
	}
	h.quiet() // so that a renewal does not come after the clean-up
	end, err := h.steps.putEnd(ctx, h.id, leaseEnd{Token: h.token, How: endCommitted, By: m.Attempt, Manifest: &m})
	if err != nil {
		return Manifest{}, fmt.Errorf("commit step %s: %w", h.id, err)
	}
	if end.By != m.Attempt || end.Manifest == nil {
		h.steps.log().Warn("a late result is refused: the step was taken over", "step", h.id.String(), "attempt", m.Attempt, "token", h.token, "by", end.By)
		h.steps.discard(ctx, m)
		h.lost(ErrLost)
		return Manifest{}, fmt.Errorf("commit step %s as %s: %w (by %s)", h.id, m.Attempt, ErrLost, end.By)
	}
	winner, err := h.steps.publish(ctx, m)
	if err != nil {
		return Manifest{}, fmt.Errorf("commit step %s: %w", h.id, err)
	}
	if winner.Attempt != m.Attempt { // of a program that knows no leases
		h.steps.discard(ctx, m)
	}
	if h.token == 1 {
		// Nobody else ever held it, so nobody can come back late. Where somebody
		// might, the ends stay until `starter gc`.
		h.steps.forget(ctx, h.id, h.token)
	}
	h.ended = true
	return winner, nil
}

// Release gives the step up, so that another need not wait until the lease runs
// out. After a Commit that succeeded, or a second time,
// it does nothing.
func (h *Hold) Release() {
	h.quiet()
	defer h.lost(nil)
	if h.ended {
		return
	}
	h.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), releaseWithin)
	defer cancel()
	end, err := h.steps.putEnd(ctx, h.id, leaseEnd{Token: h.token, How: endReleased, By: h.Attempt()})
	if err == nil && end.How == endTaken && !errors.Is(context.Cause(h.ctx), ErrLost) {
		h.tellLost(end.By) // its context may have ended before it could notice
	}
	if err != nil {
		h.steps.log().Warn("a lease was not released; it runs out by itself", "step", h.id.String(), "token", h.token, "error", err)
	}
}

// SavePartial stores a checkpoint of the step, see Steps.LatestPartial. Those of
// a later holder count more, however far an earlier one gets after it was given
// up.
func (h *Hold) SavePartial(ctx context.Context, step int, state []byte) error {
	if errors.Is(context.Cause(h.ctx), ErrLost) { //nolint:contextcheck // asks whether the hold is lost, not whether ctx has ended
		return fmt.Errorf("save partial %d of step %s: %w", step, h.id, ErrLost)
	}
	return h.steps.savePartial(ctx, h.id, h.token, step, state)
}
