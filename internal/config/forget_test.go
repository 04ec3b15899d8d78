package config_test

import (
	"errors"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/experiment"
)

// llmBase is a sweep's base in which the checkpoint designs.
const llmBase = `
name: s
base:
  benchmarks: {agents: []}
  trainer: {kind: trl, model: {uri: /models/q}, recipe: {lora_rank: 8, micro_batch: 2, trl: {vllm_memory: 0.4}}}
  designer: {kind: trained, temperature: 0.6, max_tokens: 2000, thinking: "on", structured: json_schema}
  job: {backend: slurm, hours: 3, slurm: {partition: gpu, account: lab}}
`

func TestAnArmForgetsWhatItsDesignerDoesNotRead(t *testing.T) {
	s := mustSweep(t, llmBase+`
arms:
  trained: {}
  base: {designer.kind: base}
  fixed: {designer: {kind: fixed}}
  openai: {designer: {kind: openai, model: m}}
`, "")
	designers := map[string]experiment.DesignerSpec{}
	for _, a := range s.Arms {
		designers[a.Name] = a.Spec.Designer
	}
	for _, name := range []string{"trained", "base", "openai"} {
		if d := designers[name]; d.Temperature != 0.6 || d.Thinking != "on" || d.Structured != "json_schema" || d.MaxTokens != 2000 {
			t.Errorf("%s: %+v; want what the base says of asking", name, d)
		}
	}
	alone := mustLoad(t, "name: a\nbenchmarks: {agents: []}\ndesigner: {kind: fixed}").Designer
	if d := designers["fixed"]; d.Temperature != alone.Temperature || d.Thinking != alone.Thinking || d.Structured != alone.Structured || d.MaxTokens != alone.MaxTokens {
		t.Errorf("fixed: %+v; want what a file with kind fixed alone says: %+v", d, alone)
	}
}

func TestAnArmThatAsksAnotherModelSaysWhich(t *testing.T) {
	s := mustSweep(t, `
name: s
base: {benchmarks: {agents: []}, trainer: {kind: trl, model: {uri: q}}, job: {backend: process}, designer: {kind: openai, model: m, endpoint: lab}}
arms: {openai: {}, trained: {designer.kind: trained}}
`, "")
	if d := s.Arms[1].Spec.Designer; d.Model != "" || d.Endpoint != "" {
		t.Errorf("trained: %+v; want no other model's name", d)
	}
}

func TestNestedSettingsOfAnArmAreLaidOverTheBase(t *testing.T) {
	s := mustSweep(t, llmBase+`
arms:
  nested: {trainer: {recipe: {lora_rank: 16}}, job: {gpus: 2, slurm: {partition: big}}}
  dotted: {trainer.recipe.lora_rank: 64, job.slurm.partition: small}
  moved: {job: {backend: process}}
  full: {trainer.recipe: {tuning: full}}
matrix: {trainer.recipe.trl.vllm_sleep: [true, false]}
`, "")
	arms := map[string]experiment.Spec{}
	for _, a := range s.Arms {
		arms[a.Name] = a.Spec
	}
	for name, want := range map[string]struct {
		rank, gpus int
		partition  string
	}{
		"nested-vllm-sleep-true": {16, 2, "big"}, "dotted-vllm-sleep-false": {64, 1, "small"},
		"moved-vllm-sleep-true": {8, 1, ""}, "full-vllm-sleep-false": {8, 1, "gpu"},
	} {
		spec, ok := arms[name]
		if !ok {
			t.Errorf("no arm %s", name)
			continue
		}
		r, partition := spec.Trainer.Recipe, ""
		if spec.Job.Slurm != nil {
			partition = spec.Job.Slurm.Partition
		}
		if r.LoraRank != want.rank || r.MicroBatch != 2 || r.TRL.VLLMMemory != 0.4 || spec.Job.GPUs != want.gpus || spec.Job.Hours != 3 || partition != want.partition {
			t.Errorf("%s: recipe %+v with %+v, job %+v in partition %q; want rank %d, %d GPUs, partition %q and all else as in the base",
				name, *r, *r.TRL, *spec.Job, partition, want.rank, want.gpus, want.partition)
		}
		if sleeps := strings.HasSuffix(name, "true"); r.TRL.VLLMSleep != sleeps {
			t.Errorf("%s: vllm_sleep %v", name, r.TRL.VLLMSleep)
		}
	}
	if arms["full-vllm-sleep-true"].Trainer.Recipe.Tuning != "full" {
		t.Error("full: tuning is not that of the arm")
	}
}

func TestWhatAnArmSaysItselfIsNotForgotten(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"in the arm": {
			llmBase + "arms:\n  fixed: {designer: {kind: fixed, temperature: 0.5}}\n",
			"s.yaml:9:48: designer.temperature: found a setting that kind fixed does not read; want it only where a model is asked: kind one of openai, trained, base",
		},
		"in a base that does not read it": {
			"name: s\nbase: {benchmarks: {agents: []}, designer: {kind: linear, temperature: 0.5}}\narms:\n  a: {designer.kind: fixed}\n",
			"s.yaml:2:72: designer.temperature: found a setting that kind fixed does not read; want it only where a model is asked: kind one of openai, trained, base",
		},
		"another kind of policy": {
			"name: s\nbase: {benchmarks: {agents: []}, trainer: {kind: trl, model: {uri: q}}, job: {backend: process}}\narms:\n  a: {trainer.kind: embedded}\n",
			"s.yaml:2:62: trainer.model: found settings that trainer.kind embedded does not read; want them only with trainer.kind trl or verl\n" +
				"s.yaml:2:78: job: found settings that trainer.kind embedded does not read; want them only with trainer.kind trl or verl",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadSweep(t, c.src, "")
			if _, ok := errors.AsType[*config.Faults](err); !ok {
				t.Fatalf("got %v; want faults", err)
			}
			if got := err.Error(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
