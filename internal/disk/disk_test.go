package disk_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"floe/internal/disk"
	"floe/internal/importtest"
	"floe/internal/outage"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.Domain...) }

func TestAFileThatCannotBeReplacedStays(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(at, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteAtomic(at, []byte("x")); err == nil {
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
		if o, is := outage.As(disk.Outage("/shared", err)); !is || o.Service != "the disk of /shared/jobs/x" {
			t.Errorf("%v: got %+v; want an outage of that disk", e, o)
		}
		if o, is := outage.As(disk.Outage("/shared", fmt.Errorf("read: %w", e))); !is || o.Service != "the disk of /shared" {
			t.Errorf("%v: got %+v; want an outage of that disk", e, o)
		}
	}
	for _, e := range []error{syscall.EACCES, fs.ErrNotExist} {
		if o, is := outage.As(disk.Outage("/shared", &fs.PathError{Op: "open", Path: "/x", Err: e})); is {
			t.Errorf("%v is taken for %v; it is an answer", e, o)
		}
	}
}
