package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"floe/internal/filelock"
	"floe/internal/pause"
)

// A lease is a lock on a file that the system frees when its holder ends, however
// that ends. Workers share it; the guard takes it for itself before it ends the
// server, so that no worker can adopt one that is about to end. Number and start
// time of the holder's process say the same and less surely: they cannot be seen
// from another container, and a file with them outlives its writer.
type lease struct{ f *os.File }

const (
	fileLease = "lease"
	pollLease = 100 * time.Millisecond
	// A guard that looks whether anybody holds the lease has it for a moment.
	leaseWithin = 3 * time.Second
)

// errEnding is a lease that a guard has taken: its server ends.
var errEnding = errors.New("the server is being ended by its guard")

// holdLease takes a share of an attempt's lease.
func holdLease(ctx context.Context, dir string) (*lease, error) {
	f, err := filelock.Open(filepath.Join(dir, fileLease))
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(leaseWithin); ; {
		err = filelock.Shared(f)
		if err == nil {
			return &lease{f}, nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return nil, errors.Join(err, f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(errEnding, f.Close())
		}
		if err := pause.For(ctx, pollLease); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// seizeLease takes the lease for itself if nobody holds a share; nil if somebody
// does. A guard that looks has it for a moment, so it tries more than once.
func seizeLease(ctx context.Context, dir string) (*lease, error) {
	f, err := filelock.Open(filepath.Join(dir, fileLease))
	if err != nil {
		return nil, err
	}
	for range 5 {
		err = filelock.Exclusive(f)
		if err == nil {
			return &lease{f}, nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return nil, errors.Join(err, f.Close())
		}
		if err := pause.For(ctx, pollLease); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return nil, f.Close()
}

func (l *lease) release() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}

// unheld takes the lease for good if nobody has held it for a time; the caller asks
// again and again, and never gives it back once it has it.
type unheld struct {
	f      *os.File
	linger time.Duration
	since  time.Time // nobody has held it since; zero: somebody does
}

func watchLease(dir string, linger time.Duration) (*unheld, error) {
	f, err := filelock.Open(filepath.Join(dir, fileLease))
	if err != nil {
		return nil, err
	}
	return &unheld{f: f, linger: linger}, nil
}

// tooLong looks at the lease, and has taken it when it says yes.
func (u *unheld) tooLong(now time.Time) bool {
	if filelock.Exclusive(u.f) != nil {
		u.since = time.Time{}
		return false
	}
	if u.since.IsZero() {
		u.since = now
	}
	if now.Sub(u.since) >= u.linger {
		return true
	}
	_ = filelock.Release(u.f) // cannot fail on a lock that is held
	return false
}
