package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
)

// Stop implements job.Backend.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if errors.Is(err, job.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if done, err := rec.Forbid(b.isKnown(ctx)); done || err != nil {
		return err
	}
	gone := attempt.Gone(b, name)
	if done, err := gone(ctx); done || err != nil {
		return err
	}
	if len(b.settings.Ask) > 0 {
		if done, err := b.tell(ctx, rec, "ask", b.settings.Ask, grace, gone); done || err != nil {
			return err
		}
	} else if done, err := attempt.Until(ctx, grace, gone); done || err != nil {
		return err
	}
	done, err := b.tell(ctx, rec, "stop", b.settings.Stop, goneWithin, gone)
	if err == nil && !done {
		err = fmt.Errorf("%s is still there %s after it was stopped", name, goneWithin)
	}
	return err
}

// tell runs a command and waits for the end of the job. That the command failed
// matters only if the job is still there.
func (b *Backend) tell(ctx context.Context, rec attempt.Folder, what string, argv []string, wait time.Duration, gone func(context.Context) (bool, error)) (bool, error) {
	r, err := rec.Request()
	if err != nil {
		return false, err
	}
	var was submitted
	if _, err := rec.Read(attempt.FileSubmitted, &was); err != nil {
		return false, err
	}
	if _, err := b.call(what, argv, values(r, was.ID)).Output(ctx); err != nil {
		if done, again := gone(ctx); done && again == nil {
			return true, nil
		}
		return false, err
	}
	return attempt.Until(ctx, wait, gone)
}
