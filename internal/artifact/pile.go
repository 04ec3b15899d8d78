package artifact

import (
	"slices"
	"strings"
	"time"

	"floe/internal/experiment"
)

// pile is all that lies under one step, in key order.
type pile struct {
	id      experiment.StepID
	objects []Object
	aside   asides
}

func (p pile) has(key string) bool {
	return slices.ContainsFunc(p.objects, func(o Object) bool { return o.Key == key })
}

// whole says whether all files that a manifest names are there with their sizes.
func (p pile) whole(m Manifest) bool {
	sizes := make(map[string]int64, len(p.objects))
	for _, o := range p.objects {
		sizes[o.Key] = o.Size
	}
	return !slices.ContainsFunc(m.Files, func(f File) bool {
		size, there := sizes[f.Object]
		return !there || size != f.Size
	})
}

// doomed lists what may go: the manifest first, if it may, so that what is left
// by a sweep that was killed is a step that is not done.
func (p pile) doomed(before time.Time, m Manifest, done, unreferenced bool) []doomed {
	whole := unreferenced && !slices.ContainsFunc(p.objects, func(o Object) bool { return !o.Modified.Before(before) })
	newest := p.newestLease()
	var list []doomed
	for _, o := range p.objects {
		why := p.why(o.Key, m, done, newest)
		if whole && !p.aside.keeps(p.id, o.Key) {
			why = SweptUnreferenced
		}
		if why == "" || !o.Modified.Before(before) {
			continue
		}
		if o.Key == manifestKey(p.id) {
			list = slices.Insert(list, 0, doomed{o, why})
		} else {
			list = append(list, doomed{o, why})
		}
	}
	return list
}

// why says why an object may go; empty if it may not.
func (p pile) why(key string, m Manifest, done bool, newest string) string {
	rest := strings.TrimPrefix(key, stepPrefix(p.id))
	folder, _, _ := strings.Cut(rest, "/")
	switch {
	case rest == manifestFile:
		return ""
	case folder == leaseFolder && (done || !strings.HasPrefix(lastPart(key), newest)):
		return SweptLease
	case goesOn(folder) && done:
		return SweptCheckpoint
	case folder == leaseFolder || goesOn(folder): // a step that is not done goes on from them
		return ""
	case done && slices.ContainsFunc(m.Files, func(f File) bool { return f.Object == key }), p.aside.keeps(p.id, key):
		return ""
	default:
		return SweptUnnamed
	}
}

// newestLease is the token of the newest lease, with the dash after it.
func (p pile) newestLease() string {
	newest := ""
	for _, o := range p.objects {
		if isLease(o.Key) {
			token, _, _ := strings.Cut(lastPart(o.Key), "-")
			newest = max(newest, token+"-")
		}
	}
	return newest
}
