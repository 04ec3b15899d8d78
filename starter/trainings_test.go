package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
)

// gpuSpec is a file that trains a language model: 2 rounds of 13 steps.
const gpuSpec = `
name: gpu
rounds: 2
samples: 100
epochs: 2
validation: {sizes: [3x3, 4x4], instances: 10}
trainer: {kind: trl, batch: 16, rollouts: 4, model: {uri: Qwen/Qwen3-4B, revision: abc}}
designer: {kind: trained, repairs: 1}
job: {backend: slurm, gpus: 2, hours: 1.5, slurm: {partition: gpu}}
benchmarks: {agents: [3], instances: 3}
`

func TestPlansOfLanguageModelsSayWhatTheyTake(t *testing.T) {
	file := specFile(t, gpuSpec)
	const (
		rollouts = 2 * 13 * 16 * 4 // rounds x steps x batch x rollouts
		asked    = 3*2*10 + 2*8*3  // the base and two rounds on the set, base and last on the held-out one
		hours    = 2 * 2 * 1.5     // rounds x GPUs x hours
	)
	var p plan
	read(t, &p, "validate", file)
	if p.Jobs != 2 || p.ModelCalls != 4 || p.Rollouts != rollouts || p.Scored != asked {
		t.Errorf("plan %+v", p)
	}
	var steps planned
	read(t, &steps, "plan", file, "--offline")
	for name, got := range map[string]*trainings{"validate": p.Trainings, "plan": steps.Trainings} {
		if got == nil || len(got.Places) != 1 || got.GPUHours == nil {
			t.Fatalf("%s: %+v; want one place with its GPU-hours", name, got)
		}
		where := site{way: way{Recipe: "trl", Backend: "slurm", GPUs: 2, JobHours: 1.5}, Jobs: 2, GPUHours: got.Places[0].GPUHours}
		if got.Places[0] != where || *got.GPUHours != hours || *got.Places[0].GPUHours != hours || got.Rollouts != rollouts || got.Asked != asked {
			t.Errorf("%s: %+v; want %+v, %v GPU-hours, %d sampled and %d asked", name, got, where, hours, rollouts, asked)
		}
	}
	says(t, []string{
		"Qwen/Qwen3-4B at abc", "2 jobs of 13 steps by trl, tuning lora", "by slurm, 2 GPUs each", "6: 2 jobs x 1.5 hours x 2 GPUs",
		"1664 sampled in training, 108 asked of the served model (vllm)",
	}, "validate", file)
	says(t, []string{"2 trainings to do: 2 by slurm, 2 GPUs each; 1664 answers to sample in them, 108 to ask", "GPU-hours: 6 by job.hours"}, "plan", file, "--offline")
}

func TestHoursThatNobodySaidAreNotInvented(t *testing.T) {
	file := specFile(t, gpuSpec)
	var p plan
	read(t, &p, "validate", file, "--set", "job.hours=0")
	if p.Trainings.GPUHours != nil || p.Trainings.Places[0].GPUHours != nil {
		t.Errorf("GPU-hours %v; want null", p.Trainings)
	}
	says(t, []string{"not known; job.hours"}, "validate", file, "--set", "job.hours=0")
	says(t, []string{"GPU-hours: not known, job.hours"}, "plan", file, "--offline", "--set", "job.hours=0")
}

func TestVerlTakesTheGPUsOfItsCluster(t *testing.T) {
	file := specFile(t, gpuSpec)
	var p plan
	read(t, &p, "validate", file, "--set", "trainer.kind=verl", "--set", "trainer.batch=32", "--set", "job={backend: ray, hours: 2, ray: {address: 'http://head:8265'}}",
		"--set", "trainer.recipe={micro_batch: 4, verl: {nodes: 2, gpus_per_node: 4}}")
	if got := p.Trainings.Places[0]; got.GPUs != 8 || *got.GPUHours != 2*8*2 {
		t.Errorf("%+v; want 8 GPUs and 32 GPU-hours", got)
	}
}

