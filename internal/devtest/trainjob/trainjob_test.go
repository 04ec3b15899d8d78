package trainjob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/devtest/binaries"
	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/files"
)

// TestMain makes the test program the trainer where it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "train" {
		os.Exit(trainjob.Run(context.Background(), os.Stdout))
	}
	os.Exit(devtest.Run(m))
}

// starter is the program with the referee.
func starter(t *testing.T) string {
	t.Helper()
	dir, err := binaries.Build(binaries.Starter)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, binaries.Starter)
}

const (
	rows  = 22
	batch = 4
	steps = 11 // two epochs
)

// training is a job of a test: what does not change between its attempts.
type training struct {
	t      *testing.T
	dir    string
	spec   job.Spec
	body   []byte
	digest string
	output string
	at     string // of the spec; empty: in dir
	env    []string
}

// newTraining is a job of 22 small tasks from a model of little skill.
func newTraining(t *testing.T) *training {
	t.Helper()
	root := t.TempDir()
	base := filepath.Join(root, "base")
	if err := skill.Skill(0.3).WriteModel(base); err != nil {
		t.Fatal(err)
	}
	packed := dataset(t)
	file := filepath.Join(root, "dataset.jsonl.zst")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	j := &training{t: t, dir: filepath.Join(root, "job"), spec: job.Spec{
		Trainer: "trl", BaseModel: job.Model{URI: base},
		Dataset: job.Dataset{URI: file, SHA256: job.Digest(packed), Rows: rows},
		Reward: job.Reward{
			Referee: []string{starter(t), "score"}, Environment: "lake", State: job.RewardState{Answers: 100, Within: 40},
			Settings: experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
		},
		Epochs: 2, Seed: "test/train", ExpectedSteps: steps,
		Settings: json.RawMessage(`{"rollouts":4,"batch":4,"save_every":2,"tuning":"lora","trl":{"device":"cpu"}}`),
	}}
	j.write()
	return j
}

func dataset(t *testing.T) []byte {
	t.Helper()
	e, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	size := experiment.Row{Size: "3x3", DataRatio: 1, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0}}}
	tasks, _, err := env.Tasks(t.Context(), e, env.Order{
		Split: env.SplitTrain, Seed: "a test", IDPrefix: "r0", Agents: 2, Objective: "sum_of_costs", Samples: rows,
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{size}},
	}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	body, err := artifact.JSONLines("dataset.jsonl.zst", tasks)
	if err != nil {
		t.Fatal(err)
	}
	text, err := body.Open()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(text); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write writes the spec into the directory.
func (j *training) write() {
	j.t.Helper()
	var err error
	if j.body, j.digest, err = j.spec.Marshal(); err == nil {
		err = files.Disk(j.dir).Put(j.t.Context(), "spec.json", j.body)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

func (j *training) command(attempt int, faults string) *exec.Cmd {
	at := j.at
	if at == "" {
		at = filepath.Join(j.dir, "spec.json")
	}
	cmd := exec.Command(os.Args[0], "train")
	cmd.Env = append(os.Environ(), "FLOE_JOB_SPEC="+at, "FLOE_JOB_DIR="+j.dir, "FLOE_JOB_ID="+job.Name("train-test", attempt),
		fmt.Sprint("FLOE_ATTEMPT=", attempt), "FLOE_OUTPUT_URI="+j.output, trainjob.EnvFaults+"="+faults)
	cmd.Env = append(cmd.Env, j.env...)
	return cmd
}

// run runs an attempt to its end and returns its exit code, as shells have it.
func (j *training) run(attempt int, faults string) int {
	j.t.Helper()
	cmd := j.command(attempt, faults)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		j.t.Fatal(err, exit)
	}
	j.t.Logf("attempt %d: %s\n%s", attempt, cmd.ProcessState, out)
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func (j *training) wants(code, attempt int, faults string) {
	j.t.Helper()
	if got := j.run(attempt, faults); got != code {
		j.t.Fatalf("attempt %d ended with exit code %d; want %d", attempt, got, code)
	}
}

// judged is the verdict on what a job left.
func (j *training) judged(code int, where fs.FS) job.Verdict {
	j.t.Helper()
	v, err := job.Judge(job.Status{Name: "test", State: job.Ended, ExitCode: &code}, j.spec, j.digest, where, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	return v
}

func (j *training) succeeded() job.Manifest {
	j.t.Helper()
	v := j.judged(0, files.Disk(j.dir))
	if v.Outcome != job.Success {
		j.t.Fatalf("judged %s: %s", v.Outcome, v.Reason)
	}
	return *v.Manifest
}

// samples are the tasks of each step, as all attempts wrote them; a step that was
// made twice must have had the same.
func (j *training) samples() map[int][]string {
	j.t.Helper()
	names, err := filepath.Glob(filepath.Join(j.dir, "samples", "a*.jsonl"))
	if err != nil || len(names) == 0 {
		j.t.Fatal(names, err)
	}
	ids := map[int][]string{}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			j.t.Fatal(err)
		}
		for line := range strings.Lines(string(body)) {
			var s struct {
				Step int
				IDs  []string
			}
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				j.t.Fatal(err)
			}
			if before := ids[s.Step]; before != nil && !slices.Equal(before, s.IDs) {
				j.t.Errorf("step %d had the tasks %v, and %v", s.Step, before, s.IDs)
			}
			ids[s.Step] = s.IDs
		}
	}
	return ids
}

