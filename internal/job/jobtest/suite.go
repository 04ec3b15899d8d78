// Package jobtest proves back ends: one suite of laws that every one of them
// keeps, run with a job that honours the contract, or breaks it on purpose.
package jobtest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/internal/devtest/binaries"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/files"
)

// World is a back end and what surrounds it.
type World struct {
	// Open returns the back end as another worker sees it: each call a new one,
	// all with the same settings.
	Open func(t *testing.T) job.Backend
	// Dir is a folder that the suite and the jobs see under the same name; a
	// temporary one if empty.
	Dir string
	// Preempt takes the machine away from a running attempt. Nil: the system has
	// no such thing.
	Preempt func(t *testing.T, name string)
	// Restarts says that the system starts a preempted attempt again by itself.
	Restarts bool
	// Stranger has a running attempt vanish without a trace, and gives what the back end
	// knows it by, such as its number, to a job of another kind; it returns whether that
	// job runs. Nil: the system gives nothing twice, or shows nothing to compare.
	Stranger func(t *testing.T, name string) (runs func() bool)
	// NoExitAfterStop says that the system tells no exit code of what it killed.
	NoExitAfterStop bool
}

// Patience bounds every wait of the suite. It is long: schedulers are slow, and
// so are busy machines.
const Patience = 3 * time.Minute

// Run proves the promises of job.Backend.
func Run(t *testing.T, w World) {
	trainer := build(t)
	if w.Dir == "" {
		w.Dir = t.TempDir()
	}
	laws := []struct {
		name string
		law  func(*suite)
	}{
		{"CheckPasses", (*suite).checkPasses},
		{"AJobRunsToItsEnd", (*suite).aJobRunsToItsEnd},
		{"ArgumentsAndVariablesArriveAsTheyAre", (*suite).argumentsArrive},
		{"ManySubmissionsOfOneNameAreOneJob", (*suite).manySubmissionsAreOneJob},
		{"ANameWithAnotherSpecIsRefused", (*suite).anotherSpecIsRefused},
		{"ABadRequestIsRefused", (*suite).aBadRequestIsRefused},
		{"WhatNobodySubmittedIsUnknown", (*suite).whatNobodySubmittedIsUnknown},
		{"ExitCodesComeThrough", (*suite).exitCodesComeThrough},
		{"AKilledProgramIsToldFromOneThatEnded", (*suite).aKilledProgram},
		{"ACommandThatIsNotThereFails", (*suite).aCommandThatIsNotThere},
		{"AStopLetsTheJobSaveAndTheNextAttemptGoesOn", (*suite).aStopLetsTheJobSave},
		{"AStopKillsWhatDoesNotListen", (*suite).aStopKills},
		{"StoppingWhatHasEndedChangesNothing", (*suite).stoppingTheEnded},
		{"AnotherWorkerFindsFollowsAndStopsTheJob", (*suite).anotherWorker},
		{"NoTwoAttemptsRunAtOnce", (*suite).noTwoAttempts},
		{"LogsAreFollowedToTheEnd", (*suite).logsAreFollowed},
		{"LogsGoOnFromAByte", (*suite).logsGoOn},
		{"AnEndWithoutAWholeResultIsNoSuccess", (*suite).noWholeResult},
		{"PreemptionIsNotFailure", (*suite).preemption},
		{"AStrangerThatTookOurNumberIsNeitherAdoptedNorStopped", (*suite).aStranger},
		{"AnEndedContextIsHonoured", (*suite).anEndedContext},
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			l.law(&suite{T: t, World: w, Backend: w.Open(t), trainer: trainer})
		})
	}
}

// build builds the job that the suite starts.
func build(t *testing.T) string {
	t.Helper()
	dir, err := binaries.Build(binaries.Trainer)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, binaries.Trainer)
}

type suite struct {
	*testing.T
	World
	job.Backend
	trainer string
}

// task is a job that the suite made up.
type task struct {
	job.Request
	spec   job.Spec
	digest string
}

func (t task) files() job.Files { return files.Disk(t.Dir) }

// next is the attempt after it.
func (t task) next() task {
	t.Attempt++
	return t
}

const steps = 3

