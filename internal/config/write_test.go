package config_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/experiment"
)

const effective = `name: a
environment: lake
rounds: 3
seed: 0
samples: 4000
epochs: 2
agents: 2
objective: sum_of_costs
validation:
  sizes: [3x3]
  instances: 50
  knobs: {hole_ratio: 0.2, wait_ratio: 0.5}
curriculum:
  sizes:
    2x2: {data_ratio: 0.00, hole_ratio: 0.20, wait_ratio: 0.50}
    3x3: {data_ratio: 0.50, hole_ratio: 0.125, wait_ratio: 0.50}
    4x4: {data_ratio: 0.00, hole_ratio: 0.20, wait_ratio: 0.50}
    10x10: {data_ratio: 0.50, hole_ratio: 0.20, wait_ratio: 0.50}
reward:
  floor: 0.3
  free_tokens: 1500
  full_tokens: 4096
  accuracy_low: 0.5
  accuracy_top: 0.8
  length_of: valid
trainer:
  kind: embedded
  rollouts: 8
  batch: 32
  learning_rate: 0.002
  clip_norm: 1
  kl: 0
  entropy: 0
  temperature: 1
  warm_start: 300
  warm_epochs: 6
  save_every: 50
designer:
  kind: openai
  context: V6
  details: bookkeeping
  endpoint: "http://127.0.0.1:8000/v1"
  model: "no"
  temperature: 0
  max_tokens: 4096
  thinking: default
  structured: none
  repairs: 2
  missing: keep
  min_share: 0
  trivial: warn
  approve: false
benchmarks:
  agents: []
  instances: 150
limits:
  step_minutes: 1440
  attempts: 5
  outage_minutes: 1440
  model_calls: 100
  model_tokens: 1000000
  model_cost: 0
`

func TestMarshalWritesAllThatRuns(t *testing.T) {
	spec := mustLoad(t, `
name: a
designer: {kind: openai, model: "no", endpoint: http://127.0.0.1:8000/v1}
benchmarks: {agents: []}
validation: {sizes: [3x3]}
curriculum: {sizes: {10x10: {data_ratio: 0.5}, 3x3: {data_ratio: 0.5, hole_ratio: 0.125}}}
`)
	got, err := config.Marshal(spec)
	if err != nil || string(got) != effective {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, effective)
	}
}

func TestWhatIsWrittenIsReadBackTheSame(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"curriculum={sizes: {3x3: {data_ratio: 0.3333333}, 4x4: {data_ratio: 0.6666667, wait_ratio: 1e-7}}}"},
		{"designer.kind=openai", "designer.model='0x10'"},
		{"designer.kind=openai", "designer.model=\"a: \\\"b\\\" #c\""},
		{"designer.kind=openai", "designer.model='~'"},
		{"designer.kind=openai", "designer.model='2026-11-29'"},
		{"name='12'"},
		{"name='1e3'"},
		{"name=3x3"},
		{"trainer.kl=1e-9", "trainer.entropy=-0"},
		{"seed=9223372036854775807"},
		{"validation.sizes=[10x10]", "validation.knobs={wait_ratio: 0}"},
		{"benchmarks.agents=[]"},
	} {
		roundTrip(t, mustLoad(t, base, sets...))
	}
}

func roundTrip(t *testing.T, spec experiment.Spec) {
	t.Helper()
	body, err := config.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	again, err := load(string(body))
	if err != nil || !reflect.DeepEqual(again, spec) {
		t.Fatalf("%+v became %+v, %v, by\n%s", spec, again, err, body)
	}
	if diff := config.Diff(spec, again); len(diff) > 0 {
		t.Fatalf("a spec differs from itself: %v", diff)
	}
}

func TestMarshalRefusesWhatNoFileCanHold(t *testing.T) {
	spec := mustLoad(t, base)
	spec.Trainer.KL = math.NaN()
	_, err := config.Marshal(spec)
	if want := `write experiment "a": trainer.kl is NaN, which no file can hold`; err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

func TestMarshalTakesASpecThatWasNeverRead(t *testing.T) {
	if _, err := config.Marshal(experiment.Spec{Validation: experiment.ValidationSpec{Sizes: []string{""}}, Curriculum: &experiment.Curriculum{}}); err != nil {
		t.Error(err)
	}
}

func TestDiffNamesEveryField(t *testing.T) {
	a := mustLoad(t, base)
	b := mustLoad(t, base, "trainer.rollouts=16", "benchmarks.agents=[3, 5]", "validation.knobs.hole_ratio=0.1",
		"designer.kind=openai", "designer.model=m", "curriculum={sizes: {3x3: {data_ratio: 1}}}")
	c := mustLoad(t, base, "trainer.rollouts=16", "benchmarks.agents=[3, 5]", "validation.knobs.hole_ratio=0.1",
		"designer.kind=openai", "designer.model=m2", "curriculum={sizes: {3x3: {data_ratio: 0.5}, 4x4: {data_ratio: 0.5}}}")
	for _, d := range []struct {
		from, to experiment.Spec
		want     string
	}{
		{a, a, ""},
		{a, b, `validation.knobs.hole_ratio: 0.2 -> 0.1
curriculum: random -> given
trainer.rollouts: 8 -> 16
designer.kind: learnability -> openai
designer.model: absent -> m
benchmarks.agents: [3] -> [3, 5]`},
		{b, c, `curriculum.sizes.3x3.data_ratio: 1.00 -> 0.50
curriculum.sizes.4x4.data_ratio: 0.00 -> 0.50
designer.model: m -> m2`},
	} {
		if got := strings.Join(config.Diff(d.from, d.to), "\n"); got != d.want {
			t.Errorf("got\n%s\nwant\n%s", got, d.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, src := range []string{
		base, effective, "name: a\nbenchmarks: {agents: [3]}\nseed: *x", "name: &x a\nbenchmarks: {agents: []}\nobjective: *x",
		"{name: a, curriculum: random, validation: {sizes: [3x3], knobs: {hole_ratio: .5}}}", "name: 'no'\nbenchmarks: {agents: []}",
		"? [a, b]\n: {c: d}\n--- !!map\n...\n", "\uFEFFname: |\n  a\n", "name: a\nbenchmarks: {agents: !!seq [3]}\ndesigner: {model: \"\\u2028\"}",
		"name: a\n<<: {seed: 1}\nseed: 010\nsamples: 1_000\nreward: {floor: .nan}\n", "a: [[[[[[[[[[{\n\t",
	} {
		f.Add([]byte(src), "seed=1")
	}
	f.Add([]byte(base), "curriculum.sizes={3x3: {data_ratio: 1}}")
	f.Add([]byte(base), "trainer=[")
	f.Add([]byte(llm), "trainer.kind=verl")
	f.Add([]byte(llm), "job={backend: slurm, hours: 1.5, env: [A=b], slurm: {setup: \"a\\nB=c\", options: [x, x]}}")
	f.Add([]byte(llm), "serve={kind: external, endpoint: lab, load: true, folder: /f}")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		for _, sets := range [][]string{nil, {set}} {
			spec, err := config.Load("f.yaml", src, sets, lookup)
			if err == nil {
				roundTrip(t, spec)
				continue
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f.yaml:") && !strings.HasPrefix(line, "--set ") {
					t.Errorf("a fault without a place: %q", line)
				}
			}
		}
	})
}
