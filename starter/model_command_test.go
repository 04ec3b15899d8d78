package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"floe/internal/devtest/binaries"
	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/experiment"
	"floe/internal/job"
)

// byCommands has trainings done by a little batch system of shell.
func (l *lab) byCommands(faults string) []string {
	l.t.Helper()
	batch, err := filepath.Abs("../internal/job/backend/command/testdata/batch")
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.MkdirAll(l.path("spool"), 0o700); err != nil {
		l.t.Fatal(err)
	}
	with := func(args ...string) []string { return append([]string{batch, l.path("spool")}, args...) }
	section, err := json.Marshal(map[string]any{
		"backend": "command", "command": []string{program(l.t, binaries.Scripted), "train"},
		"referee": []string{program(l.t, binaries.Starter), "score"},
		"gpus":    0, "grace_seconds": 20, "env": []string{trainjob.EnvFaults + "=" + faults, trainjob.EnvGo + "=" + l.path("go")},
		"commands": experiment.CommandsSpec{
			Submit: with("submit", "{name}", "{env...}", "--", "{command...}"), Status: with("status", "{id}"), Stop: with("kill", "{id}"),
			Logs: with("logs", "{id}"), Ask: with("ask", "{id}"), Find: with("find", "{name}"),
			States: []string{"RUNNING=running", "DONE=ended", "EVICTED=preempted"}, GoneExit: 44, Timeout: 60,
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return []string{"--set", "rounds=1", "--set", "job=" + string(section)}
}

// TestATrainingElsewhereIsPreemptedAndGoesOn has a batch system take the machine away.
func TestATrainingElsewhereIsPreemptedAndGoesOn(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must(append([]string{"run", l.spec, "--detach"}, l.byCommands("hold:3@1")...)...)
	l.holds(3)
	jobs, err := os.ReadDir(l.path("spool"))
	if err != nil || len(jobs) != 1 {
		t.Fatalf("the batch system has the jobs %v, %v; want one", jobs, err)
	}
	if err := os.WriteFile(filepath.Join(l.path("spool"), jobs[0].Name(), "evicted"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.must("watch", "lm")
	var outcomes []job.Outcome
	for _, a := range l.history("lm", 0) {
		outcomes = append(outcomes, a.Outcome)
	}
	if want := []job.Outcome{job.Interrupted, job.Success}; !slices.Equal(outcomes, want) {
		t.Errorf("attempts ended with %v; want %v", outcomes, want)
	}
	l.quiet()
}

// TestCancelEndsAJobElsewhere asks the batch system to.
func TestCancelEndsAJobElsewhere(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must(append([]string{"run", l.spec, "--detach"}, l.byCommands("hold:3")...)...)
	l.holds(3)
	l.must("cancel", "lm", "--reason", "a test of cancelling")
	l.gone("lm")
	l.quiet()
	if ends := l.of(skill.EventEnd); len(ends) != 1 || ends[0].Exit != job.ExitStopped {
		t.Errorf("the training ended with %+v; want that it was let save", ends)
	}
}
