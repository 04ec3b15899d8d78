package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"floe/activities"
	"floe/internal/devtest/binaries"
	"floe/internal/experiment"
	"floe/internal/stack"
	"floe/workflows"
)

// long trains for some seconds, and saves often.
var long = strings.Replace(small, "epochs: 2", "epochs: 14", 1)

// again starts the services of a machine once more on its data.
func (m *machine) again() *machine {
	m.t.Helper()
	return bootOn(m.t, m.data)
}

// loseTemporal stops the services and deletes all that Temporal knew.
func (m *machine) loseTemporal() {
	m.t.Helper()
	m.shut()
	m.ended = true
	files, err := filepath.Glob(filepath.Join(m.data, "temporal.db*"))
	if err != nil || len(files) == 0 {
		m.t.Fatalf("Temporal's database: %v, %v", files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			m.t.Fatal(err)
		}
	}
}

// objects lists what lies in the bucket, under a prefix.
func (m *machine) objects(prefix string) []string {
	m.t.Helper()
	info, err := stack.Read(m.data)
	if err != nil {
		m.t.Fatal(err)
	}
	root := filepath.Join(m.data, "s3", info.Bucket)
	var keys []string
	err = filepath.WalkDir(filepath.Join(root, prefix), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(root, path)
		keys = append(keys, filepath.ToSlash(key))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return keys
}

// provenance is what is recorded of a run.
func (m *machine) provenance(name string) experiment.Provenance {
	m.t.Helper()
	var r experiment.Results
	if err := json.Unmarshal([]byte(m.must("report", name, "-o", "json")), &r); err != nil {
		m.t.Fatal(err)
	}
	return r.Provenance
}

func TestWhatIsDoneIsPlannedForkedRunAgainAndMended(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	m := boot(t)
	spec := specFile(t, small)
	m.says(exitOK, "15 to do", "plan", spec)
	m.must("run", spec)
	m.says(exitOK, "0 to do", "plan", spec, "--set", "name=twin")
	m.says(exitOK, "0 to do", "plan", "small")
	m.says(exitOK, "6 to do", "plan", spec, "--set", "designer.context=V3") // from the first design on

	t.Run("a fork shares the first rounds and says where it comes from", func(t *testing.T) { forks(t, m) })
	t.Run("a second run makes the same", func(t *testing.T) {
		m.says(exitOK, "all 28 artifacts", "rerun", "small")
		m.says(exitNotFound, "nobody", "rerun", "nobody")
	})
	t.Run("damage is found, set aside, and done again with the same content", func(t *testing.T) { mends(t, m) })
	t.Run("nothing is left to sweep", func(t *testing.T) {
		m.says(exitOK, "would sweep 0 objects", "gc", "--dry-run", "--unreferenced", "--older", "1m")
		m.says(exitUsage, "at least 1m", "gc", "--older", "5s")
	})
}

func forks(t *testing.T, m *machine) {
	m.says(exitUsage, "want at least 1", "fork", "small", "--at-round", "0")
	m.says(exitUsage, "validation.instances", "fork", "small", "--at-round", "1", "--set", "validation.instances=9")
	m.says(exitNotFound, "nobody", "fork", "nobody", "--at-round", "1")
	m.says(exitUsage, "designer.context: V6 -> V3: no effect; designer.kind learnability is a rule", "fork", "small", "--at-round", "1", "--set", "designer.context=V3")
	m.says(exitUsage, "changes nothing: the value is the same", "fork", "small", "--at-round", "1", "--set", "rounds=2")
	m.says(exitOK, "designer.context: V6 -> V3: no effect", "fork", "small", "--at-round", "1", "--set", "designer.context=V3", "--set", "rounds=3")
	parent, fork := m.sums("small"), m.sums("small-fork-1")
	for path, sum := range parent {
		if (strings.HasPrefix(path, "start/") || strings.HasPrefix(path, "round-0/")) && fork[path] != sum {
			t.Errorf("%s is not the parent's", path)
		}
	}
	if fork["round-1/design/transcript.json"] == parent["round-1/design/transcript.json"] || fork["round-2/train/policy.bin"] == "" {
		t.Error("the fork did not go its own way from round 1 on")
	}
	if p := m.provenance("small-fork-1"); p.Origin == nil || *p.Origin != (experiment.Origin{Experiment: "small", Round: 1}) {
		t.Errorf("origin %+v", p.Origin)
	}
	m.says(exitOK, "done already", "fork", "small", "--at-round", "1", "--set", "designer.context=V3", "--set", "rounds=3")
	m.says(exitUsage, "another spec", "fork", "small", "--at-round", "1", "--set", "designer.context=V2", "--set", "rounds=3")
}

func mends(t *testing.T, m *machine) {
	want := m.sums("small")
	var harmed string
	for _, key := range m.objects("steps/train") {
		if strings.HasSuffix(key, activities.FilePolicy) {
			harmed = key
			break
		}
	}
	info, err := stack.Read(m.data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.data, "s3", info.Bucket, harmed)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("damage"), 100)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	m.says(exitFailed, harmed, "artifacts", "verify")
	m.says(exitOK, "starter retry", "artifacts", "verify", "--repair")
	if aside := m.objects("quarantine"); len(aside) != 1 {
		t.Errorf("set aside: %q; want one manifest", aside)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what is damaged was not kept: %v", err)
	}
	for _, name := range []string{"small", "small-rerun", "small-fork-1"} {
		if _, _, code := m.starter("retry", name); code == exitOK {
			m.reaches(name, workflows.StateDone)
			m.must("watch", name)
		}
	}
	m.says(exitOK, "0 steps are not", "artifacts", "verify")
	if diff := differ(want, m.sums("small")); diff != "" {
		t.Error(diff)
	}
}