func TestAJobRunsToItsEndAndItsModelHasLearned(t *testing.T) {
	j := newTraining(t)
	j.wants(job.ExitDone, 1, "")
	m := j.succeeded()
	after, err := skill.Read(os.DirFS(filepath.Join(j.dir, fmt.Sprintf("checkpoints/step-%06d", steps))))
	if err != nil || after <= 0.4 || m.Parent != nil {
		t.Errorf("skill %v, %v, parent %v", after, err, m.Parent)
	}
	if want := (job.RewardState{Answers: 100 + steps*batch*4, Within: 40 + steps*batch*4}); m.RewardState != want {
		t.Errorf("reward state %+v; want %+v", m.RewardState, want)
	}
	metrics, err := job.ReadMetrics(files.Disk(j.dir))
	if err != nil || len(metrics) != steps {
		t.Fatalf("%d steps of metrics, %v", len(metrics), err)
	}
	for i, s := range metrics {
		if reward := s.Data["reward"]; reward == nil || *reward < 0 || *reward > 1 || s.Data["weight_acc"] == nil {
			t.Errorf("step %d: %v", i+1, s.Data)
		}
	}
	seen := map[string]int{}
	for _, ids := range j.samples() {
		for _, id := range ids {
			seen[id]++
		}
	}
	if len(seen) != rows || slices.ContainsFunc(slices.Collect(maps.Values(seen)), func(n int) bool { return n != 2 }) {
		t.Errorf("tasks were trained on so often: %v; want each twice", seen)
	}
	left, err := filepath.Glob(filepath.Join(j.dir, "checkpoints", "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("checkpoints %v, %v; want the newest two", left, err)
	}
}

func TestAKilledJobGoesOnAndLeavesWhatAnUndisturbedOneLeaves(t *testing.T) {
	calm, killed := newTraining(t), newTraining(t)
	calm.wants(job.ExitDone, 1, "")
	killed.spec.BaseModel = calm.spec.BaseModel // the same spec
	killed.spec.Dataset = calm.spec.Dataset
	killed.write()
	killed.wants(job.ExitKilled, 1, "kill:3@1,tear:6@2")
	killed.wants(job.ExitKilled, 2, "kill:3@1,tear:6@2")
	killed.wants(job.ExitDone, 3, "kill:3@1,tear:6@2")
	want, got := calm.succeeded(), killed.succeeded()
	if !slices.Equal(want.Files, got.Files) || want.RewardState != got.RewardState {
		t.Errorf("the killed job leaves %+v; want %+v", got, want)
	}
	if want, got := calm.samples(), killed.samples(); !maps.EqualFunc(want, got, slices.Equal) {
		t.Errorf("tasks of the steps: %v; want %v", got, want)
	}
	log, err := os.ReadFile(filepath.Join(killed.dir, "log", "a3.log"))
	if err != nil || !strings.Contains(string(log), "step-000006 is torn") || !strings.Contains(string(log), "goes on from checkpoints/step-000004") {
		t.Errorf("%v, the log says:\n%s", err, log)
	}
}

func TestAJobThatIsAskedToStopSavesAndTheNextAttemptGoesOn(t *testing.T) {
	for _, how := range []string{"SIGTERM", "stop.requested"} {
		t.Run(how, func(t *testing.T) {
			j := newTraining(t)
			diary := filepath.Join(t.TempDir(), "diary")
			j.env = []string{skill.EnvDiary + "=" + diary}
			if err := job.RequestStop(t.Context(), files.Disk(j.dir), 1); err != nil { // of an attempt that is over
				t.Fatal(err)
			}
			cmd := j.command(2, "hold:3")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); !held(t, diary); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					_ = cmd.Process.Kill()
					t.Fatal("it does not get to step 3")
				}
			}
			j.wants(job.ExitBusy, 9, "")
			var err error
			if how == "SIGTERM" {
				err = cmd.Process.Signal(syscall.SIGTERM)
			} else {
				err = job.RequestStop(t.Context(), files.Disk(j.dir), 2)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != job.ExitStopped {
				t.Fatalf("it ended with %v; want exit code 75", err)
			}
			if p, err := job.ReadProgress(files.Disk(j.dir)); err != nil || p.Phase != job.PhaseStopped || p.Step != 3 {
				t.Errorf("progress %+v, %v", p, err)
			}
			if latest, err := job.Latest(files.Disk(j.dir)); err != nil || latest != "checkpoints/step-000003" {
				t.Errorf("latest is %q, %v", latest, err)
			}
			j.wants(job.ExitDone, 3, "hold:3")
			j.succeeded()
			made := 0
			for _, e := range skill.Diary(t, diary) {
				if e.Event == skill.EventStep {
					made++
				}
			}
			if made != steps {
				t.Errorf("%d steps were made; want %d, none twice", made, steps)
			}
		})
	}
}

