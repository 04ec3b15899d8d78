package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"floe/internal/disk"
	"floe/internal/job"
	"floe/internal/pause"
)

// load reads the history as it is kept.
func (r *runner) load(ctx context.Context) (History, error) {
	var body []byte
	err := r.patiently(ctx, "read the record of attempts", func() (err error) {
		body, err = r.Record.Load(ctx)
		return err
	})
	if err != nil {
		return History{}, err
	}
	return ReadHistory(body)
}

// save keeps the history. What it must not undo is that somebody asked to stop.
func (r *runner) save(ctx context.Context) error {
	kept, err := r.load(ctx)
	if err != nil {
		return err
	}
	if kept.StopAsked.After(r.history.StopAsked) {
		r.history.StopAsked = kept.StopAsked
	}
	body, err := r.history.Marshal()
	if err != nil {
		return err
	}
	return r.patiently(ctx, "write the record of attempts", func() error { return r.Record.Save(ctx, body) })
}

const longestWait = 30 * time.Second // between two tries

// patiently does something again while it fails, for as long as tolerance
// allows: back ends and stores are away at times, and a job that runs is worth
// waiting for them. An outage that lasts longer keeps its mark, and the next watcher
// goes on.
func (r *runner) patiently(ctx context.Context, what string, do func() error) error {
	began := time.Now()
	for wait := min(r.Every, longestWait); ; wait = min(2*wait, longestWait) {
		err := disk.Outage(r.Request.Dir, do())
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case lasting(err):
			return err
		case time.Since(began)+wait > r.Tolerance:
			return fmt.Errorf("%s: %w", what, err)
		}
		r.blind = true
		r.Log.Warn("trouble with a training; it goes on by itself", "job", r.Request.Job, "cannot", what, "error", err)
		r.say(fmt.Sprintf("cannot %s, and tries again: %s", what, brief(err.Error())))
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
