package slurm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"floe/internal/job/backend/internal/cli"
)

// submitted is what is known of an attempt that Slurm has. Its number alone does not
// identify a job: name, user and time of submission do, as Slurm tells them.
type submitted struct {
	ID   int       `json:"id"` // 0: it must never be submitted
	Time time.Time `json:"time"`
	// As Slurm told when it was last seen; zero before.
	UID      string    `json:"uid,omitempty"`
	Since    time.Time `json:"since,omitzero"` // of its submission; a requeue renews it
	Restarts int       `json:"restarts,omitempty"`
}

// fields are what scontrol shows of a job.
type fields struct {
	of       map[string]string
	name     string
	user     string // "ann(1000)"
	uid      string
	digest   string // of its spec, in its comment; empty: none of ours, or none is shown
	log      string // where it prints to: for ours, the folder of its record
	since    time.Time
	restarts int
}

var (
	field = regexp.MustCompile(`(?:^|\s)(JobState|Reason|Restarts|ExitCode|SubmitTime|StartTime|EndTime|BatchHost|UserId)=(\S*)`)
	named = regexp.MustCompile(`(?:^|\s)JobName=(.*?) UserId=`) // a name may have blanks
	logs  = regexp.MustCompile(`\sStdOut=(.*?)(?:\s+\w+=|\s*$)`)
	noted = regexp.MustCompile(`\sComment=` + comment(`(\S+)`))
)

// parse reads the one line that scontrol shows of a job.
func parse(out string) (fields, error) {
	f := fields{of: map[string]string{}}
	rest := out
	if m := named.FindStringSubmatchIndex(out); m != nil {
		f.name, rest = out[m[2]:m[3]], out[:m[0]]+out[m[3]:] // a name may look like fields, too
	}
	for _, m := range field.FindAllStringSubmatch(rest, -1) {
		if _, again := f.of[m[1]]; !again { // what comes later is a user's text
			f.of[m[1]] = m[2]
		}
	}
	if f.of["JobState"] == "" {
		return f, fmt.Errorf("scontrol: found no JobState in %q", cli.Brief(out))
	}
	if m := noted.FindStringSubmatch(rest); m != nil {
		f.digest = m[1]
	}
	if m := logs.FindStringSubmatch(rest); m != nil {
		f.log = m[1]
	}
	f.user, f.since = f.of["UserId"], clock(f.of["SubmitTime"])
	_, f.uid, _ = strings.Cut(strings.TrimSuffix(f.user, ")"), "(") // names come and go with a directory service
	f.restarts, _ = strconv.Atoi(f.of["Restarts"])                  // none: 0
	return f, nil
}

// is says whether the job that Slurm shows is the one that was submitted, with this spec
// and to print to this log. A requeue renews the time of submission, and counts as a
// restart only once the job has left its node; other jobs do not print to our log.
func (s submitted) is(name, digest, log string, f fields) bool {
	switch {
	case f.name != name, f.digest != "" && f.digest != digest, s.UID != "" && f.uid != s.UID:
		return false
	case s.Since.IsZero(), f.since.IsZero(), f.since.Equal(s.Since):
		return true
	}
	return f.since.After(s.Since) && (f.restarts > s.Restarts || f.log == log)
}

// seen is what is known once Slurm has shown it.
func (s submitted) seen(f fields) submitted {
	s.UID, s.Restarts = f.uid, f.restarts
	if !f.since.IsZero() {
		s.Since = f.since
	}
	return s
}

// accounted finds the job's state and exit code in what sacct prints of its number,
// which may be of several jobs, and of one for each time that it was requeued.
func (s submitted) accounted(name, out string) (state, code string, ok bool) {
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "|", 5)
		if len(f) != 5 || f[4] != name || s.UID != "" && s.UID != f[3] {
			continue
		}
		if since := clock(f[2]); s.Since.IsZero() || since.IsZero() || since.Equal(s.Since) {
			state, code, ok = f[0], f[1], true
		}
	}
	return state, code, ok
}
