package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"floe/internal/devtest/binaries"
	"floe/workflows"
)

// serve starts a worker of a build and has new experiments start on it.
func (m *machine) serve(build string) (identity string, stop func()) {
	m.t.Helper()
	identity, stop = m.serveAgain(build)
	m.until("build "+build, func() bool {
		_, _, code := m.starter("deployment", "promote", "lab", build)
		return code == exitOK
	})
	return identity, stop
}

// serveAgain starts a worker of a build, and stops it at the end of the test.
func (m *machine) serveAgain(build string) (identity string, stop func()) {
	m.t.Helper()
	w := exec.Command(program(m.t, binaries.Worker), "--data", m.data, "--deployment", "lab", "--build", build)
	w.Stderr = m.log
	if err := w.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		if err := w.Process.Signal(os.Interrupt); err != nil {
			m.t.Error(err)
		}
		if err := w.Wait(); err != nil {
			m.t.Errorf("worker of build %s: %v", build, err)
		}
	}
	m.t.Cleanup(stop)
	return fmt.Sprintf("%d@", w.Process.Pid), stop
}

// TestAnExperimentStaysWithTheBuildThatStartedIt rolls out a second build while
// an experiment is in flight.
func TestAnExperimentStaysWithTheBuildThatStartedIt(t *testing.T) {
	t.Parallel()
	m := boot(t)
	old, stopOld := m.serve("a")
	m.must("run", specFile(t, small), "--detach", "--name", "long", "--set", "epochs=20")
	m.until("training", func() bool { p := m.progress("long"); return p.Step == "train" && p.Done > 0 })

	now, _ := m.serve("b")
	m.must("run", specFile(t, small), "--name", "short", "--set", "seed=6")
	stopOld() // the old build's worker is started anew, as a crash would have it
	again, _ := m.serveAgain("a")
	m.reaches("long", workflows.StateDone)

	for _, at := range m.attempts("short") {
		if !strings.HasPrefix(at.Worker, now) {
			t.Errorf("short: %s was done by %s; want build b, %s", at.Step, at.Worker, now)
		}
	}
	for _, at := range m.attempts("long") {
		if !strings.HasPrefix(at.Worker, old) && !strings.HasPrefix(at.Worker, again) {
			t.Errorf("long: %s was done by %s; want build a, %s or %s", at.Step, at.Worker, old, again)
		}
	}
	var builds []deployed
	if err := json.Unmarshal([]byte(m.must("deployment", "show", "lab", "-o", "json")), &builds); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, b := range builds {
		states[b.Build] = b.State
	}
	if states["b"] != "current" || states["a"] != "draining" && states["a"] != "drained" {
		t.Errorf("builds %v; want b current and a on its way out", states)
	}
	m.says(exitNotFound, "it has ", "deployment", "promote", "lab", "c")
	m.says(exitNotFound, "deployment nowhere not found", "deployment", "show", "nowhere")
}
