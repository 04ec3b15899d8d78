package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/cli"
	"floe/internal/job/record"
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
	rec, err := record.Open(b.settings.Root, name)
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
		return b.ask(ctx, rec, was)
	})
}

// ask asks the controller; a job that it has forgotten is told by what the job
// left, or else by accounting, where there is some.
func (b *Backend) ask(ctx context.Context, rec record.Record, was submitted) (job.Status, error) {
	id := strconv.Itoa(was.ID)
	out, err := b.call(ctx, "", "scontrol", "--oneliner", "show", "job", id)
	if err == nil {
		return read(rec.Name, was.ID, out)
	}
	if failed, ok := errors.AsType[*cli.Error](err); !ok || !strings.Contains(failed.Said, "Invalid job id") {
		return job.Status{}, err
	}
	s := job.Status{Name: rec.Name, Where: "Slurm job " + id, Started: was.Time, Ended: time.Now().UTC()}
	var e exit
	if ok, err := rec.Read(fileExit, &e); ok || err != nil {
		s.State, s.ExitCode, s.Started, s.Ended = job.Ended, &e.Code, e.Started, e.Ended
		return s, err
	}
	// Without accounting this fails, which leaves it unknown.
	if out, err := b.call(ctx, "", "sacct", "--allocations", "--parsable2", "--noheader", "--jobs="+id, "--format=State,ExitCode"); err == nil {
		if state, code, ok := strings.Cut(strings.TrimSpace(out), "|"); ok {
			return told(s, state, code), nil
		}
	}
	s.State, s.Reason = job.Lost, "Slurm does not know it any more, and it left no exit code"
	return s, nil
}

var field = regexp.MustCompile(`(?:^|\s)(JobState|Reason|Restarts|ExitCode|StartTime|EndTime|BatchHost)=(\S*)`)

// read takes in what scontrol shows of a job.
func read(name string, id int, out string) (job.Status, error) {
	f := map[string]string{}
	for _, m := range field.FindAllStringSubmatch(out, -1) {
		if _, again := f[m[1]]; !again { // what comes later is a user's text
			f[m[1]] = m[2]
		}
	}
	if f["JobState"] == "" {
		return job.Status{}, fmt.Errorf("scontrol: found no JobState in %q", cli.Brief(out))
	}
	s := job.Status{Name: name, Where: fmt.Sprintf("Slurm job %d", id), Started: clock(f["StartTime"])}
	if f["BatchHost"] != "" {
		s.Where += " on " + f["BatchHost"]
	}
	s.Restarts, _ = strconv.Atoi(f["Restarts"])
	if r := f["Reason"]; r != "" && r != "None" {
		s.Reason = r
	}
	s = told(s, f["JobState"], f["ExitCode"])
	switch {
	case s.State.Final():
		s.Ended = clock(f["EndTime"])
	case s.State == job.Pending:
		s.Started = time.Time{} // when it might start
	}
	return s, nil
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
