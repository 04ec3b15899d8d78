package course

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"floe/internal/job"
	"floe/internal/job/files"
	"floe/internal/pause"
)

// load reads the history as it is kept.
func (c *course) load(ctx context.Context) (History, error) {
	var body []byte
	err := c.patiently(ctx, "read the record of attempts", func() (err error) {
		body, err = c.Record.Load(ctx)
		return err
	})
	if err != nil {
		return History{}, err
	}
	return ReadHistory(body)
}

// save keeps the history. What it must not undo is that somebody asked to stop.
func (c *course) save(ctx context.Context) error {
	kept, err := c.load(ctx)
	if err != nil {
		return err
	}
	if kept.StopAsked.After(c.history.StopAsked) {
		c.history.StopAsked = kept.StopAsked
	}
	body, err := c.history.Marshal()
	if err != nil {
		return err
	}
	return c.patiently(ctx, "write the record of attempts", func() error { return c.Record.Save(ctx, body) })
}

const longestWait = 30 * time.Second // between two tries

// patiently does something again while it fails, for as long as tolerance
// allows: back ends and stores are away at times, and a job that runs is worth
// waiting for them. An outage that lasts longer keeps its mark, and the next watcher
// goes on.
func (c *course) patiently(ctx context.Context, what string, do func() error) error {
	began := time.Now()
	for wait := min(c.Every, longestWait); ; wait = min(2*wait, longestWait) {
		err := files.Outage(c.Request.Dir, do())
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case lasting(err):
			return err
		case time.Since(began)+wait > c.Tolerance:
			return fmt.Errorf("%s: %w", what, err)
		}
		c.blind = true
		c.Log.Warn("trouble with a training; it goes on by itself", "job", c.Request.Job, "cannot", what, "error", err)
		c.say(fmt.Sprintf("cannot %s, and tries again: %s", what, brief(err.Error())))
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}

// lasting errors do not pass by waiting.
func lasting(err error) bool {
	_, conflict := errors.AsType[*job.ConflictError](err)
	_, busy := errors.AsType[*job.BusyError](err)
	return conflict || busy || errors.Is(err, context.Canceled)
}

// passing reports whether an error of a job's file is one of reaching it, and
// says nothing about the file.
func passing(err error) bool {
	trouble, ok := errors.AsType[*fs.PathError](err)
	return ok && !errors.Is(trouble, fs.ErrNotExist)
}
