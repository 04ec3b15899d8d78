package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"floe/internal/devtest/binaries"
	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/experiment"
)

// baseSkill is the share of tasks that the untrained model solves.
const baseSkill = 0.2

// modelSpec is an experiment of seconds that trains a language model as a job and
// serves it: two rounds of six steps. Its model is a number (package skill).
const modelSpec = `
name: lm
rounds: 2
seed: 5
samples: 24
epochs: 1
validation: {sizes: [3x3, 4x4], instances: 30}
curriculum:
  sizes:
    3x3: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
    4x4: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
trainer: {kind: trl, model: {uri: %[1]q}, rollouts: 4, batch: 4, learning_rate: 0.00002, save_every: 2}
job: {backend: process, command: [%[2]q, train], gpus: 0, grace_seconds: 20}
serve: {kind: vllm, program: [%[2]q, serve], idle_minutes: 0}
ask: {concurrency: 8, max_tokens: 2048}
designer: {kind: trained, context: V6}
benchmarks: {agents: [3], instances: 3}
`

// lab is a machine on which language models are trained and served.
type lab struct {
	*machine

	dir  string
	spec string // file of modelSpec
	env  []string
}

// openLab boots a lab.
func openLab(t *testing.T, env ...string) *lab {
	t.Helper()
	l := &lab{dir: t.TempDir()}
	if err := skill.Skill(baseSkill).WriteModel(l.path("base")); err != nil {
		t.Fatal(err)
	}
	l.spec = specFile(t, fmt.Sprintf(modelSpec, l.path("base"), program(t, binaries.Scripted)))
	l.env = append(env, "FLOE_TEST_JOB_POLL=500ms", skill.EnvDiary+"="+l.path("diary"), skill.EnvHold+"="+l.path("hold"), skill.EnvDevice+"="+l.path("device"), trainjob.EnvGo+"="+l.path("go"))
	l.machine = boot(t, l.env...)
	t.Cleanup(func() {
		if t.Failed() {
			l.tidy()
			t.Logf("the diary:\n%s\nthe services said:\n%s\nthe worker's log ends:\n%s", l.diaryText(), l.log, l.workerLog())
		}
	})
	return l
}

// tidy ends what a failed test left at work: jobs outlive workers.
func (l *lab) tidy() {
	for _, e := range l.of(skill.EventStart, skill.EventServe) {
		if l.alive(e.PID) {
			l.kill(e.PID)
		}
	}
}

// alive says whether a process is one of our programs and runs.
func (l *lab) alive(pid int) bool {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(body), programs)
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// diaryText is the diary without the many tasks that were answered.
func (l *lab) diaryText() string {
	var b strings.Builder
	for _, e := range skill.Diary(l.t, l.path("diary")) {
		if e.Event != skill.EventAnswer {
			fmt.Fprintf(&b, "%+v\n", e)
		}
	}
	return b.String()
}

func (l *lab) workerLog() string {
	body, err := os.ReadFile(filepath.Join(l.data, "logs", "worker.log"))
	if err != nil {
		return err.Error()
	}
	return string(body[max(0, len(body)-8<<10):])
}

// of are the entries of the diary of some kinds of events.
func (l *lab) of(events ...string) []skill.Entry {
	l.t.Helper()
	var some []skill.Entry
	for _, e := range skill.Diary(l.t, l.path("diary")) {
		for _, event := range events {
			if e.Event == event {
				some = append(some, e)
			}
		}
	}
	return some
}

// tell writes a file that trainers and servers look for.
func (l *lab) tell(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// holds waits until a training stands at a step, as it was asked to.
func (l *lab) holds(step int) skill.Entry {
	l.t.Helper()
	var at skill.Entry
	l.until(fmt.Sprintf("a training to hold after step %d", step), func() bool {
		for _, e := range l.of(skill.EventHold) {
			if e.Step == step {
				at = e
				return true
			}
		}
		return false
	})
	return at
}

// once checks that no job made a step twice.
func (l *lab) once() {
	l.t.Helper()
	seen := map[string]bool{}
	for _, e := range l.of(skill.EventStep) {
		step := fmt.Sprintf("%s step %d", filepath.Base(e.Job), e.Step)
		if seen[step] {
			l.t.Errorf("%s was made twice", step)
		}
		seen[step] = true
	}
}

// quiet checks that nothing is left of trainings and servers: neither they nor the
// supervisors and guards around them.
func (l *lab) quiet() {
	l.t.Helper()
	for _, e := range l.of(skill.EventClash) {
		l.t.Errorf("process %d began while another had the device", e.PID)
	}
	pids := map[int]bool{}
	for _, e := range l.of(skill.EventStart, skill.EventServe) {
		pids[e.PID] = true
	}
	var left []string
	for pid := range pids {
		if l.alive(pid) {
			left = append(left, fmt.Sprintf("process %d of the diary", pid))
		}
	}
	left = append(left, commandLines(l.t, filepath.Join(l.data, "worker")+"/")...)
	if len(left) > 0 {
		l.t.Errorf("still there:\n%s", strings.Join(left, "\n"))
	}
}

// found are the results of an experiment.
func (l *lab) found(name string) experiment.Results {
	l.t.Helper()
	s := l.look(name)
	if s.Results == nil {
		l.t.Fatalf("%s is %s (%s) and has no results", name, s.State, s.Failure)
	}
	return *s.Results
}

// read decodes a JSON artifact.
func (l *lab) read(name, artifact string, into any) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.text(name, artifact)), into); err != nil {
		l.t.Fatalf("%s: %v", artifact, err)
	}
}

func (l *lab) text(name, artifact string) string {
	l.t.Helper()
	return l.must("artifacts", "get", name, artifact, "-O", "-")
}

// skillAfter is the skill of the checkpoint that a round left.
func (l *lab) skillAfter(name string, round int) skill.Skill {
	l.t.Helper()
	dir := l.t.TempDir()
	const file = "adapter_model.safetensors"
	l.must("artifacts", "get", name, fmt.Sprintf("round-%d/train/checkpoint/%s", round, file), "-O", filepath.Join(dir, file))
	s, err := skill.Read(os.DirFS(dir))
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// samples are the tasks of each step of a round, over all attempts.
func (l *lab) samples(name string, round int) map[int]string {
	l.t.Helper()
	tasks := map[int]string{}
	for path := range l.sums(name) {
		if !strings.HasPrefix(path, fmt.Sprintf("round-%d/train/samples/", round)) {
			continue
		}
		for line := range strings.Lines(l.text(name, path)) {
			var s struct {
				Step int
				IDs  []string
			}
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				l.t.Fatal(err)
			}
			tasks[s.Step] = strings.Join(s.IDs, " ")
		}
	}
	return tasks
}

// kill ends a process of ours with -9.
func (l *lab) kill(pid int) {
	l.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		l.t.Fatal(err)
	}
}
