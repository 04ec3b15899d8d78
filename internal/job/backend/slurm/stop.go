package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
)

// Stop implements job.Backend. Only the script is signalled, which passes it on
// to the program: a signal to all would hit helpers that the program still needs
// to save. A job that is not ours any more is not signalled: Status tells, by its
// name, user and time of submission.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if errors.Is(err, job.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	var was submitted
	forbidden, err := rec.Forbid(func(rec attempt.Folder) (ok bool, err error) {
		r, err := rec.Request()
		if err == nil {
			was, ok, err = b.find(ctx, rec, r.SpecSHA256)
		}
		return ok, err
	})
	if forbidden || err != nil {
		return err
	}
	id, gone := strconv.Itoa(was.ID), attempt.Gone(b, name)
	s, err := b.Status(ctx, name)
	if err != nil || s.State.Final() {
		return err
	}
	for _, try := range []struct {
		args  []string
		wait  time.Duration
		skips bool // what waits has nothing to save
	}{
		{[]string{"--signal=TERM", "--batch"}, grace, s.State == job.Pending},
		{[]string{"--signal=KILL", "--full"}, 0, s.State == job.Pending},
		{nil, goneWithin, false},
	} {
		if try.skips {
			continue
		}
		// With its name: should another job get the number at this moment, it is spared.
		_, failed := b.call(ctx, "", "scancel", append(try.args, "--name="+name, id)...)
		done, err := attempt.Until(ctx, try.wait, gone)
		if done || err != nil {
			return err
		}
		if failed != nil { // and it did not end meanwhile
			return failed
		}
	}
	return fmt.Errorf("%s, Slurm job %s, is still there %s after it was cancelled", name, id, goneWithin)
}
