// Package filelock takes locks on files that the kernel releases when their holder
// ends, however it ends. A lock belongs to an open file: closing it releases the lock,
// and a child process that inherits the file keeps it.
//
// The locks are those of flock(2). They bind only those who ask for them, and work
// between processes of one machine and on shared disks that pass them on.
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld is a lock that another process holds.
var ErrHeld = errors.New("another process holds the lock")

// Open opens the file of a lock, and makes it where there is none.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller chooses where its lock is
}

// Take opens a file and locks it for its caller alone; ErrHeld where another process
// has any lock on it.
func Take(path string) (*os.File, error) { return locked(path, Exclusive) }

// Wait opens a file and locks it for its caller alone, as soon as all others let go.
func Wait(path string) (*os.File, error) {
	return locked(path, func(f *os.File) error { return flock(f, unix.LOCK_EX) })
}

func locked(path string, lock func(*os.File) error) (*os.File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Exclusive locks an open file for its caller alone; ErrHeld where another process has
// any lock on it.
func Exclusive(f *os.File) error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) }

// Shared locks an open file together with others who share it; ErrHeld where a process
// has it alone.
func Shared(f *os.File) error { return flock(f, unix.LOCK_SH|unix.LOCK_NB) }

// Release lets go of the lock of a file that stays open.
func Release(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), how); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}