func held(t *testing.T, diary string) bool {
	return slices.ContainsFunc(skill.Diary(t, diary), func(e skill.Entry) bool { return e.Event == skill.EventHold && e.Step == 3 })
}

func TestWhatCannotBeTrainedEndsWithTheContractsCode(t *testing.T) {
	for _, c := range []struct {
		name, faults, says string
		code               int
		spoil              func(*training)
	}{
		{"a dataset of another digest", "", "dataset", job.ExitBadData, func(j *training) { j.spec.Dataset.SHA256 = strings.Repeat("0", 64) }},
		{"a dataset of another length", "", "found 22 rows", job.ExitBadData, func(j *training) { j.spec.Dataset.Rows = 21 }},
		{"another count of steps", "", "want 11", job.ExitBadSpec, func(j *training) { j.spec.ExpectedSteps = 12 }},
		{"a setting that no recipe has", "", "rollouts_", job.ExitBadSpec, func(j *training) { j.spec.Settings = json.RawMessage(`{"rollouts_":2}`) }},
		{"no base model", "", "base_model.uri", job.ExitBadSpec, func(j *training) { j.spec.BaseModel.URI = "Qwen/Qwen3-4B" }},
		{"another base model", "", "tree sha256", job.ExitBadData, func(j *training) { s := strings.Repeat("0", 64); j.spec.BaseModel.SHA256 = &s }},
		{"no checkpoint to start from", "", "init.uri", job.ExitBadSpec, func(j *training) { j.spec.Init = &job.Init{URI: j.dir, ManifestSHA256: strings.Repeat("0", 64)} }},
		{"no referee", "", "referee", job.ExitBadSpec, func(j *training) { j.spec.Reward.Referee = []string{"/none"} }},
		{"a loss that is not finite", "nan:2", "step 2 is not finite", job.ExitBadData, nil},
		{"an end that was asked for", "exit=70:1", "meant to end", job.ExitInternal, nil},
		{"a fault that there is not", "explode:1", "", job.ExitBadSpec, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newTraining(t)
			if c.spoil != nil {
				c.spoil(j)
				j.write()
			}
			j.wants(c.code, 1, c.faults)
			if said := job.Failure(files.Disk(j.dir)); !strings.Contains(said, c.says) {
				t.Errorf("failure says %q; want %q", said, c.says)
			}
		})
	}
}

