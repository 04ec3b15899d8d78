package files_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"floe/internal/artifact/artifacttest"
	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/files"
	"floe/internal/outage"
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

func TestAFileThatCannotBeReplacedStays(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(at, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := files.WriteAtomic(at, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file; want an error")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d entries are left, %v; want no temporary file", len(left), err)
	}
}

func TestADiskThatIsFullOrAwayIsAnOutage(t *testing.T) {
	for _, e := range []error{syscall.ENOSPC, syscall.EIO, syscall.ESTALE} {
		err := fmt.Errorf("keep it: %w", &fs.PathError{Op: "write", Path: "/shared/jobs/x", Err: e})
		if o, is := outage.As(files.Outage("/shared", err)); !is || o.Service != "the disk of /shared/jobs/x" {
			t.Errorf("%v: got %+v; want an outage of that disk", e, o)
		}
		if o, is := outage.As(files.Outage("/shared", fmt.Errorf("read: %w", e))); !is || o.Service != "the disk of /shared" {
			t.Errorf("%v: got %+v; want an outage of that disk", e, o)
		}
	}
	for _, e := range []error{syscall.EACCES, fs.ErrNotExist} {
		if o, is := outage.As(files.Outage("/shared", &fs.PathError{Op: "open", Path: "/x", Err: e})); is {
			t.Errorf("%v is taken for %v; it is an answer", e, o)
		}
	}
}
