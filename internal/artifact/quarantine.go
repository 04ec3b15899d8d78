package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"floe/internal/experiment"
)

const (
	stepsPrefix      = "steps/"
	quarantinePrefix = "quarantine/"
	unreadable       = "unreadable-" // in place of the attempt, where the manifest does not tell it
)

// Verify reads again all that a finished step wrote and reports everything that
// is not what its manifest says, as *CorruptErrors. What looks damaged is read
// once more first. A step without a manifest is ErrNotFound.
func (s Steps) Verify(ctx context.Context, id experiment.StepID) (Manifest, error) {
	m, done, err := s.Find(ctx, id)
	if err != nil || !done {
		if err == nil {
			err = fmt.Errorf("step %s has no manifest: %w", id, ErrNotFound)
		}
		return m, err
	}
	var errs []error
	for _, f := range m.Files {
		err := s.reread(ctx, m, f.Name)
		if _, ok := errors.AsType[*CorruptError](err); ok {
			err = s.reread(ctx, m, f.Name)
		}
		errs = append(errs, err)
	}
	return m, errors.Join(errs...)
}

func (s Steps) reread(ctx context.Context, m Manifest, name string) (err error) {
	r, err := s.Open(ctx, m, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	_, _, err = digest(ctx, r)
	return err
}

// Quarantine sets a step's result aside, so that the step counts as not done and
// is done again when it is needed. Nothing is deleted: the manifest moves to
// quarantine/<its key's folder>/<attempt>/, and what it names stays where it is;
// Sweep leaves it alone. It returns where the manifest went.
func (s Steps) Quarantine(ctx context.Context, id experiment.StepID) (string, error) {
	body, err := get(ctx, s.Store, manifestKey(id))
	if err != nil {
		return "", fmt.Errorf("quarantine step %s: %w", id, err)
	}
	attempt := fmt.Sprintf("%s%.8x", unreadable, sha256.Sum256(body))
	if m, err := decodeManifest(id, body); err == nil {
		attempt = m.Attempt
	}
	to := quarantinePrefix + stepPrefix(id) + attempt + "/" + manifestFile
	if err := s.Store.Put(ctx, to, bytes.NewReader(body)); err != nil {
		return "", fmt.Errorf("quarantine step %s: %w", id, err)
	}
	if err := s.undo(ctx, id); err != nil {
		return "", fmt.Errorf("quarantine step %s: %w", id, err)
	}
	if err := s.Store.Delete(ctx, manifestKey(id)); err != nil {
		return "", fmt.Errorf("quarantine step %s: %w", id, err)
	}
	return to, nil
}

// undo writes a lease that has ended after all others. Without it the end that
// holds the old manifest would bring that back.
func (s Steps) undo(ctx context.Context, id experiment.StepID) error {
	c, err := s.claims(ctx, id)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	end, err := s.putEnd(ctx, id, leaseEnd{Token: c.token + 1, How: endUndone, By: "quarantine"})
	if err == nil && end.Manifest != nil {
		err = errors.New("the step is just being done again")
	}
	return err
}

// asides are the attempts that were set aside, by step.
type asides map[string][]string

// Unreadable finds the manifests that cannot be read as such, also of steps that no
// experiment refers to.
func (s Steps) Unreadable(ctx context.Context) (map[experiment.StepID]error, error) {
	listed, err := s.Store.List(ctx, stepsPrefix)
	if err != nil {
		return nil, fmt.Errorf("find unreadable manifests: %w", err)
	}
	found := map[experiment.StepID]error{}
	for _, o := range listed {
		_, id, ok := stepOf(o.Key)
		if !ok || o.Key != manifestKey(id) {
			continue
		}
		body, err := get(ctx, s.Store, o.Key)
		if errors.Is(err, ErrNotFound) { // gone since it was listed
			continue
		}
		if err == nil {
			_, err = decodeManifest(id, body)
		}
		if _, damaged := errors.AsType[*CorruptError](err); damaged {
			found[id] = err
		} else if err != nil {
			return nil, fmt.Errorf("find unreadable manifests: %w", err)
		}
	}
	return found, nil
}

// asidesIn finds the manifests that were set aside in a listing of the quarantine.
func asidesIn(listed []Object) asides {
	all := asides{}
	for _, o := range listed {
		if strings.HasPrefix(o.Key, sweptPrefix) {
			continue
		}
		folder := strings.TrimSuffix(strings.TrimPrefix(o.Key, quarantinePrefix), "/"+manifestFile)
		step := strings.TrimSuffix(folder, lastPart(folder))
		all[step] = append(all[step], lastPart(folder))
	}
	return all
}

// keeps says whether an object belongs to an attempt that was set aside. Where a
// manifest could not be read, all objects of its step might.
func (a asides) keeps(id experiment.StepID, key string) bool {
	rest := strings.TrimPrefix(key, stepPrefix(id))
	for _, attempt := range a[stepPrefix(id)] {
		if strings.HasPrefix(attempt, unreadable) || strings.HasPrefix(rest, attempt+"/") {
			return true
		}
	}
	return false
}
