package trainspec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/trainspec"
)

func TestImports(t *testing.T) {
	// The list of environments is the test's own.
	importtest.Check(t, importtest.NoTemporal, importtest.NoAWS)
}

func load(t *testing.T, more ...string) experiment.Spec {
	t.Helper()
	const file = `
name: a
trainer: {kind: trl, model: {uri: Qwen/Qwen3-4B, revision: abc}, batch: 32}
job: {backend: slurm, env: [A=b=c, EMPTY=], memory_gb: 0.3, wall_minutes: 90, cpus: 8}
`
	s, err := config.Load("a.yaml", []byte(file), more, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func inputs(rows int) trainspec.Inputs {
	return trainspec.Inputs{Dataset: job.Dataset{URI: "/d", SHA256: strings.Repeat("d", 64), Rows: rows}, Seed: "s", State: job.RewardState{Answers: 9, Within: 4}}
}

func TestATrainingIsWrittenAsASpecThatTrainersRead(t *testing.T) {
	spec, err := trainspec.Spec(load(t), inputs(4000))
	if err != nil {
		t.Fatal(err)
	}
	body, digest, err := spec.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	read, again, err := job.ReadSpec(strings.NewReader(string(body)))
	if err != nil || again != digest {
		t.Fatalf("digest %s, then %s, %v", digest, again, err)
	}
	if read.ExpectedSteps != 250 || *read.BaseModel.Revision != "abc" || read.BaseModel.SHA256 != nil || read.Limits.WallSeconds != 5400 || read.Reward.State.Within != 4 {
		t.Errorf("got %+v", read)
	}
	var settings map[string]any
	if err := json.Unmarshal(read.Settings, &settings); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"batch": 32.0, "learning_rate": 1e-5, "tuning": "lora", "save_every": 10.0} {
		if settings[key] != want {
			t.Errorf("%s is %v; want %v", key, settings[key], want)
		}
	}
	if _, ok := settings["verl"]; ok || settings["trl"] == nil {
		t.Errorf("settings of both recipes or neither: %v", settings)
	}
}

func TestStepsAreAllTasksOfAllEpochsTheLastOneFilledUp(t *testing.T) {
	for _, c := range []struct{ rows, epochs, batch, want int }{
		{4000, 2, 32, 250}, {10, 1, 4, 3}, {10, 2, 4, 5}, {1, 1, 32, 1}, {33, 1, 32, 2},
	} {
		s := load(t)
		s.Epochs, s.Trainer.Batch = c.epochs, c.batch
		spec, err := trainspec.Spec(s, inputs(c.rows))
		if err != nil || spec.ExpectedSteps != c.want {
			t.Errorf("%+v: %d steps, %v", c, spec.ExpectedSteps, err)
		}
	}
}

func TestTheSameStepWithOtherSettingsIsAnotherJob(t *testing.T) {
	step := experiment.StepID{Kind: "train", Key: strings.Repeat("a", 64)}
	one, other := trainspec.Name(step, "x"), trainspec.Name(step, "y")
	if one == other || one != trainspec.Name(step, "x") || job.CheckName(job.Name(one, 99)) != nil {
		t.Errorf("names %s and %s", one, other)
	}
}

func TestAJobGetsWhatItsSectionSays(t *testing.T) {
	r := trainspec.Request(*load(t).Job)
	if len(r.Env) != 2 || r.Env[0] != (job.Var{Name: "A", Value: "b=c"}) || r.Env[1] != (job.Var{Name: "EMPTY"}) {
		t.Errorf("variables %+v", r.Env)
	}
	want := job.Resources{GPUs: 1, CPUs: 8, MemoryBytes: 300_000_000, Wall: 90 * time.Minute}
	if r.Resources != want || r.Grace != 10*time.Minute {
		t.Errorf("resources %+v, grace %s; want %+v", r.Resources, r.Grace, want)
	}
}
