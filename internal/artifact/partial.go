package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"floe/internal/experiment"
)

const (
	partialSchema = "floe.partial/v2"
	maxPartial    = 99_999_999 // so that names sort by step
)

// partial says that a checkpoint inside a step is whole. It is written last.
type partial struct {
	Schema string    `json:"schema"`
	Token  int       `json:"token"` // of the lease under which it was saved; 0: without one
	Step   int       `json:"step"`
	Object string    `json:"object"`
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Saved  time.Time `json:"saved"`
}

// SavePartial stores a checkpoint of a step that is still at work, and drops all
// before it but one. The place is named by the content too: attempts that are at
// work at once cannot tear each other's checkpoints.
func (s Steps) SavePartial(ctx context.Context, id experiment.StepID, step int, state []byte) error {
	return s.savePartial(ctx, id, 0, step, state)
}

func (s Steps) savePartial(ctx context.Context, id experiment.StepID, token, step int, state []byte) error {
	if step < 0 || step > maxPartial {
		return fmt.Errorf("save partial of step %s: step %d; want 0 to %d", id, step, maxPartial)
	}
	sum := sha256.Sum256(state)
	folder := fmt.Sprintf("%s%s%x", partialPrefix(id), partialName(token, step), sum[:8])
	p := partial{
		Schema: partialSchema, Token: token, Step: step, Object: folder + "/state",
		Size: int64(len(state)), SHA256: hex.EncodeToString(sum[:]), Saved: s.now(),
	}
	if err := s.putPartial(ctx, folder, p, state); err != nil {
		return fmt.Errorf("save partial %d of step %s: %w", step, id, err)
	}
	if err := s.prune(ctx, id, folder); err != nil {
		return fmt.Errorf("drop old partials of step %s: %w", id, err)
	}
	return nil
}

func (s Steps) putPartial(ctx context.Context, folder string, p partial, state []byte) error {
	if err := s.Store.Put(ctx, p.Object, bytes.NewReader(state)); err != nil {
		return err
	}
	body, err := encodeJSON(p)
	if err != nil {
		return err
	}
	return s.Store.Put(ctx, folder+"/"+manifestFile, bytes.NewReader(body))
}

// prune deletes what lies before the folder just written, but for the last one
// that was finished. What lies after it stays: it belongs to an attempt that is
// further on, or it could not be read and will be written over.
func (s Steps) prune(ctx context.Context, id experiment.StepID, written string) error {
	folders, err := s.partials(ctx, id)
	if err != nil {
		return err
	}
	keep := ""
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if name < written && folders[name].finished() {
			keep = name
		}
	}
	var errs []error
	for name, f := range folders {
		if name < written && name != keep {
			errs = append(errs, s.deleteAll(ctx, f.keys))
		}
	}
	return errors.Join(errs...)
}

// LatestPartial finds the newest checkpoint of a step that is whole. Torn and
// damaged ones are logged and passed over; ok is false when none is left.
func (s Steps) LatestPartial(ctx context.Context, id experiment.StepID) (step int, state []byte, ok bool, err error) {
	folders, err := s.partials(ctx, id)
	if err != nil {
		return 0, nil, false, fmt.Errorf("find partials of step %s: %w", id, err)
	}
	names := slices.Sorted(maps.Keys(folders))
	for _, name := range slices.Backward(names) {
		step, state, err = s.readPartial(ctx, name)
		var corrupt *CorruptError
		switch {
		case err == nil:
			return step, state, true, nil
		case errors.As(err, &corrupt) || errors.Is(err, ErrNotFound):
			s.log().Warn("a partial checkpoint is passed over", "step", id.String(), "partial", name, "error", err)
		default:
			return 0, nil, false, fmt.Errorf("read partial of step %s: %w", id, err)
		}
	}
	return 0, nil, false, nil
}

func (s Steps) readPartial(ctx context.Context, folder string) (int, []byte, error) {
	key := folder + "/" + manifestFile
	body, err := get(ctx, s.Store, key)
	if err != nil {
		return 0, nil, err
	}
	var p partial
	if err := json.Unmarshal(body, &p); err != nil {
		return 0, nil, &CorruptError{Object: key, Want: "a record of a partial in JSON", Got: err.Error()}
	}
	if p.Schema != partialSchema || !strings.HasPrefix(lastPart(folder), partialName(p.Token, p.Step)) || p.Object != folder+"/state" {
		return 0, nil, &CorruptError{
			Object: key, Want: partialSchema + " of this folder",
			Got: fmt.Sprintf("%s of step %d at %s", p.Schema, p.Step, p.Object),
		}
	}
	state, err := get(ctx, s.Store, p.Object)
	if err != nil {
		return 0, nil, err
	}
	sum := sha256.Sum256(state)
	if got := hex.EncodeToString(sum[:]); got != p.SHA256 {
		return 0, nil, &CorruptError{Object: p.Object, Want: describe(p.Size, p.SHA256), Got: describe(int64(len(state)), got)}
	}
	return p.Step, state, nil
}

// DropPartials deletes the checkpoints of a step that is done.
func (s Steps) DropPartials(ctx context.Context, id experiment.StepID) error {
	folders, err := s.partials(ctx, id)
	if err != nil {
		return fmt.Errorf("find partials of step %s: %w", id, err)
	}
	var errs []error
	for _, f := range folders {
		errs = append(errs, s.deleteAll(ctx, f.keys))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop partials of step %s: %w", id, err)
	}
	return nil
}

// partialDir is one checkpoint's folder as listed.
type partialDir struct{ keys []string }

func (d partialDir) finished() bool {
	return slices.ContainsFunc(d.keys, func(k string) bool { return lastPart(k) == manifestFile })
}

// partials lists the folders of checkpoints by their full name.
func (s Steps) partials(ctx context.Context, id experiment.StepID) (map[string]partialDir, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	listed, err := s.Store.List(ctx, partialPrefix(id))
	if err != nil {
		return nil, err
	}
	folders := map[string]partialDir{}
	for _, o := range listed {
		folder := strings.TrimSuffix(o.Key, "/"+lastPart(o.Key))
		folders[folder] = partialDir{append(folders[folder].keys, o.Key)}
	}
	return folders, nil
}

func (s Steps) deleteAll(ctx context.Context, keys []string) error {
	var errs []error
	for _, k := range keys { // in key order: the record goes before the state
		errs = append(errs, s.Store.Delete(ctx, k))
	}
	return errors.Join(errs...)
}

// partialName sorts by token first: what a holder saves that was given up comes
// before all that a later one saves.
func partialName(token, step int) string { return fmt.Sprintf("%08d-%08d-", token, step) }

func partialPrefix(id experiment.StepID) string { return stepPrefix(id) + partialFolder + "/" }

func lastPart(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
