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
		s, err := read("train-1-a1", 7, shown(c.state, c.reason, c.exit))
		if err != nil {
			t.Fatal(err)
		}
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
	if s, err := read("x", 1, "slurm_load_jobs error\n"); err == nil {
		t.Errorf("noise is read as %s; want an error", s)
	}
}

func TestWhatSacctSaysIsRead(t *testing.T) {
	s := told(job.Status{Name: "x"}, "CANCELLED by 1000", "0:9")
	if s.State != job.Ended || *s.ExitCode != job.ExitKilled || s.Reason != "CANCELLED" {
		t.Errorf("got %s; want it killed and cancelled", s)
	}
}
