// Package files is where a worker sees a job's directory: on a disk that it
// shares with the job, or in the store that the job keeps its files in.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"floe/internal/disk"
	"floe/internal/job"
)

// Disk is a job's directory on a disk that worker and job share.
func Disk(dir string) job.Files { return folder{dir} }

type folder struct{ dir string }

// Open implements fs.FS.
func (f folder) Open(name string) (fs.File, error) {
	file, err := os.DirFS(f.dir).Open(name)
	if errors.Is(err, syscall.ENOTDIR) { // below what is a file there is nothing
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return file, err
}

// Put implements job.Files.
func (f folder) Put(_ context.Context, name string, body []byte) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("put %q: want a path below the job's directory", name)
	}
	to := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	return disk.WriteAtomic(to, body)
}
