package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"floe/internal/experiment"
)

const stepSchema = "floe.step/v1"

// Steps keeps what steps wrote, and knows which are done. The zero values of all
// fields but Store are usable.
type Steps struct {
	Store   Store
	Version string           // of this program, for the record
	Host    string           // for the record
	Now     func() time.Time // nil: the clock
	// LeaseFor is how long a lease is believed without a renewal; 0 is 20 s. What
	// is shorter than a pause of the program costs work, never correctness.
	LeaseFor time.Duration
	Log      *slog.Logger // told what was skipped or left behind; nil: nobody
}

// Find says whether a step is done, and how. A manifest whose objects are not
// all there, whole, is a *CorruptError: work must not go on from it.
func (s Steps) Find(ctx context.Context, id experiment.StepID) (Manifest, bool, error) {
	if err := checkID(id); err != nil {
		return Manifest{}, false, err
	}
	body, err := get(ctx, s.Store, manifestKey(id))
	if errors.Is(err, ErrNotFound) {
		return Manifest{}, false, nil
	}
	if err != nil {
		return Manifest{}, false, fmt.Errorf("find step %s: %w", id, err)
	}
	m, err := decodeManifest(id, body)
	if err == nil {
		err = s.checkObjects(ctx, m)
	}
	if err != nil {
		return Manifest{}, false, fmt.Errorf("find step %s: %w", id, err)
	}
	return m, true, nil
}

// Commit records a step as done without a claim: its objects first, read back and checked, the
// manifest last. When another attempt was quicker its manifest is returned as
// adopted, and ours is removed. After an error the step may be done or not; a
// later Find tells.
func (s Steps) Commit(ctx context.Context, id experiment.StepID, attempt string, inputs any, started time.Time, files []Body) (m Manifest, adopted bool, err error) {
	m, err = s.draft(id, attempt, inputs, started, files)
	if err != nil {
		return Manifest{}, false, fmt.Errorf("commit step %s: %w", id, err)
	}
	if err := s.writeAll(ctx, &m, files); err != nil {
		return Manifest{}, false, fmt.Errorf("commit step %s: %w", id, err)
	}
	winner, err := s.publish(ctx, m)
	if err != nil {
		return Manifest{}, false, fmt.Errorf("commit step %s: %w", id, err)
	}
	if winner.Attempt == attempt {
		return winner, false, nil
	}
	s.discard(ctx, m)
	return winner, true, nil
}

// draft is the manifest before anything is written.
func (s Steps) draft(id experiment.StepID, attempt string, inputs any, started time.Time, files []Body) (Manifest, error) {
	names := make([]string, len(files))
	objects := make([]File, len(files))
	for i, b := range files {
		names[i] = b.Name
		objects[i] = File{Name: b.Name, Object: objectKey(id, attempt, b.Name)}
	}
	digested, err := json.Marshal(inputs)
	if err != nil {
		err = fmt.Errorf("inputs: %w", err)
	}
	return Manifest{
		Schema: stepSchema, ID: id, Attempt: attempt, Inputs: digested, Files: objects,
		Started: started.UTC(), Host: s.Host, Version: s.Version,
	}, errors.Join(err, checkStep(id, attempt, names))
}

// writeAll writes the objects of a draft, which is complete then.
func (s Steps) writeAll(ctx context.Context, m *Manifest, files []Body) error {
	for i, b := range files {
		if err := s.write(ctx, &m.Files[i], b); err != nil {
			return err
		}
	}
	m.Finished = s.now()
	return nil
}

// write puts one object and believes only what it reads back.
func (s Steps) write(ctx context.Context, f *File, b Body) (err error) {
	r, err := b.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if f.Size, f.SHA256, err = digest(ctx, r); err != nil {
		return fmt.Errorf("read %s: %w", b.Name, err)
	}
	if err := s.Store.Put(ctx, f.Object, r); err != nil {
		return err
	}
	size, sum, err := s.stored(ctx, f.Object)
	if err != nil {
		return fmt.Errorf("read back %s: %w", f.Object, err)
	}
	if size != f.Size || sum != f.SHA256 {
		// Not a CorruptError: nothing was recorded yet, and the next attempt may do better.
		return fmt.Errorf("read back %s: got %s; wrote %s", f.Object, describe(size, sum), describe(f.Size, f.SHA256))
	}
	return nil
}

func (s Steps) stored(ctx context.Context, key string) (size int64, sum string, err error) {
	r, err := s.Store.Get(ctx, key)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return digest(ctx, r)
}

// publish puts the manifest and returns the one that counts. The answer to a put
// can be lost although the put was done, and a retry then finds its own work in
// the way: what the store holds decides, not what it answered.
func (s Steps) publish(ctx context.Context, m Manifest) (Manifest, error) {
	body, err := encodeJSON(m)
	if err != nil {
		return Manifest{}, err
	}
	put := s.Store.PutIfAbsent(ctx, manifestKey(m.ID), body)
	if put == nil {
		return m, nil
	}
	there, found, err := s.Find(ctx, m.ID)
	switch {
	case errors.Is(put, ErrExists) && err != nil:
		return Manifest{}, err
	case err != nil || !found:
		return Manifest{}, put
	}
	return there, nil
}

// discard removes the objects of an attempt that lost. What it cannot remove
// only costs space.
func (s Steps) discard(ctx context.Context, m Manifest) {
	for _, f := range m.Files {
		if err := s.Store.Delete(ctx, f.Object); err != nil {
			s.log().Warn("an object of an attempt that lost stays behind", "object", f.Object, "error", err)
		}
	}
}

func (s Steps) now() time.Time {
	if s.Now == nil {
		return time.Now().UTC()
	}
	return s.Now().UTC()
}

func (s Steps) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

func get(ctx context.Context, store Store, key string) (body []byte, err error) {
	r, err := store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(&interruptible{ctx, r})
}
