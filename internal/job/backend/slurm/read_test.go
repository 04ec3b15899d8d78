package slurm

import (
	"fmt"
	"testing"
	"time"

	"floe/internal/job"
)

// shown is what scontrol of Slurm 22.05 prints of a job, cut down.
func shown(state, reason, code string) string {
	return fmt.Sprintf("JobId=7 JobName=train-1-a1 UserId=root(0) JobState=%s Reason=%s Dependency=(null) Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=%s "+
		"StartTime=1764448000 EndTime=1764448100 Deadline=N/A BatchHost=node1 Comment=floe spec JobState=FAKE ExitCode=9:9 \n", state, reason, code)
}

func TestWhatScontrolShowsIsRead(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		state, reason, exit string
		want                job.State
		code                *int
		why                 string
	}{
		{"PENDING", "Priority", "0:0", job.Pending, nil, "Priority"},
		{"PENDING", "BeginTime", "0:0", job.Pending, nil, "BeginTime"},
		{"CONFIGURING", "None", "0:0", job.Pending, nil, "CONFIGURING"},
		{"SUSPENDED", "None", "0:0", job.Pending, nil, "SUSPENDED"},
		{"RUNNING", "None", "0:0", job.Running, nil, ""},
		{"COMPLETING", "NonZeroExitCode", "75:0", job.Running, nil, "COMPLETING, NonZeroExitCode"},
		{"COMPLETED", "None", "0:0", job.Ended, code(0), ""},
		{"FAILED", "NonZeroExitCode", "75:0", job.Ended, code(75), "FAILED, NonZeroExitCode"},
		{"FAILED", "RaisedSignal:9(Killed)", "0:9", job.Ended, code(137), "FAILED, RaisedSignal:9(Killed)"},
		{"CANCELLED", "None", "0:0", job.Ended, nil, "CANCELLED"},
		{"CANCELLED", "None", "75:0", job.Ended, code(75), "CANCELLED"},
		{"CANCELLED", "None", "0:15", job.Ended, code(143), "CANCELLED"},
		{"TIMEOUT", "TimeLimit", "0:0", job.Ended, nil, "TIMEOUT, TimeLimit"},
		{"OUT_OF_MEMORY", "OutOfMemory", "0:125", job.Ended, code(137), "OUT_OF_MEMORY, OutOfMemory"},
		{"PREEMPTED", "None", "0:0", job.Preempted, nil, "PREEMPTED"},
		{"NODE_FAIL", "NodeDown", "0:0", job.Lost, nil, "NODE_FAIL, NodeDown"},
		{"BOOT_FAIL", "None", "0:0", job.Lost, nil, "BOOT_FAIL"},
	} {
		f, err := parse(shown(c.state, c.reason, c.exit))
		if err != nil {
			t.Fatal(err)
		}
		s := f.status("train-1-a1", 7)
		if s.State != c.want || s.Reason != c.why || (s.ExitCode == nil) != (c.code == nil) || (c.code != nil && *s.ExitCode != *c.code) || s.Restarts != 2 {
			t.Errorf("%s %s %s: got %s with %d restarts", c.state, c.reason, c.exit, s, s.Restarts)
		}
		if s.State.Final() && !s.Ended.Equal(time.Unix(1764448100, 0)) {
			t.Errorf("%s: ended at %s", c.state, s.Ended)
		}
		if s.Where != "Slurm job 7 on node1" {
			t.Errorf("%s: it is at %q", c.state, s.Where)
		}
	}
	if f, err := parse("slurm_load_jobs error\n"); err == nil {
		t.Errorf("noise is read as %+v; want an error", f)
	}
}

func TestWhatSacctSaysIsRead(t *testing.T) {
	s := told(job.Status{Name: "x"}, "CANCELLED by 1000", "0:9")
	if s.State != job.Ended || *s.ExitCode != job.ExitKilled || s.Reason != "CANCELLED" {
		t.Errorf("got %s; want it killed and cancelled", s)
	}
}

func TestANumberIsAJobOnlyWithItsNameUserAndTimeOfSubmission(t *testing.T) {
	digest := job.Digest([]byte("spec"))
	line := func(name, user, submitted, comment string, restarts int) string {
		return fmt.Sprintf("JobId=7 JobName=%s UserId=%s GroupId=x(1) JobState=RUNNING Reason=None Restarts=%d ExitCode=0:0 SubmitTime=%s StartTime=1764448000 %s\n",
			name, user, restarts, submitted, comment)
	}
	fresh := submitted{ID: 7, Time: time.Unix(1764447990, 5)}
	seen := submitted{ID: 7, UID: "1000", Since: time.Unix(1764447999, 0), Restarts: 1}
	ours := "Comment=" + comment(digest)
	for what, c := range map[string]struct {
		was  submitted
		line string
		want bool
	}{
		"first seen":                    {fresh, line("train-1-a1", "ann(1000)", "1764447999", ours, 0), true},
		"seen again":                    {seen, line("train-1-a1", "ann(1000)", "1764447999", ours, 1), true},
		"its user's name is not known":  {seen, line("train-1-a1", "nobody(1000)", "1764447999", ours, 1), true},
		"no comment is shown":           {seen, line("train-1-a1", "ann(1000)", "1764447999", "", 1), true},
		"requeued":                      {seen, line("train-1-a1", "ann(1000)", "1764448500", ours, 2), true},
		"leaves its node for a requeue": {seen, line("train-1-a1", "ann(1000)", "1764448500", ours+" StdErr=/a b/log StdIn=/dev/null StdOut=/a b/log Power=", 1), true},
		"the same elsewhere":            {seen, line("train-1-a1", "ann(1000)", "1764448500", ours+" StdErr=/a b/log StdIn=/dev/null StdOut=/other/log Power=", 1), false},
		"another name":                  {fresh, line("my-other-project", "ann(1000)", "1764447999", "", 0), false},
		"a name that tries to look so":  {fresh, line("x JobName=train-1-a1", "ann(1000)", "1764447999", ours, 0), false},
		"another spec":                  {fresh, line("train-1-a1", "ann(1000)", "1764447999", "Comment="+comment(job.Digest(nil)), 0), false},
		"another user":                  {seen, line("train-1-a1", "bob(1001)", "1764447999", ours, 1), false},
		"submitted later, not requeued": {seen, line("train-1-a1", "ann(1000)", "1764448500", ours, 1), false},
		"submitted earlier":             {seen, line("train-1-a1", "ann(1000)", "1764440000", ours, 2), false},
	} {
		f, err := parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.was.is("train-1-a1", digest, "/a b/log", f); got != c.want {
			t.Errorf("%s: ours: %t; want %t", what, got, c.want)
		}
	}
}

func TestAccountingIsAskedForTheJobAndNotForItsNumber(t *testing.T) {
	s := submitted{ID: 7, UID: "1000", Since: time.Unix(1764447999, 0)}
	const before, ours, after = "FAILED|3:0|1764440000|1000|train-1-a1\n", "TIMEOUT|0:15|1764447999|1000|train-1-a1\n", "COMPLETED|0:0|1764449999|1001|a|b\n"
	if state, code, ok := s.accounted("train-1-a1", before+ours+after); !ok || state != "TIMEOUT" || code != "0:15" {
		t.Errorf("got %s %s %t; want the line of the job", state, code, ok)
	}
	if state, _, ok := s.accounted("train-1-a1", before+after); ok {
		t.Errorf("got %s of another job", state)
	}
}
