package attempt

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"floe/internal/job"
	"floe/internal/pause"
)

// Poll is how often something outside is looked at while waiting for it.
const Poll = 200 * time.Millisecond

// Follow writes a log that another program appends to, from a byte on, until
// the attempt has ended, if so wanted.
func Follow(ctx context.Context, path string, o job.LogOptions, w io.Writer, ended func(context.Context) (bool, error)) error {
	at := o.From
	for {
		last := true
		if o.Follow {
			var err error
			if last, err = ended(ctx); err != nil {
				return err
			}
		}
		n, err := copyFrom(path, at, w)
		if at += n; err != nil {
			return err
		}
		// What was printed before the end was seen has been written by now.
		if last {
			return nil
		}
		if err := pause.For(ctx, Poll); err != nil {
			return err
		}
	}
}

func copyFrom(path string, at int64, w io.Writer) (int64, error) {
	f, err := os.Open(path) //nolint:gosec // a path of our own
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}

// Until looks again and again until something holds; false if it did not hold
// within a time.
func Until(ctx context.Context, within time.Duration, holds func(context.Context) (bool, error)) (bool, error) {
	deadline := time.Now().Add(within)
	for {
		ok, err := holds(ctx)
		if ok || err != nil {
			return ok, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		if err := pause.For(ctx, min(Poll, left)); err != nil {
			return false, err
		}
	}
}