func TestTheEmbeddedPolicyTakesNoGPU(t *testing.T) {
	out, _, _ := cli(t, "validate", "../examples/demo.yaml", "-o", "json")
	if !strings.Contains(out, `"trainings": null`) {
		t.Errorf("printed %s; want no trainings elsewhere", out)
	}
	if out, _, _ = cli(t, "plan", "../examples/demo.yaml", "--offline"); strings.Contains(out, "GPU") {
		t.Errorf("printed %s", out)
	}
}

func TestASweepCountsEachTrainingOnce(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{"base.yaml": gpuSpec, "s.yaml": `
name: s
base: base.yaml
seeds: [1, 2]
arms:
  trained: {}
  fixed: {designer.kind: fixed}
  box: {designer.kind: base, job: {backend: process, gpus: 1}}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "s.yaml")
	var p sweepPlan
	read(t, &p, "sweep", "plan", file)
	// A round's training is the same wherever it runs: the first round is one for
	// all arms of a seed, and the arm that comes first trains it.
	got := p.Trainings
	if len(got.Places) != 2 || got.Places[0].Backend != "slurm" || got.Places[0].Jobs != 6 || got.Places[1].Backend != "process" || got.Places[1].Jobs != 2 || got.Saved.Jobs != 4 {
		t.Errorf("%+v; want 8 trainings, 6 on slurm and 2 by process, and 4 saved", got)
	}
	if *got.GPUHours != 6*2*1.5+2*1*1.5 || *got.Saved.GPUHours != 2*2*1.5+2*1*1.5 || got.Rollouts != 8*13*16*4 || got.Saved.Rollouts != 4*13*16*4 {
		t.Errorf("%+v with %v and %v GPU-hours", got, *got.GPUHours, *got.Saved.GPUHours)
	}
	if p.Most.Jobs != 12 {
		t.Errorf("at most %d trainings; want 12, none of them a warm start", p.Most.Jobs)
	}
	says(t, []string{"8 trainings to do: 6 by slurm, 2 GPUs each; 2 by process, 1 GPU each", "GPU-hours: 21 by job.hours, 9 saved; 4 trainings"}, "sweep", "plan", file)
}

func TestDoneTrainingsAreSaved(t *testing.T) {
	spec, err := loadSpec(specFile(t, gpuSpec), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := planning.New(nil).Plan(t.Context(), spec, e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		steps[i].Done = true
	}
	y := newTally()
	y.add(spec, e, steps)
	got := y.sum()
	if len(got.Places) != 0 || got.Saved.Jobs != 2 || *got.GPUHours != 0 || *got.Saved.GPUHours != 6 || got.Asked != 0 || got.Saved.Asked != 108 {
		t.Errorf("%+v; want nothing to do and all saved", got)
	}
	var text strings.Builder
	if err := got.lines(&text); err != nil || !strings.HasPrefix(text.String(), "0 trainings to do; 0 answers") {
		t.Errorf("%v, %q", err, text.String())
	}
	if newTally().sum() != nil {
		t.Error("want nothing of nothing")
	}
	y = newTally()
	y.add(experiment.Spec{Trainer: experiment.TrainerSpec{Kind: experiment.TrainerEmbedded}}, e, steps)
	if y.sum() != nil {
		t.Error("want nothing of the embedded trainer")
	}
}

// read decodes what a command prints as JSON.
func read(t *testing.T, into any, args ...string) {
	t.Helper()
	out, errOut, code := cli(t, append(args, "-o", "json")...)
	if code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, errOut)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatal(err)
	}
}

// says looks for texts in what a command prints.
func says(t *testing.T, want []string, args ...string) {
	t.Helper()
	out, errOut, code := cli(t, args...)
	for _, text := range want {
		if code != exitOK || !strings.Contains(out, text) {
			t.Errorf("%v: exit code %d, %s\nprinted\n%s\nwant %q", args, code, errOut, out, text)
		}
	}
}
