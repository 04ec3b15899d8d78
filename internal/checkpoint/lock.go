package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A copy has a lock beside it that ends with its holder, whatever ends that. The
// lock's time is that of the last fetch; its file stays when the copy goes, since
// somebody may wait for it.
const (
	lockEnd  = ".lock"
	pollLock = 100 * time.Millisecond
)

// keepFor is how long a copy stays that nobody fetches again: a server has it in
// memory soon, a training may be started anew from it for as long as it lasts.
func (p Part) keepFor() time.Duration {
	if p == Model {
		return 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

// lock waits for a lock that ends with its holder, whatever ends that.
func lock(ctx context.Context, file string, report func(string)) (release func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below the worker's own folder
	if err != nil {
		return nil, err
	}
	told := false
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			now := time.Now()
			if err := os.Chtimes(file, now, now); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
		}
		if !told {
			told = true
			report("waiting for another process that fetches the same checkpoint")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(pollLock):
		}
	}
}

// trim removes the copies that were last fetched before a time, and are not being
// fetched now.
func trim(folder string, before time.Time) error {
	locks, err := filepath.Glob(filepath.Join(folder, "*"+lockEnd))
	errs := []error{err}
	for _, file := range locks {
		info, err := os.Stat(file)
		if err != nil || !info.ModTime().Before(before) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, remove(file, before))
	}
	return errors.Join(errs...)
}

func remove(file string, before time.Time) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0) //nolint:gosec // below the worker's own folder
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.ModTime().Before(before) {
		return err
	}
	dir := strings.TrimSuffix(file, lockEnd)
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // first of all: without it the rest is torn
	}
	return os.RemoveAll(dir)
}
