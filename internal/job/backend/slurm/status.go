package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
)

// exit is what the job's script wrote about the program's end.
type exit struct {
	ID      int       `json:"id"`
	Code    int       `json:"code"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// Status implements job.Backend.
func (b *Backend) Status(ctx context.Context, name string) (job.Status, error) {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return job.Status{}, err
	}
	return rec.Status(func() (job.Status, error) {
		r, err := rec.Request()
		if err != nil {
			return job.Status{}, err
		}
		was, ok, err := b.find(ctx, rec, r.SpecSHA256)
		if err != nil || !ok {
			return rec.Claimed(), err
		}
		return b.ask(ctx, rec, r.SpecSHA256, was)
	})
}

// ask asks the controller. A job that it has forgotten is known by what the job left,
// or else by accounting, where there is some; so is one whose number another job has
// now: Slurm gives numbers again when its state was lost or they have run out.
func (b *Backend) ask(ctx context.Context, rec attempt.Folder, digest string, was submitted) (job.Status, error) {
	id := strconv.Itoa(was.ID)
	out, err := b.call(ctx, "", "scontrol", "--oneliner", "show", "job", id)
	if failed, ok := errors.AsType[*cli.Error](err); ok && strings.Contains(failed.Said, "Invalid job id") {
		return b.gone(ctx, rec, was, "Slurm does not know it any more")
	}
	if err != nil {
		return job.Status{}, err
	}
	f, err := parse(out)
	if err != nil {
		return job.Status{}, err
	}
	if !was.is(rec.Name, digest, rec.Path(fileLog), f) {
		return b.gone(ctx, rec, was, fmt.Sprintf("Slurm's number %d now belongs to the job %q of %s", was.ID, f.name, f.user))
	}
	if seen := was.seen(f); seen != was {
		if err := rec.Write(attempt.FileSubmitted, seen); err != nil {
			return job.Status{}, err
		}
	}
	return f.status(rec.Name, was.ID), nil
}

// gone is the status of a job that the controller no longer has.
func (b *Backend) gone(ctx context.Context, rec attempt.Folder, was submitted, why string) (job.Status, error) {
	s := job.Status{Name: rec.Name, Where: fmt.Sprintf("Slurm job %d", was.ID), Started: was.Time, Ended: time.Now().UTC()}
	var e exit
	if ok, err := rec.Read(fileExit, &e); ok || err != nil {
		s.State, s.ExitCode, s.Started, s.Ended = job.Ended, &e.Code, e.Started, e.Ended
		return s, err
	}
	// Without accounting this fails, which leaves it unknown.
	out, err := b.call(ctx, "", "sacct", "--allocations", "--duplicates", "--parsable2", "--noheader",
		"--jobs="+strconv.Itoa(was.ID), "--format=State,ExitCode,Submit,UID,JobName")
	if err == nil {
		if state, code, ok := was.accounted(rec.Name, out); ok {
			return told(s, state, code), nil
		}
	}
	s.State, s.Reason = job.Lost, why+", and it left no exit code"
	return s, nil
}

// status is what the fields say of the job.
func (f fields) status(name string, id int) job.Status {
	s := job.Status{Name: name, Where: fmt.Sprintf("Slurm job %d", id), Started: clock(f.of["StartTime"]), Restarts: f.restarts}
	if f.of["BatchHost"] != "" {
		s.Where += " on " + f.of["BatchHost"]
	}
	if r := f.of["Reason"]; r != "" && r != "None" {
		s.Reason = r
	}
	s = told(s, f.of["JobState"], f.of["ExitCode"])
	switch {
	case s.State.Final():
		s.Ended = clock(f.of["EndTime"])
	case s.State == job.Pending:
		s.Started = time.Time{} // when it might start
	}
	return s
}

// told says what Slurm's words mean: a state, and "code:signal".
func told(s job.Status, state, exitCode string) job.Status {
	state, _, _ = strings.Cut(state, " ") // "CANCELLED by 1000"
	s.State = stateOf(state)
	if s.State == job.Ended {
		s.ExitCode = codeOf(state, exitCode)
	}
	if state != "RUNNING" && state != "PENDING" && state != "COMPLETED" {
		s.Reason = strings.TrimSuffix(state+", "+s.Reason, ", ")
	}
	return s
}

func stateOf(state string) job.State {
	switch strings.TrimSuffix(state, "+") {
	case "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "SUSPENDED":
		return job.Pending
	case "RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED":
		return job.Running
	case "PREEMPTED", "REVOKED":
		return job.Preempted
	case "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL":
		return job.Lost
	default: // COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, DEADLINE, and what is yet to come
		return job.Ended
	}
}

// codeOf is the exit code; nil where the zero that Slurm tells is none: the job
// was cancelled before it ran, or killed in a way that leaves no trace.
func codeOf(state, exitCode string) *int {
	first, second, _ := strings.Cut(exitCode, ":")
	code, err1 := strconv.Atoi(first)
	sig, err2 := strconv.Atoi(second)
	switch {
	case err1 != nil || err2 != nil:
		return nil
	case state == "OUT_OF_MEMORY": // which Slurm shows as a signal that there is not
		code = job.ExitKilled
	case code == 0 && sig == 0 && state != "COMPLETED":
		return nil
	case sig > 0:
		code = 128 + sig
	}
	return &code
}

// clock reads seconds since 1970, which the calls ask for; zero if there is no
// time yet.
func clock(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
