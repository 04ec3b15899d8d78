// Package disk has what floe needs of disks that fill up, are shared and lose power:
// files replaced whole, and the mark of an error that passes.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"floe/internal/atomicfile"
	"floe/internal/outage"
)

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
