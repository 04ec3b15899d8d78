package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"floe/internal/experiment"
)

// plan is what a sweep takes away. Nothing has gone while it is made.
type plan struct {
	steps []doomedStep
	purge []Object // of the quarantine, for good
}

// doomedStep is a step with objects that may go.
type doomedStep struct {
	id   experiment.StepID
	done bool
	list []doomed
}

// doomed is an object that may go, and why.
type doomed struct {
	Object
	why string
}

// plan looks at everything before anything goes.
func (b *broom) plan(ctx context.Context) (plan, error) {
	quarantine, err := b.listTwice(ctx, quarantinePrefix)
	if err != nil {
		return plan{}, err
	}
	listed, err := b.listTwice(ctx, stepsPrefix)
	if err != nil {
		return plan{}, err
	}
	var p plan
	var unreadable []string
	for _, pile := range pilesOf(listed, asidesIn(quarantine)) {
		d, err := b.look(ctx, pile)
		if _, damaged := errors.AsType[*CorruptError](err); damaged {
			unreadable = append(unreadable, pile.id.Kind+"/"+pile.id.Key)
			continue
		}
		if err != nil {
			return plan{}, err
		}
		if len(d.list) > 0 {
			p.steps = append(p.steps, d)
		}
	}
	if len(unreadable) > 0 {
		return plan{}, &UnreadableError{unreadable}
	}
	for _, o := range quarantine {
		if strings.HasPrefix(o.Key, sweptPrefix) && !o.Modified.After(b.now.Add(-b.Keep)) {
			p.purge = append(p.purge, o)
		}
	}
	return p, nil
}

// look finds what may go of one step.
func (b *broom) look(ctx context.Context, p pile) (doomedStep, error) {
	m, done, err := b.manifestOf(ctx, p)
	if err != nil {
		return doomedStep{}, err
	}
	unreferenced := b.Referenced != nil && !b.Referenced[p.id]
	if done && !unreferenced && !p.whole(m) {
		b.out.Incomplete = append(b.out.Incomplete, p.id.Kind+"/"+p.id.Key)
		return doomedStep{}, nil
	}
	return doomedStep{p.id, done, p.doomed(b.out.Before, m, done, unreferenced)}, nil
}

// manifestOf reads a step's manifest, if it has one, and believes what it names. The
// store is asked for it whatever the listings say: without it, all that it names
// would be garbage.
func (b *broom) manifestOf(ctx context.Context, p pile) (Manifest, bool, error) {
	body, err := get(ctx, b.Store, manifestKey(p.id))
	switch listed := p.has(manifestKey(p.id)); {
	case errors.Is(err, ErrNotFound) && !listed:
		return Manifest{}, false, nil
	case errors.Is(err, ErrNotFound):
		return Manifest{}, false, fmt.Errorf("%s is listed and cannot be read: it went just now, or the listing is wrong; nothing was deleted", manifestKey(p.id))
	case err != nil:
		return Manifest{}, false, err
	case !listed:
		return Manifest{}, false, fmt.Errorf("%s can be read and is not listed: it came just now, or the listing is wrong; nothing was deleted", manifestKey(p.id))
	}
	m, err := decodeManifest(p.id, body)
	return m, err == nil, err
}

// listTwice lists what is under a prefix, but for the steps that are held, and wants
// to be told the same twice. What changed within the grace may differ.
func (b *broom) listTwice(ctx context.Context, prefix string) ([]Object, error) {
	first, err := b.Store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	second, err := b.Store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	held := heldSince(b.out.Before, first, second)
	of := func(listed []Object) []Object {
		return slices.DeleteFunc(listed, func(o Object) bool {
			step, _, ok := stepOf(o.Key)
			return ok && held[step]
		})
	}
	first, second = of(first), of(second)
	if key, differs := difference(first, second, b.out.Before); differs {
		return nil, fmt.Errorf("two listings of %s disagree about %s: it changed meanwhile, or the store's listings cannot be trusted; nothing was deleted", prefix, key)
	}
	return second, nil
}

// heldSince finds the steps with a lease that was renewed since a moment: a holder
// renews its lease all the time.
func heldSince(moment time.Time, listings ...[]Object) map[string]bool {
	held := map[string]bool{}
	for _, listed := range listings {
		for _, o := range listed {
			if step, _, ok := stepOf(o.Key); ok && isLease(o.Key) && !o.Modified.Before(moment) {
				held[step] = true
			}
		}
	}
	return held
}

// difference names an object that only one of two listings has as it is, among those
// written before a moment.
func difference(a, b []Object, before time.Time) (key string, differs bool) {
	seen := map[Object]bool{}
	for _, o := range a {
		seen[o] = true
	}
	for _, o := range b {
		if !seen[o] && o.Modified.Before(before) {
			return o.Key, true
		}
		delete(seen, o)
	}
	for o := range seen {
		if o.Modified.Before(before) {
			return o.Key, true
		}
	}
	return "", false
}

// pilesOf sorts a listing by steps.
func pilesOf(listed []Object, aside asides) []pile {
	var all []pile
	for len(listed) > 0 {
		prefix, id, ok := stepOf(listed[0].Key)
		n := 1
		for n < len(listed) && ok && strings.HasPrefix(listed[n].Key, prefix) {
			n++
		}
		if ok {
			all = append(all, pile{id: id, objects: listed[:n], aside: aside})
		}
		listed = listed[n:]
	}
	return all
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