// TestAnExperimentLostWithItsServerGoesOnFromArtifacts deletes Temporal's
// database in the middle of a training, and after the end.
func TestAnExperimentLostWithItsServerGoesOnFromArtifacts(t *testing.T) {
	t.Parallel()
	m := boot(t, impatient...)
	m.must("run", specFile(t, long), "--detach")
	m.until("round 1 to train", func() bool {
		p := m.progress("small")
		return p.Round == 1 && p.Step == "train" && p.Done > 0
	})
	before := m.objects("steps/train")
	m.loseTemporal()
	m = m.again()
	m.says(exitOK, "lost", "show", "small")
	m.must("retry", "small")
	m.must("watch", "small")
	if diff := differ(undisturbed(t, long), m.sums("small")); diff != "" {
		t.Error(diff)
	}
	kept := map[string]bool{}
	for _, key := range m.objects("steps/train") {
		kept[key] = true
	}
	for _, key := range before {
		if strings.HasSuffix(key, activities.FilePolicy) && !kept[key] {
			t.Errorf("%s was made again", key)
		}
	}

	m.must("fork", "small", "--at-round", "1", "--set", "designer.kind=regret")
	fork := m.sums("small-fork-1")
	m.loseTemporal()
	m = m.again()
	m.must("retry", "small-fork-1")
	m.must("watch", "small-fork-1")
	if diff := differ(fork, m.sums("small-fork-1")); diff != "" {
		t.Error(diff)
	}
	if p := m.provenance("small-fork-1"); p.Origin == nil || p.Origin.Experiment != "small" {
		t.Errorf("origin %+v after the server was lost", p.Origin)
	}
}

// TestAWorkerStoppedPastItsLeaseIsRefused stops a worker in the middle of a
// training, lets another finish the experiment, and wakes the first.
func TestAWorkerStoppedPastItsLeaseIsRefused(t *testing.T) {
	t.Parallel()
	m := boot(t, impatient...)
	m.must("run", specFile(t, long), "--detach")
	round := -1
	m.until("a training step", func() bool {
		p := m.progress("small")
		round = p.Round
		return p.Step == "train" && p.Done > 0
	})
	first := m.child("worker")
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(program(t, binaries.Worker), "--data", m.data)
	other.Stderr, other.Env = m.log, append(os.Environ(), impatient...)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(other.Process.Signal(os.Interrupt), other.Wait()); err != nil {
			t.Error(err)
		}
	}()
	by := func(pid int) (last activities.Attempt) { // at the training that was stopped
		for _, at := range m.attempts("small") {
			if at.Step == "train" && at.Round == round && strings.HasPrefix(at.Worker, fmt.Sprintf("%d@", pid)) {
				last = at
			}
		}
		return last
	}
	m.until("the other to take over", func() bool { return by(other.Process.Pid).Step != "" })
	m.must("watch", "small")
	if err := syscall.Kill(first, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	m.until("the first to end its attempt", func() bool { return by(first).Ended != "" })
	if at := by(first); at.Outcome == activities.OutcomeDone {
		t.Errorf("the first worker's attempt is %+v; want it to be refused", at)
	}
	if diff := differ(undisturbed(t, long), m.sums("small")); diff != "" {
		t.Error(diff)
	}
	policies := 0
	for _, key := range m.objects("steps/train") {
		if strings.HasSuffix(key, activities.FilePolicy) {
			policies++
		}
	}
	if policies != 2 {
		t.Errorf("%d policies of 2 rounds", policies)
	}
}