// task writes the spec of a job of its own, which plays a part.
func (s *suite) task(play string, args ...string) task {
	s.Helper()
	name := "suite-" + strings.ToLower(rand.Text()[:12])
	dir := filepath.Join(s.Dir, name)
	settings, err := json.Marshal(map[string]string{"play": play})
	if err != nil {
		s.Fatal(err)
	}
	spec := job.Spec{
		Schema: job.SpecSchema, Trainer: "jobtest", BaseModel: job.Model{URI: "none"},
		Dataset: job.Dataset{URI: "none", SHA256: strings.Repeat("0", 64), Rows: steps},
		Reward: job.Reward{
			Referee: []string{"none"}, Environment: "none",
			Settings: experiment.RewardSpec{FullTokens: 1, LengthOf: "valid"},
		},
		Epochs: 1, Seed: name, ExpectedSteps: steps, Resume: job.ResumeLatest, Settings: settings,
	}
	body, digest, err := spec.Marshal()
	if err != nil {
		s.Fatal(err)
	}
	if err := files.Disk(dir).Put(s.Context(), "spec.json", body); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.dumpOnFailure(dir) })
	return task{spec: spec, digest: digest, Request: job.Request{
		Job: name, Attempt: 1, Command: append([]string{s.trainer}, args...), Spec: filepath.Join(dir, "spec.json"), SpecSHA256: digest,
		Dir: dir, Resources: job.Resources{CPUs: 1}, Grace: time.Minute,
	}}
}

func (s *suite) dumpOnFailure(dir string) {
	if !s.Failed() {
		return
	}
	for _, name := range []string{"starts", "progress.json", "failure"} {
		if body, err := os.ReadFile(filepath.Join(dir, name)); err == nil { //nolint:gosec // a folder of the suite
			s.Logf("%s:\n%s", name, body)
		}
	}
}

func (s *suite) submit(t task) job.Status {
	s.Helper()
	st, err := job.Launch(s.Context(), s.Backend, t.Request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.tidy(t) })
	return st
}

// tidy stops what a failed law left running.
func (s *suite) tidy(t task) {
	ctx, cancel := contextWithin(Patience)
	defer cancel()
	if err := s.Stop(ctx, t.Name(), 0); err != nil {
		s.Errorf("stop after the law: %v", err)
	}
}

func (s *suite) status(t task) job.Status {
	s.Helper()
	st, err := s.Status(s.Context(), t.Name())
	if err != nil {
		s.Fatal(err)
	}
	if st.Name != t.Name() {
		s.Errorf("status of %q; want %q", st.Name, t.Name())
	}
	return st
}

// end waits for the end of an attempt.
func (s *suite) end(t task) job.Status {
	s.Helper()
	var st job.Status
	s.until("the end of "+t.Name(), func() bool { st = s.status(t); return st.State.Final() })
	return st
}

// training waits until the attempt has made a step.
func (s *suite) training(t task) {
	s.Helper()
	s.until("a step of "+t.Name(), func() bool {
		p, err := job.ReadProgress(t.files())
		return err == nil && p.Attempt == t.Attempt && p.Step > 0
	})
	s.until(t.Name()+" to be running", func() bool { return s.status(t).State == job.Running })
}

func (s *suite) judge(t task, st job.Status) job.Verdict {
	s.Helper()
	v, err := job.Judge(st, t.spec, t.digest, t.files(), nil)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

func (s *suite) wantOutcome(t task, st job.Status, want job.Outcome) {
	s.Helper()
	if v := s.judge(t, st); v.Outcome != want {
		s.Errorf("%s is judged %s (%s); want %s", st, v.Outcome, v.Reason, want)
	}
}

func (s *suite) wantExit(st job.Status, want int) {
	s.Helper()
	if st.State != job.Ended || st.ExitCode == nil || *st.ExitCode != want {
		s.Errorf("got %s; want it ended with exit code %d", st, want)
	}
}

func (s *suite) until(what string, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("waited %s in vain for %s", Patience, what)
		}
	}
}

// lines of a file of the job.
func (s *suite) lines(t task, name string) []string {
	s.Helper()
	body, err := os.ReadFile(filepath.Join(t.Dir, name)) //nolint:gosec // a folder of the suite
	if err != nil {
		return nil
	}
	return strings.Fields(string(bytes.ReplaceAll(body, []byte(" "), []byte("/"))))
}

// alive reports whether a process of this machine lives.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
