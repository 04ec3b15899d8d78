// Package atomicfile replaces files in one step: a crash or a power cut leaves the old
// content or the new one, never a part.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with what write gives, in this mode whatever the
// umask. Where write or the disk fails, path stays as it was. The new content lies
// beside it as .NAME.*.tmp until it is complete: such a file is left of a process that
// was killed. The folder must exist.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	err = write(f)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
