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
)

// SweepOptions say what may go.
type SweepOptions struct {
	// Older is the grace: what is younger stays, and so does all of a step whose
	// lease was renewed since. Ages are by the store's own clock.
	Older  time.Duration
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
	// Damaged are steps that were left alone because their manifest cannot be read.
	Damaged []string `json:"damaged"`
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

// Sweep removes what nothing can need any more. It never touches what a manifest
// names, unless the step is not referenced, nor what was set aside by Quarantine,
// nor documents. An attempt that is still at work is safe: its lease is young.
// One that was stopped for longer than the grace is taken over before its objects
// go, so that it cannot commit them when it comes back.
func (s Steps) Sweep(ctx context.Context, o SweepOptions) (Swept, error) {
	now, err := s.storeTime(ctx)
	if err != nil {
		return Swept{}, fmt.Errorf("sweep: %w", err)
	}
	b := broom{Steps: s, SweepOptions: o, out: Swept{DryRun: o.DryRun, Before: now.Add(-o.Older)}, counts: map[string]*SweptCount{}}
	err = errors.Join(b.sweepSteps(ctx), b.sweepChecks(ctx), b.sweepUploads(ctx))
	for _, reason := range slices.Sorted(maps.Keys(b.counts)) {
		b.out.Reasons = append(b.out.Reasons, *b.counts[reason])
	}
	if err != nil {
		err = fmt.Errorf("sweep: %w", err)
	}
	return b.out, err
}

// storeTime asks the store what time it is: the age of an object is a difference
// of its times, whatever the clock of this machine says.
func (s Steps) storeTime(ctx context.Context) (now time.Time, err error) {
	key := checksPrefix + rand.Text()
	if err := s.Store.Put(ctx, key, strings.NewReader("what time is it?\n")); err != nil {
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
	out    Swept
	counts map[string]*SweptCount
}

func (b *broom) sweepSteps(ctx context.Context) error {
	aside, err := b.asides(ctx)
	if err != nil {
		return err
	}
	listed, err := b.Store.List(ctx, stepsPrefix)
	if err != nil {
		return err
	}
	var errs []error
	for len(listed) > 0 {
		prefix, id, ok := stepOf(listed[0].Key)
		n := 1
		for n < len(listed) && ok && strings.HasPrefix(listed[n].Key, prefix) {
			n++
		}
		if ok {
			errs = append(errs, b.sweepStep(ctx, pile{id: id, objects: listed[:n], aside: aside}))
		}
		listed = listed[n:]
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// stepOf is the step that an object lies under.
func stepOf(key string) (prefix string, id experiment.StepID, ok bool) {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 || parts[0]+"/" != stepsPrefix {
		return "", id, false
	}
	id = experiment.StepID{Kind: parts[1], Key: parts[2]}
	return stepPrefix(id), id, true
}

// doomed is an object that may go, and why.
type doomed struct {
	Object
	why string
}

func (b *broom) sweepStep(ctx context.Context, p pile) error {
	if p.alive(b.out.Before) {
		return nil
	}
	m, done, err := b.manifestOf(ctx, p)
	if _, damaged := errors.AsType[*CorruptError](err); damaged {
		b.out.Damaged = append(b.out.Damaged, p.id.Kind+"/"+p.id.Key)
		return nil
	}
	if err != nil {
		return err
	}
	unreferenced := b.Referenced != nil && !b.Referenced[p.id]
	list := p.doomed(b.out.Before, m, done, unreferenced)
	if len(list) == 0 {
		return nil
	}
	if !done && !b.DryRun {
		if free, err := b.fence(ctx, p.id); err != nil || !free {
			return err
		}
	}
	var errs []error
	for _, d := range list {
		errs = append(errs, b.remove(ctx, d))
	}
	return errors.Join(errs...)
}

// manifestOf reads a step's manifest, if it has one, and believes what it names.
func (b *broom) manifestOf(ctx context.Context, p pile) (Manifest, bool, error) {
	if !p.has(manifestKey(p.id)) {
		return Manifest{}, false, nil
	}
	body, err := get(ctx, b.Store, manifestKey(p.id))
	if err != nil {
		return Manifest{}, false, err
	}
	m, err := decodeManifest(p.id, body)
	return m, err == nil, err
}

// fence takes a step over from a holder that was stopped. It is not free when
// that one is just committing.
func (b *broom) fence(ctx context.Context, id experiment.StepID) (free bool, err error) {
	c, err := b.claims(ctx, id)
	if err != nil || c.token == 0 {
		return err == nil, err
	}
	end, err := b.putEnd(ctx, id, leaseEnd{Token: c.token, How: endTaken, By: "gc"})
	return err == nil && end.Manifest == nil, err
}

func (b *broom) remove(ctx context.Context, d doomed) error {
	if !b.DryRun {
		if err := b.Store.Delete(ctx, d.Key); err != nil {
			return err
		}
	}
	b.count(d.why, 1, d.Size)
	return nil
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
