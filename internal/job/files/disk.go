// Package files is where a worker sees a job's directory: on a disk that it
// shares with the job, or in the store that the job keeps its files in.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"floe/internal/atomicfile"
	"floe/internal/job"
	"floe/internal/outage"
)

// Disk is a job's directory on a disk that worker and job share.
func Disk(dir string) job.Files { return disk{dir} }

type disk struct{ dir string }

// Open implements fs.FS.
func (d disk) Open(name string) (fs.File, error) {
	f, err := os.DirFS(d.dir).Open(name)
	if errors.Is(err, syscall.ENOTDIR) { // below what is a file there is nothing
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, err
}

// Put implements job.Files.
func (d disk) Put(_ context.Context, name string, body []byte) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("put %q: want a path below the job's directory", name)
	}
	to := filepath.Join(d.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	return WriteAtomic(to, body)
}

// Outage marks an error of a disk that does not serve at present: it is full, or a shared
// one is away. At names the disk where the error does not say a path.
func Outage(at string, err error) error {
	_, marked := errors.AsType[*outage.Error](err)
	if marked || !slices.ContainsFunc(away, func(e syscall.Errno) bool { return errors.Is(err, e) }) {
		return err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && filepath.IsAbs(path.Path) {
		at = path.Path
	}
	return &outage.Error{Service: "the disk of " + at, Err: err}
}

var away = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ESTALE, syscall.ENOTCONN, syscall.ETIMEDOUT, syscall.EHOSTDOWN,
}

// WriteAtomic replaces a file in one move: a crash leaves the old one or the new
// one, also after a power cut.
func WriteAtomic(path string, body []byte) error {
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}
