package artifact

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"floe/internal/experiment"
)

// decodeManifest reads a manifest and refuses one that is not of this step, or
// that points outside it.
func decodeManifest(id experiment.StepID, body []byte) (Manifest, error) {
	bad := func(want, got string) (Manifest, error) {
		key := manifestKey(id)
		return Manifest{}, &CorruptError{Object: key, Want: want, Got: got, Manifest: key}
	}
	var m Manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return bad("a manifest in JSON", err.Error())
	}
	if m.Schema != stepSchema {
		return bad("schema "+stepSchema, fmt.Sprintf("%q", m.Schema))
	}
	if m.ID != id {
		return bad("a manifest of step "+id.Kind+"/"+id.Key, m.ID.Kind+"/"+m.ID.Key)
	}
	if err := checkManifest(m); err != nil {
		return bad("a well-formed manifest", err.Error())
	}
	return m, nil
}

func checkManifest(m Manifest) error {
	var errs []error
	names := make([]string, len(m.Files))
	for i, f := range m.Files {
		names[i] = f.Name
		if want := objectKey(m.ID, m.Attempt, f.Name); f.Object != want {
			errs = append(errs, fmt.Errorf("file %q at %q; want %q", f.Name, f.Object, want))
		}
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 {
			errs = append(errs, fmt.Errorf("file %q has sha256 %q; want 64 hex digits", f.Name, f.SHA256))
		}
		if f.Size < 0 {
			errs = append(errs, fmt.Errorf("file %q has size %d", f.Name, f.Size))
		}
	}
	return errors.Join(append(errs, checkStep(m.ID, m.Attempt, names))...)
}

// checkObjects lists what is there and reports every object that is missing or
// of another size. Digests are checked when the objects are read.
func (s Steps) checkObjects(ctx context.Context, m Manifest) error {
	if len(m.Files) == 0 {
		return nil
	}
	listed, err := s.Store.List(ctx, stepPrefix(m.ID)+m.Attempt+"/")
	if err != nil {
		return err
	}
	sizes := make(map[string]int64, len(listed))
	for _, o := range listed {
		sizes[o.Key] = o.Size
	}
	var errs []error
	for _, f := range m.Files {
		size, ok := sizes[f.Object]
		switch {
		case !ok:
			errs = append(errs, corruptFile(m, f, fmt.Sprintf("%d bytes", f.Size), "no object"))
		case size != f.Size:
			errs = append(errs, corruptFile(m, f, fmt.Sprintf("%d bytes", f.Size), fmt.Sprintf("%d bytes", size)))
		}
	}
	return errors.Join(errs...)
}