func TestAnEndWithoutAStepIsNoSuccess(t *testing.T) {
	j := newTraining(t)
	j.wants(job.ExitDone, 1, "empty:0")
	if v := j.judged(0, files.Disk(j.dir)); v.Outcome != job.Failed {
		t.Errorf("judged %s", v.Outcome)
	}
}

func TestADirectoryOfAnotherSpecIsRefused(t *testing.T) {
	j := newTraining(t)
	j.wants(job.ExitDone, 1, "")
	j.spec.Seed = "another"
	j.write()
	j.wants(job.ExitBadSpec, 2, "")
}

func TestTheNextRoundStartsFromACheckpoint(t *testing.T) {
	first, second := newTraining(t), newTraining(t)
	first.wants(job.ExitDone, 1, "")
	m := first.succeeded()
	dir := filepath.Join(first.dir, fmt.Sprintf("checkpoints/step-%06d", steps))
	_, digest, err := job.ReadManifest(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	second.spec.Init = &job.Init{URI: dir, ManifestSHA256: digest}
	second.spec.Reward.State = m.RewardState
	second.write()
	second.wants(job.ExitDone, 1, "")
	if m := second.succeeded(); m.Parent == nil || *m.Parent != digest {
		t.Errorf("parent %v; want %s", m.Parent, digest)
	}
	before, errBefore := skill.Read(os.DirFS(dir))
	after, errAfter := skill.Read(os.DirFS(filepath.Join(second.dir, fmt.Sprintf("checkpoints/step-%06d", steps))))
	if err := errors.Join(errBefore, errAfter); err != nil || after <= before {
		t.Errorf("skill %v after %v: %v", after, before, err)
	}
}

// TestAJobOfAStoreGoesOnOnAnotherMachine has all inputs and outputs in a store; the
// second attempt finds nothing in its directory.
func TestAJobOfAStoreGoesOnOnAnotherMachine(t *testing.T) {
	s := devtest.Shared(t)
	store := s.Store()
	j := newTraining(t)
	for key, name := range map[string]string{"in/dataset.jsonl.zst": j.spec.Dataset.URI, "in/base/model.safetensors": j.spec.BaseModel.URI + "/model.safetensors"} {
		body, err := os.ReadFile(name)
		if err == nil {
			err = store.Put(t.Context(), key, bytes.NewReader(body))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := "s3://" + s.Bucket
	j.spec.Dataset.URI, j.spec.BaseModel.URI = at+"/in/dataset.jsonl.zst", at+"/in/base"
	j.write()
	if err := store.Put(t.Context(), "in/spec.json", bytes.NewReader(j.body)); err != nil {
		t.Fatal(err)
	}
	out := "out/" + rand.Text()
	j.at, j.output = at+"/in/spec.json", at+"/"+out+"/"
	j.env = []string{"AWS_ENDPOINT_URL_S3=" + s.S3, "AWS_SHARED_CREDENTIALS_FILE=" + s.Credentials, "AWS_REGION=" + s.Region}
	j.wants(job.ExitKilled, 1, "kill:5")
	j.dir = filepath.Join(t.TempDir(), "elsewhere")
	j.wants(job.ExitDone, 2, "")
	remote := files.Store(t.Context(), store, out)
	if v := j.judged(0, remote); v.Outcome != job.Success {
		t.Errorf("judged %s: %s", v.Outcome, v.Reason)
	}
	metrics, err := job.ReadMetrics(remote)
	if err != nil || len(metrics) != steps || metrics[3].Attempt != 1 || metrics[4].Attempt != 2 {
		t.Errorf("%d metrics, %v", len(metrics), err)
	}
	if p, err := job.ReadProgress(remote); err != nil || p.Phase != job.PhaseDone {
		t.Errorf("progress %+v, %v", p, err)
	}
}
