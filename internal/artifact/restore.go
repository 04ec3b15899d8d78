package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	sweptPrefix  = quarantinePrefix + "swept/"
	momentLayout = "20060102T150405Z"
)

// sweptKey is where Sweep puts an object aside.
func sweptKey(moment, key string) string { return sweptPrefix + moment + "/" + key }

// Restored says what came back from quarantine.
type Restored struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Taken are keys that hold something else by now; what was swept stays in quarantine.
	Taken []string `json:"taken"`
}

// Moments names the sweeps that left something in quarantine, oldest first.
func (s Steps) Moments(ctx context.Context) ([]string, error) {
	listed, err := s.Store.List(ctx, sweptPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the quarantine: %w", err)
	}
	var all []string
	for _, o := range listed {
		moment, _, _ := strings.Cut(strings.TrimPrefix(o.Key, sweptPrefix), "/")
		all = append(all, moment)
	}
	return slices.Compact(all), nil
}

// Restore brings back what a sweep put aside; ErrNotFound if there is nothing of that
// moment. Manifests come last, so that a step is done only when its files are back.
func (s Steps) Restore(ctx context.Context, moment string) (Restored, error) {
	if err := checkPart(moment); err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	from := sweptKey(moment, "")
	listed, err := s.Store.List(ctx, from)
	if err == nil && len(listed) == 0 {
		err = fmt.Errorf("the quarantine has nothing of %s: %w", moment, ErrNotFound)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	slices.SortStableFunc(listed, func(a, b Object) int { return manifestsLast(a.Key) - manifestsLast(b.Key) })
	out := Restored{Taken: []string{}}
	for _, o := range listed {
		if err := s.restore(ctx, o, strings.TrimPrefix(o.Key, from), &out); err != nil {
			return out, fmt.Errorf("restore %s: %w", o.Key, err)
		}
	}
	return out, nil
}

func manifestsLast(key string) int {
	if lastPart(key) == manifestFile {
		return 1
	}
	return 0
}

func (s Steps) restore(ctx context.Context, o Object, to string, out *Restored) error {
	r, err := s.Store.Get(ctx, to)
	if err == nil {
		out.Taken = append(out.Taken, to)
		return r.Close()
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := s.Store.Copy(ctx, o, to); err != nil {
		return err
	}
	out.Objects++
	out.Bytes += o.Size
	return s.Store.Delete(ctx, o.Key)
}
