// Package checkpoint brings what a training has left from the artifact store to a
// disk: for a server to load, or for the next round to start from.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"floe/internal/artifact"
	"floe/internal/disk"
	"floe/internal/job"
	"floe/internal/serve"
)

// Prefix is where a step's checkpoint is among the step's files: its manifest, and
// each of its files under the path that the manifest gives it.
const Prefix = "checkpoint/"

const manifestName = "manifest.json"

// Part is what of a checkpoint is wanted.
type Part int

// Parts.
const (
	All   Part = iota // to go on with the training
	Model             // to serve it: the files with the role model
)

func (p Part) wants(f job.File) bool { return p == All || f.Role == job.RoleModel }

// Copy is a checkpoint on this machine's disk.
type Copy struct {
	Dir      string // absolute
	SHA256   string // of manifest.json
	Manifest job.Manifest
}

// Served is the checkpoint for a server, under a label for people.
func (c Copy) Served(label string) serve.Checkpoint {
	return serve.Checkpoint{Label: label, Dir: c.Dir, SHA256: c.SHA256}
}

// ErrNone is a step that holds no checkpoint.
var ErrNone = errors.New("the step has no checkpoint")

// read reads the manifest of a step's checkpoint, and digests it. ErrNone where the
// step has none.
func read(ctx context.Context, steps artifact.Steps, m artifact.Manifest) (Copy, []byte, error) {
	if _, ok := m.File(Prefix + manifestName); !ok {
		return Copy{}, nil, fmt.Errorf("%s: %w", m.ID, ErrNone)
	}
	body, err := steps.Read(ctx, m, Prefix+manifestName)
	if err != nil {
		return Copy{}, nil, err
	}
	found, sum, err := job.ParseManifest(Prefix+manifestName, body)
	if err != nil {
		return Copy{}, nil, fmt.Errorf("checkpoint of %s: %w", m.ID, err)
	}
	return Copy{SHA256: sum, Manifest: found}, body, agree(m, found)
}

// agree compares what the checkpoint says of its files with what the step does.
func agree(m artifact.Manifest, found job.Manifest) error {
	var errs []error
	for _, f := range found.Files {
		there, ok := m.File(Prefix + f.Path)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("checkpoint of %s: the step has no file %s", m.ID, Prefix+f.Path))
		case there.Size != f.Size || there.SHA256 != f.SHA256:
			errs = append(errs, fmt.Errorf("checkpoint of %s: %s is recorded with %d bytes and sha256 %s; the checkpoint says %d and %s",
				m.ID, there.Name, there.Size, there.SHA256, f.Size, f.SHA256))
		}
	}
	return errors.Join(errs...)
}

// Fetch makes a part of a step's checkpoint whole in a folder of its own below
// folder, named by the digest of its manifest. What is whole there already stays;
// everything is verified, and manifest.json comes last: a folder without it is torn.
// Of several that fetch the same, in whatever process, one does the work and the
// others wait. Copies that nobody has fetched for a week are removed from folder.
// Report gets sentences now and then; it may be nil.
//
// A *artifact.CorruptError is damage in the store, which no retry mends; a disk that is
// full or away is an outage.
func Fetch(ctx context.Context, steps artifact.Steps, m artifact.Manifest, folder string, part Part, report func(note string)) (Copy, error) {
	c, err := fetch(ctx, steps, m, folder, part, report)
	return c, disk.Outage(folder, err)
}

func fetch(ctx context.Context, steps artifact.Steps, m artifact.Manifest, folder string, part Part, report func(note string)) (Copy, error) {
	if report == nil {
		report = func(string) {}
	}
	c, body, err := read(ctx, steps, m)
	if err != nil {
		return Copy{}, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return Copy{}, err
	}
	c.Dir = filepath.Join(folder, c.SHA256)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // a server of another user may read it
		return Copy{}, fmt.Errorf("fetch checkpoint: %w", err)
	}
	release, err := lock(ctx, filepath.Join(folder, c.SHA256+lockEnd), report)
	if err != nil {
		return Copy{}, fmt.Errorf("fetch checkpoint: %w", err)
	}
	defer release()
	g := &getter{steps: steps, step: m, dir: c.Dir, report: report}
	if err := g.all(ctx, c.Manifest, part); err != nil {
		return Copy{}, fmt.Errorf("fetch checkpoint of %s: %w", m.ID, err)
	}
	if err := trim(folder, time.Now().Add(-part.keepFor())); err != nil {
		report("old copies of checkpoints were not removed: " + err.Error())
	}
	if there, err := os.ReadFile(filepath.Join(c.Dir, manifestName)); err == nil && string(there) == string(body) {
		return c, nil
	}
	if err := disk.WriteAtomic(filepath.Join(c.Dir, manifestName), body); err != nil {
		return Copy{}, fmt.Errorf("fetch checkpoint of %s: %w", m.ID, err)
	}
	return c, os.Chmod(filepath.Join(c.Dir, manifestName), 0o644) //nolint:gosec // as the other files
}
