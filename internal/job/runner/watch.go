package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/job"
	"floe/internal/pause"
)

// sight is what one look at an attempt shows.
type sight struct {
	status   job.Status
	progress *job.Progress // nil: none yet
	unread   error         // progress.json is there and is none
}

// soon is the pause after the first look at an attempt. Pauses double up to Every: what
// fails at its start is known soon, and short jobs are not slowed down by looking.
const soon = 250 * time.Millisecond

// watch follows an attempt to its end, and ends it if it hangs.
func (r *runner) watch(ctx context.Context, a *Attempt) error {
	var still stillness
	looked := time.Now()
	for wait := min(soon, r.Every); ; wait = min(2*wait, r.Every) {
		r.blind = false
		seen, err := r.look(ctx, a)
		if err != nil {
			return err
		}
		if r.blind {
			still.unseen += time.Since(looked)
		}
		looked = time.Now()
		if err := r.note(ctx, a, seen.status); err != nil || !a.AtWork() {
			return err
		}
		r.tell(a, seen)
		since, hung := still.judge(a.Number, seen, r.Patience, time.Now())
		if hung || !a.Hung.IsZero() {
			if err := r.endHung(ctx, a, since); err != nil {
				return err
			}
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}

// look asks back end and directory where an attempt is.
func (r *runner) look(ctx context.Context, a *Attempt) (sight, error) {
	s, known, err := r.status(ctx, a.Name())
	if err != nil {
		return sight{}, err
	}
	if !known {
		s = forgotten(a)
	}
	seen := sight{status: s}
	if s.State != job.Running {
		return seen, nil
	}
	err = r.patiently(ctx, "read the progress of "+a.Name(), func() error {
		p, err := job.ReadProgress(r.Files)
		switch {
		case err == nil:
			seen.progress = &p
		case passing(err):
			return err
		case !errors.Is(err, job.ErrAbsent):
			seen.unread = err
		}
		return nil
	})
	return seen, err
}

// note keeps what changed of an attempt.
func (r *runner) note(ctx context.Context, a *Attempt, s job.Status) error {
	same := a.Status.State == s.State && a.Status.Where == s.Where && a.Status.Restarts == s.Restarts && a.Status.Started.Equal(s.Started)
	a.Status = s
	if s.State.Final() && a.Ended.IsZero() {
		a.Ended = time.Now().UTC()
	}
	if same {
		return nil
	}
	r.Log.Info("a training moves on", "attempt", a.Name(), "state", s.State, "where", s.Where, "reason", s.Reason, "restarts", s.Restarts)
	return r.save(ctx)
}

// endHung stops an attempt that hangs. That it did is recorded first: its exit code
// alone would look like an interruption to whoever comes next.
func (r *runner) endHung(ctx context.Context, a *Attempt, since time.Time) error {
	if a.Hung.IsZero() {
		a.Hung = since.UTC()
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	r.Log.Warn("a training stands still and is ended", "attempt", a.Name(), "since", a.Hung)
	r.say(fmt.Sprintf("stands still since %s, and is ended", a.Hung.Format(time.TimeOnly)))
	return r.end(ctx, a)
}

// stillness finds out whether an attempt hangs. Clocks of machines differ: once
// it has seen progress or a start itself, it goes by its own. Before that it watches
// for half of the patience itself: while no watcher could look, the job may have been
// held up by the same outage.
type stillness struct {
	last    job.Status
	updated time.Time     // of the progress last seen
	moved   time.Time     // when that was seen to change
	first   time.Time     // when it looked first
	unseen  time.Duration // since it moved, while looking failed: it counts as none
}

func (s *stillness) judge(attempt int, seen sight, p job.Patience, now time.Time) (since time.Time, hung bool) {
	updated := s.updated
	if seen.progress != nil && seen.progress.Attempt == attempt {
		updated = seen.progress.Updated
	}
	began := seen.status.State == job.Running && (s.last.State != job.Running || s.last.Restarts != seen.status.Restarts)
	looked := !s.first.IsZero()
	if looked && (began || !updated.Equal(s.updated)) {
		s.moved, s.unseen = now, 0
	}
	if !looked {
		s.first, s.unseen = now, 0
	}
	if !looked && seen.status.Started.IsZero() {
		s.moved = now // nothing to go by before this
	}
	s.last, s.updated = seen.status, updated
	if seen.status.State != job.Running {
		return time.Time{}, false
	}
	started := seen.status.Started
	if s.moved.After(started) {
		started = s.moved
	}
	now = now.Add(-s.unseen)
	if _, long := job.Hung(attempt, s.first, timed(seen.progress), now, p.Half()); !long {
		return time.Time{}, false
	}
	return job.Hung(attempt, started, seen.progress, now, p)
}

// timed is the progress without its own time: only how long its steps take.
func timed(p *job.Progress) *job.Progress {
	if p == nil {
		return nil
	}
	without := *p
	without.Updated = time.Time{}
	return &without
}

// judge says how an attempt ended, and keeps it.
func (r *runner) judge(ctx context.Context, a *Attempt) (job.Verdict, error) {
	progress := func(done, total int64) {
		r.say(fmt.Sprintf("checks the checkpoint, %s of %s", gigabytes(done), gigabytes(total)))
	}
	var v job.Verdict
	var steps int
	err := r.patiently(ctx, "judge "+a.Name(), func() (err error) {
		if v, err = job.Judge(a.Status, r.Spec, r.Digest, r.Files, progress); err != nil {
			return err
		}
		steps, err = r.checkpoint()
		return err
	})
	if err != nil {
		return job.Verdict{}, err
	}
	if !a.Hung.IsZero() && v.Outcome == job.Interrupted {
		v.Outcome = job.Failed
		v.Reason = fmt.Sprintf("it stood still from %s on and was ended for that: %s", a.Hung.Format(time.RFC3339), v.Reason)
	}
	if a.Ended.IsZero() {
		a.Ended = time.Now().UTC()
	}
	if a.Outcome == job.Success && v.Outcome != job.Success {
		v.Reason = "it had ended well, and what it left is no longer there: " + v.Reason
	} else {
		a.Outcome = v.Outcome
	}
	r.keepSaved(steps)
	v.Reason = brief(v.Reason)
	a.Reason, a.Steps = v.Reason, steps
	r.Log.Info("a training has ended", "attempt", a.Name(), "outcome", v.Outcome, "reason", a.Reason, "steps", steps)
	return v, r.save(ctx)
}

// checkpoint is the step of the newest whole checkpoint that the next attempt
// can go on from; 0 if there is none.
func (r *runner) checkpoint() (int, error) {
	dir, err := job.Latest(r.Files)
	if err != nil {
		return 0, ifPassing(err)
	}
	m, _, err := job.ReadManifest(r.Files, dir)
	if err != nil || m.SpecSHA256 != r.Digest {
		return 0, ifPassing(err)
	}
	return m.Step, nil
}

func ifPassing(err error) error {
	if passing(err) {
		return err
	}
	return nil
}
