package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"floe/internal/experiment"
)

// Why an object is swept.
const (
	SweptUnnamed      = "unnamed"      // no manifest names it: of an attempt that died or lost
	SweptLease        = "lease"        // of a step that is done, or followed by a later lease
	SweptCheckpoint   = "checkpoint"   // or other unfinished work, of a step that is done
	SweptUnreferenced = "unreferenced" // of a step that no experiment refers to
	SweptCheck        = "check"        // left by a check of the store that was killed
	SweptUpload       = "upload"       // begun and never finished
	SweptQuarantine   = "quarantine"   // swept before, and its time in quarantine is over
)

// SweepOptions say what may go.
type SweepOptions struct {
	// Older is the grace: what is younger stays, and so does all of a step whose
	// lease was renewed since. Ages are by the store's own clock.
	Older time.Duration
	// Keep is how long what was swept stays in quarantine, from where Restore brings
	// it back. 0 deletes at once and empties the quarantine.
	Keep   time.Duration
	DryRun bool
	// Referenced is the set of steps that experiments refer to. Where it is not
	// nil, steps outside it are swept too, done or not, with their checkpoints.
	Referenced map[experiment.StepID]bool
}

// Swept says what went, or would go.
type Swept struct {
	DryRun  bool         `json:"dry_run"`
	Before  time.Time    `json:"before"` // what was written before, by the store's clock
	Objects int          `json:"objects"`
	Bytes   int64        `json:"bytes"` // without unfinished uploads, whose size is not known
	Reasons []SweptCount `json:"reasons"`
	// Aside names the part of the quarantine that took what could be needed after all,
	// for Restore; empty if nothing went there. Until says how long it stays.
	Aside string     `json:"aside,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Purged left the quarantine for good, after its time there.
	Purged SweptCount `json:"purged"`
	// Full says that the store had no room for the quarantine: what would have gone
	// there was deleted at once.
	Full bool `json:"full,omitempty"`
	// Held are steps that were left for the next sweep: a full store takes no note
	// that they are taken over from an attempt that may come back.
	Held []string `json:"held,omitempty"`
	// Incomplete are steps that were left alone because files that their manifests
	// name are missing or have another size.
	Incomplete []string `json:"incomplete,omitempty"`
}

// SweptCount is one reason's share.
type SweptCount struct {
	Reason  string `json:"reason"`
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// UploadSweeper is a store that can hold unfinished uploads.
type UploadSweeper interface {
	// CountUploads counts the uploads begun before a moment and not finished.
	CountUploads(ctx context.Context, before time.Time) (int, error)
	// SweepUploads aborts them and says how many.
	SweepUploads(ctx context.Context, before time.Time) (int, error)
}

// Clock is a store that says what time it is without a write.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// UnreadableError says that manifests cannot be read, so nothing was swept: what they
// name is not known, and a store that shows one damaged may show others so.
type UnreadableError struct{ Steps []string }

// Error says what to do.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("nothing was deleted: %d manifests cannot be read: %s; restore them, or set them aside with `starter artifacts verify --repair`",
		len(e.Steps), strings.Join(e.Steps, ", "))
}

// Sweep removes what nothing can need any more. It never touches what a manifest
// names, unless the step is not referenced, nor what was set aside by Quarantine,
// nor documents. That an object is needed by nothing rests on what is not there, so
// two complete listings must agree and every manifest must be readable, or nothing
// goes; and what lay under a step goes to quarantine first.
//
// An attempt that is still at work is safe: its lease is young. One that was stopped
// for longer than the grace is taken over before its objects go, so that it cannot
// commit them when it comes back.
func (s Steps) Sweep(ctx context.Context, o SweepOptions) (Swept, error) {
	now, err := s.storeTime(ctx, o.DryRun)
	if err != nil {
		return Swept{}, fmt.Errorf("sweep: %w", err)
	}
	b := broom{Steps: s, SweepOptions: o, now: now, out: Swept{DryRun: o.DryRun, Before: now.Add(-o.Older)}, counts: map[string]*SweptCount{}}
	plan, err := b.plan(ctx)
	if err == nil {
		err = b.carryOut(ctx, plan)
	}
	for _, reason := range slices.Sorted(maps.Keys(b.counts)) {
		b.out.Reasons = append(b.out.Reasons, *b.counts[reason])
	}
	if err != nil {
		err = fmt.Errorf("sweep: %w", err)
	}
	return b.out, err
}

// storeTime asks the store what time it is: the age of an object is a difference
// of its times, whatever the clock of this machine says. The time of an object that
// was just put is the surest; a full store, and one that may not be changed, is asked.
func (s Steps) storeTime(ctx context.Context, look bool) (now time.Time, err error) {
	clock, tells := s.Store.(Clock)
	if look && tells {
		return clock.Now(ctx)
	}
	key := checksPrefix + rand.Text()
	if err := s.Store.Put(ctx, key, strings.NewReader("what time is it?\n")); err != nil {
		if tells && ctx.Err() == nil {
			return clock.Now(ctx)
		}
		return now, err
	}
	defer func() { err = errors.Join(err, s.Store.Delete(ctx, key)) }()
	listed, err := s.Store.List(ctx, key)
	if err == nil && len(listed) != 1 {
		err = fmt.Errorf("%s was put and is not listed", key)
	}
	if err != nil {
		return now, err
	}
	return listed[0].Modified, nil
}

const checksPrefix = "checks/"

// broom is one sweep under way.
type broom struct {
	Steps
	SweepOptions
	now    time.Time // by the store's clock
	out    Swept
	counts map[string]*SweptCount
}

func (b *broom) carryOut(ctx context.Context, p plan) error {
	errs := []error{b.purge(ctx, p.purge), b.sweepChecks(ctx), b.sweepUploads(ctx)} // first what makes room
	for _, d := range p.steps {
		errs = append(errs, b.sweepStep(ctx, d))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// purge deletes what has been in quarantine for long enough.
func (b *broom) purge(ctx context.Context, objects []Object) error {
	var errs []error
	for _, o := range objects {
		if err := b.delete(ctx, o.Key); err != nil {
			errs = append(errs, err)
			continue
		}
		b.out.Purged.Reason = SweptQuarantine
		b.out.Purged.Objects++
		b.out.Purged.Bytes += o.Size
	}
	return errors.Join(errs...)
}

// sweepStep takes a step's garbage away. A step that is not done is taken over first.
func (b *broom) sweepStep(ctx context.Context, s doomedStep) error {
	if !s.done && !b.DryRun {
		free, err := b.fence(ctx, s.id)
		if errors.Is(err, ErrFull) {
			b.out.Held = append(b.out.Held, s.id.Kind+"/"+s.id.Key)
			return nil
		}
		if err != nil || !free {
			return err
		}
	}
	var errs []error
	for _, d := range s.list {
		errs = append(errs, b.setAside(ctx, d))
	}
	return errors.Join(errs...)
}

// fence takes a step over from a holder that was stopped. It is not free when
// that one is just committing.
func (b *broom) fence(ctx context.Context, id experiment.StepID) (free bool, err error) {
	c, err := b.claims(ctx, id)
	if err != nil || c.token == 0 {
		return err == nil, err
	}
	if c.end != nil { // ended already, which needs no write
		return c.end.Manifest == nil, nil
	}
	end, err := b.putEnd(ctx, id, leaseEnd{Token: c.token, How: endTaken, By: "gc"})
	return err == nil && end.Manifest == nil, err
}

// setAside moves an object to quarantine. A store without room for that gets rid of it.
func (b *broom) setAside(ctx context.Context, d doomed) error {
	if b.Keep <= 0 || b.out.Full {
		return b.remove(ctx, d)
	}
	moment := b.now.Format(momentLayout)
	if !b.DryRun {
		err := b.Store.Copy(ctx, d.Object, sweptKey(moment, d.Key))
		switch {
		case errors.Is(err, ErrNotFound): // gone since it was listed
			return nil
		case errors.Is(err, ErrFull):
			b.out.Full = true
			return b.remove(ctx, d)
		case err != nil:
			return err
		}
	}
	until := b.now.Add(b.Keep)
	b.out.Aside, b.out.Until = moment, &until
	return b.remove(ctx, d)
}

func (b *broom) remove(ctx context.Context, d doomed) error {
	if err := b.delete(ctx, d.Key); err != nil {
		return err
	}
	b.count(d.why, 1, d.Size)
	return nil
}

func (b *broom) delete(ctx context.Context, key string) error {
	if b.DryRun {
		return nil
	}
	return b.Store.Delete(ctx, key)
}

func (b *broom) count(why string, objects int, bytes int64) {
	c := b.counts[why]
	if c == nil {
		c = &SweptCount{Reason: why}
		b.counts[why] = c
	}
	c.Objects += objects
	c.Bytes += bytes
	b.out.Objects += objects
	b.out.Bytes += bytes
}

func (b *broom) sweepChecks(ctx context.Context) error {
	listed, err := b.Store.List(ctx, checksPrefix)
	errs := []error{err}
	for _, o := range listed {
		if o.Modified.Before(b.out.Before) {
			errs = append(errs, b.remove(ctx, doomed{o, SweptCheck}))
		}
	}
	return errors.Join(errs...)
}

func (b *broom) sweepUploads(ctx context.Context) error {
	store, ok := b.Store.(UploadSweeper)
	if !ok {
		return nil
	}
	sweep := store.SweepUploads
	if b.DryRun {
		sweep = store.CountUploads
	}
	n, err := sweep(ctx, b.out.Before)
	if n > 0 {
		b.count(SweptUpload, n, 0)
	}
	return err
}
