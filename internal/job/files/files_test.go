package files_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"floe/internal/artifact/artifacttest"
	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/files"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

// each runs a test on a disk and on a store.
func each(t *testing.T, test func(t *testing.T, f job.Files)) {
	t.Run("Disk", func(t *testing.T) { test(t, files.Disk(t.TempDir())) })
	t.Run("Store", func(t *testing.T) { test(t, files.Store(t.Context(), artifacttest.NewMemory(), "jobs/train-1/")) })
}

func put(t *testing.T, f job.Files, name, text string) {
	t.Helper()
	if err := f.Put(t.Context(), name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsPutIsRead(t *testing.T) {
	each(t, func(t *testing.T, f job.Files) {
		put(t, f, "a/b/c.txt", "first, longer")
		put(t, f, "a/b/c.txt", "second")
		body, err := fs.ReadFile(f, "a/b/c.txt")
		if err != nil || !bytes.Equal(body, []byte("second")) {
			t.Errorf("read %q, %v", body, err)
		}
		for _, absent := range []string{"a/b/d.txt", "a/b/c.txt/e", "z"} {
			if _, err := f.Open(absent); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("open of %s: %v; want that it does not exist", absent, err)
			}
		}
		for _, bad := range []string{"../x", "/x", "", "a//b"} {
			if err := f.Put(t.Context(), bad, nil); err == nil {
				t.Errorf("put under %q worked; want it to be refused", bad)
			}
		}
	})
}

func TestFilesAreFoundByPattern(t *testing.T) {
	each(t, func(t *testing.T, f job.Files) {
		put(t, f, "metrics/a1.jsonl", "1")
		put(t, f, "metrics/a2.jsonl", "2")
		put(t, f, "metrics/old/a3.jsonl", "3")
		put(t, f, "metrics2/a4.jsonl", "4")
		names, err := fs.Glob(f, "metrics/a*.jsonl")
		if err != nil || !slices.Equal(names, []string{"metrics/a1.jsonl", "metrics/a2.jsonl"}) {
			t.Errorf("found %q, %v", names, err)
		}
		if names, err := fs.Glob(f, "none/a*.jsonl"); err != nil || len(names) > 0 {
			t.Errorf("in no folder found %q, %v", names, err)
		}
	})
}

func TestAStopIsRequestedOfOneAttempt(t *testing.T) {
	each(t, func(t *testing.T, f job.Files) {
		if err := job.RequestStop(t.Context(), f, 3); err != nil {
			t.Fatal(err)
		}
		if body, err := fs.ReadFile(f, "stop.requested"); err != nil || string(body) != "3\n" {
			t.Errorf("read %q, %v; want the attempt's number", body, err)
		}
	})
}
