package config_test

import (
	"reflect"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/experiment"
)

func TestWhatAFileDoesNotSayIsThePapers(t *testing.T) {
	want := experiment.Spec{
		Name: "a", Environment: "lake", Rounds: 3, Samples: 4000, Epochs: 2, Agents: 2, Objective: "sum_of_costs",
		Validation: experiment.ValidationSpec{
			Sizes: []string{"2x2", "3x3", "4x4", "10x10"}, Instances: 50,
			Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.2}, {Name: "wait_ratio", Value: 0.5}},
		},
		Reward: experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
		Trainer: experiment.TrainerSpec{
			Kind: "embedded", Rollouts: 8, Batch: 32, LearningRate: 0.002, ClipNorm: 1, Temperature: 1,
			WarmStart: 300, WarmEpochs: 6, SaveEvery: 50,
		},
		Designer: experiment.DesignerSpec{
			Kind: "learnability", Context: "V6", Details: "bookkeeping", MaxTokens: 4096, Repairs: 2,
			Thinking: "default", Structured: "none", Missing: "keep", Trivial: "warn",
		},
		Benchmarks: experiment.BenchmarkSpec{Agents: []int{3, 5}, Instances: 150},
		Limits:     experiment.LimitsSpec{StepMinutes: 1440, Attempts: 5, OutageMinutes: 1440, ModelCalls: 100, ModelTokens: 1000000},
	}
	if got := mustLoad(t, "name: a\nbenchmarks: {agents: [3, 5]}"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestBenchmarksAreThePapersByDefault(t *testing.T) {
	_, err := load("name: a") // a pond has no set with four agents
	checkFaults(t, err, "f.yaml:1:1: benchmarks.agents[1]: found 4; want a number of agents that a size can hold")
}

func TestAFileIsReadInTheEnvironmentsOrder(t *testing.T) {
	got := mustLoad(t, base+`
validation:
  sizes: [10x10, 3x3]
  knobs: {wait_ratio: 0.25}
curriculum:
  sizes:
    4x4: {wait_ratio: 1, data_ratio: 0.5}
    2x2: {data_ratio: 0.5, hole_ratio: 0}
`)
	if want := []string{"3x3", "10x10"}; !reflect.DeepEqual(got.Validation.Sizes, want) {
		t.Errorf("sizes %v; want %v", got.Validation.Sizes, want)
	}
	if want := []experiment.Knob{{Name: "hole_ratio", Value: 0.2}, {Name: "wait_ratio", Value: 0.25}}; !reflect.DeepEqual(got.Validation.Knobs, want) {
		t.Errorf("knobs %v; want %v", got.Validation.Knobs, want)
	}
	knobs := func(holes, wait float64) []experiment.Knob {
		return []experiment.Knob{{Name: "hole_ratio", Value: holes}, {Name: "wait_ratio", Value: wait}}
	}
	want := &experiment.Curriculum{Rows: []experiment.Row{
		{Size: "2x2", DataRatio: 0.5, Knobs: knobs(0, 0.5)},
		{Size: "3x3", Knobs: knobs(0.2, 0.5)},
		{Size: "4x4", DataRatio: 0.5, Knobs: knobs(0.2, 1)},
		{Size: "10x10", Knobs: knobs(0.2, 0.5)},
	}}
	if !reflect.DeepEqual(got.Curriculum, want) {
		t.Errorf("curriculum %v; want %v", got.Curriculum, want)
	}
}

func TestValidationLeavesOutSizesThatCannotHoldTheAgents(t *testing.T) {
	got := mustLoad(t, base+"agents: 5")
	if want := []string{"4x4", "10x10"}; !reflect.DeepEqual(got.Validation.Sizes, want) {
		t.Errorf("sizes %v; want %v", got.Validation.Sizes, want)
	}
}

func TestTheWordRandomIsNoCurriculum(t *testing.T) {
	if got := mustLoad(t, base+"curriculum: random"); got.Curriculum != nil {
		t.Errorf("got %v", got.Curriculum)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		// what a text can be beside one YAML document
		{"nothing", "", "f.yaml:1:1: found nothing; want a YAML document"},
		{"only comments", "# name: a\n\n", "f.yaml:1:1: found nothing; want a YAML document"},
		{"a list", "- name: a", "f.yaml:1:1: found a list; want a mapping with keys such as name"},
		{"a word", "demo", `f.yaml:1:1: found "demo"; want a mapping with keys such as name`},
		{"a second document", base + "---\nname: b\n", "f.yaml:3:1: found a second document; want one"},
		{"other bytes", "name: \"\xff\"", "f.yaml:1:8: found a byte that is not UTF-8; want a text in UTF-8"},
		{"other bytes later", "name: a\n# \u00e9 \xc3(", "f.yaml:2:5: found a byte that is not UTF-8; want a text in UTF-8"},
		{"too much", "name: a\n" + strings.Repeat("#", 300<<10), "f.yaml:1:1: found more than 256 KiB; want less"},
		{"a tab", "name: a\ntrainer:\n\tbatch: 1", "f.yaml:3:1: found a tab; want spaces for indentation"},
		{"a tab after spaces", "name: a\ntrainer:\n  kl: 0\n \tbatch: 1", "f.yaml:4:2: found a tab; want spaces for indentation"},
		{"an open quote", "name: a\nenvironment: \"lake\nrounds: 3\nseed: 1\n", "f.yaml:2:1: not YAML: found unexpected end of stream"},
		{"an open list", "name: a\nbenchmarks: {agents: [3}\nseed: 1", "f.yaml:2:1: not YAML: did not find expected ',' or ']'"},
		{"bad indentation", "name: a\ntrainer:\n  kl: 0\n batch: 1", "f.yaml:4:2: not YAML: did not find expected key"},
		{"two values in a line", "name: a\nseed: 1 rounds: 2", "f.yaml:2:1: not YAML: mapping values are not allowed in this context"},
		{"an unknown alias", "name: a\nseed: *s", "f.yaml:2:1: not YAML: unknown anchor 's' referenced"},

		// keys
		{"no name", "seed: 1\nbenchmarks: {agents: [3]}", "f.yaml:1:1: name: found nothing; want lower-case letters, digits and inner dashes, at most 52"},
		{"a typo", base + "trainer: {rolouts: 4}", `f.yaml:3:11: trainer: found unknown key "rolouts"; did you mean rollouts?`},
		{"swapped letters", base + "rewrad: {}", `f.yaml:3:1: found unknown key "rewrad"; did you mean reward?`},
		{"another case", base + "Seed: 1", `f.yaml:3:1: found unknown key "Seed"; did you mean seed?`},
		{
			"nothing like it", base + "benchmark_tools: 1",
			`f.yaml:3:1: found unknown key "benchmark_tools"; want one of name, environment, rounds, seed, samples, epochs, agents, objective, validation, curriculum, reward, trainer, designer, job, serve, ask, benchmarks, limits, share`,
		},
		{"a key from elsewhere", base + "rollouts: 8", "f.yaml:3:1: found the key rollouts here; want it as trainer.rollouts"},
		{"a key from two places", base + "temperature: 8", "f.yaml:3:1: found the key temperature here; want it as trainer.temperature or designer.temperature or ask.temperature"},
		{
			"a secret", base + "designer: {api_key: sk-123}",
			"f.yaml:3:12: designer: found the key api_key; want no secrets in files: the environment gives them (OPENAI_API_KEY, TEMPORAL_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)",
		},
		{"twice", base + "seed: 1\nrounds: 2\nseed: 2", `f.yaml:5:1: seed: found the key "seed" a second time; want it once`},
		{"a list as a key", base + "[a]: 1", "f.yaml:3:1: found a list as a key; want a word"},
		{"no key", base + "'': 1", `f.yaml:3:1: found "" as a key; want a word`},
		{"a merge", base + "trainer: {<<: {kl: 1}}", "f.yaml:3:11: trainer: found the merge key <<; want the keys written out"},

		// what YAML has and we have not
		{"an anchor", base + "seed: &s 1", "f.yaml:3:7: seed: found the anchor &s; want the value alone"},
		{
			"an alias", base + "seed: &s 1\nrounds: *s",
			"f.yaml:3:7: seed: found the anchor &s; want the value alone\nf.yaml:4:9: rounds: found the alias *s; want the value written out",
		},
		{"a tag", base + "seed: !!int 1", "f.yaml:3:7: seed: found the tag !!int; want the value alone"},
		{"a tag of one's own", base + "reward: !r {floor: 0}", "f.yaml:3:9: reward: found the tag !r; want the value alone"},
		{"an empty value", base + "seed:\nrounds: 2", "f.yaml:3:6: seed: found nothing; want a whole number of at least 0"},
		{"a tilde", base + "rounds: ~", "f.yaml:3:9: rounds: found nothing; want a whole number from 1 to 100"},
		{"null", base + "environment: null", "f.yaml:3:14: environment: found nothing; want a text"},
		{"an empty section", base + "trainer:", "f.yaml:3:9: trainer: found nothing; want a mapping with keys such as kind"},

		// whole numbers
		{"a word for a number", base + "rounds: three", `f.yaml:3:9: rounds: found "three"; want a whole number from 1 to 100`},
		{"a quoted number", base + "rounds: '3'", `f.yaml:3:9: rounds: found "3"; want a whole number from 1 to 100 (without quotes)`},
		{"a fraction", base + "rounds: 3.7", "f.yaml:3:9: rounds: found 3.7; want a whole number from 1 to 100"},
		{"a whole fraction", base + "rounds: 3.0", "f.yaml:3:9: rounds: found 3.0; want a whole number from 1 to 100 (write 3)"},
		{"an exponent", base + "samples: 1e3", "f.yaml:3:10: samples: found 1e3; want a whole number from 1 to 1000000 (write 1000)"},
		{"octal", base + "rounds: 010", "f.yaml:3:9: rounds: found 010; want a whole number from 1 to 100 (without leading zeros)"},
		{"octal of YAML 1.2", base + "rounds: 0o10", "f.yaml:3:9: rounds: found 0o10; want a whole number from 1 to 100 (in decimal digits)"},
		{"hexadecimal", base + "rounds: 0x10", "f.yaml:3:9: rounds: found 0x10; want a whole number from 1 to 100 (in decimal digits)"},
		{"binary", base + "rounds: 0b11", "f.yaml:3:9: rounds: found 0b11; want a whole number from 1 to 100 (in decimal digits)"},
		{"underscores", base + "samples: 1_000", "f.yaml:3:10: samples: found 1_000; want a whole number from 1 to 1000000 (without underscores)"},
		{"too small", base + "rounds: 0", "f.yaml:3:9: rounds: found 0; want a whole number from 1 to 100"},
		{"too large", base + "rounds: 101", "f.yaml:3:9: rounds: found 101; want a whole number from 1 to 100"},
		{"negative", base + "seed: -1", "f.yaml:3:7: seed: found -1; want a whole number of at least 0"},
		{"beyond 64 bits", base + "seed: 9223372036854775808", "f.yaml:3:7: seed: found 9223372036854775808; want a whole number of at least 0 and at most 9223372036854775807"},
		{"minus zero", base + "seed: -0", "f.yaml:3:7: seed: found -0; want a whole number of at least 0 (write 0)"},
		{"a truth", base + "rounds: true", "f.yaml:3:9: rounds: found true; want a whole number from 1 to 100"},
		{"a list for a number", base + "rounds: [1]", "f.yaml:3:9: rounds: found a list; want a whole number from 1 to 100"},
		{"a mapping for a number", base + "rounds: {a: 1}", "f.yaml:3:9: rounds: found a mapping; want a whole number from 1 to 100"},

		// numbers
		{"no number", base + "reward: {floor: .nan}", "f.yaml:3:17: reward.floor: found .nan; want a number from 0 to 1"},
		{"infinity", base + "trainer: {kl: .inf}", "f.yaml:3:15: trainer.kl: found .inf; want a number from 0 to 10"},
		{"NaN as a word", base + "trainer: {kl: NaN}", `f.yaml:3:15: trainer.kl: found "NaN"; want a number from 0 to 10`},
		{"beyond floats", base + "trainer: {kl: 1e999}", `f.yaml:3:15: trainer.kl: found "1e999"; want a number from 0 to 10`},
		{"below floats", base + "trainer: {learning_rate: 1e-400}", "f.yaml:3:26: trainer.learning_rate: found 1e-400; want a number from 0 to 1 (so small a number would be read as 0)"},
		{"minus infinity", base + "trainer: {kl: -.INF}", "f.yaml:3:15: trainer.kl: found -.INF; want a number from 0 to 10"},
		{"infinity as a word", base + "trainer: {kl: Infinity}", `f.yaml:3:15: trainer.kl: found "Infinity"; want a number from 0 to 10`},
		{"nan in capitals", base + "trainer: {kl: .NAN}", "f.yaml:3:15: trainer.kl: found .NAN; want a number from 0 to 10"},
		{"a share out of range", base + "reward: {floor: 1.01}", "f.yaml:3:17: reward.floor: found 1.01; want a number from 0 to 1"},
		{"a percentage", base + "reward: {floor: 30%}", `f.yaml:3:17: reward.floor: found "30%"; want a number from 0 to 1 (write 0.3)`},
		{"a comma", base + "reward: {floor: '0,3'}", `f.yaml:3:17: reward.floor: found "0,3"; want a number from 0 to 1`},
		{"underscored fraction", base + "trainer: {kl: 1_0.5}", "f.yaml:3:15: trainer.kl: found 1_0.5; want a number from 0 to 10 (without underscores)"},
		{"zeros before a fraction", base + "trainer: {kl: 00.5}", "f.yaml:3:15: trainer.kl: found 00.5; want a number from 0 to 10 (without leading zeros)"},

		// texts
		{"a number for a name", "name: 12\nbenchmarks: {agents: []}", "f.yaml:1:7: name: found 12; want lower-case letters, digits and inner dashes, at most 52 (in quotes)"},
		{"a date for a name", "name: 2026-11-29\nbenchmarks: {agents: []}", "f.yaml:1:7: name: found 2026-11-29; want lower-case letters, digits and inner dashes, at most 52 (in quotes)"},
		{
			"no for a name", "name: no\nbenchmarks: {agents: []}",
			`f.yaml:1:7: name: found "no"; want lower-case letters, digits and inner dashes, at most 52 (in quotes: some YAML readers take it for true or false)`,
		},
		{"true for a model", base + "designer: {model: true}", "f.yaml:3:19: designer.model: found true; want a text (in quotes)"},
		{
			"On for a model", base + "designer: {model: On}",
			`f.yaml:3:19: designer.model: found "On"; want a text (in quotes: some YAML readers take it for true or false)`,
		},
		{"a bad name", "name: My run\nbenchmarks: {agents: []}", `f.yaml:1:7: name: found "My run"; want lower-case letters, digits and inner dashes, at most 52`},
		{"an outer dash", "name: run-\nbenchmarks: {agents: []}", `f.yaml:1:7: name: found "run-"; want lower-case letters, digits and inner dashes, at most 52`},
		{
			"a long name", "name: " + strings.Repeat("a", 53) + "\nbenchmarks: {agents: []}",
			`f.yaml:1:7: name: found "` + strings.Repeat("a", 40) + `..."; want lower-case letters, digits and inner dashes, at most 52`,
		},
		{"an empty text", base + "designer: {model: ''}", `f.yaml:3:19: designer.model: found ""; want a text`},
		{"a long text", base + "designer: {model: " + strings.Repeat("\u00e9", 1001) + "}", "f.yaml:3:19: designer.model: found 1001 characters; want at most 1000"},
		{"unprintable", base + `designer: {model: "a\nb"}`, `f.yaml:3:19: designer.model: found "a\nb" with characters that cannot be printed; want a text`},
		{
			"another choice", base + "designer: {kind: openia}",
			`f.yaml:3:18: designer.kind: found "openia"; did you mean openai? want one of fixed, random, uniform, linear, learnability, regret, replay, human, openai, trained, base`,
		},
		{"no choice", base + "designer: {kind: magic}", `f.yaml:3:18: designer.kind: found "magic"; want one of fixed, random, uniform, linear, learnability, regret, replay, human, openai, trained, base`},
		{"a choice of one", base + "trainer: {kind: ray}", `f.yaml:3:17: trainer.kind: found "ray"; want one of embedded, trl, verl`},

		// lists
		{"no list", "name: a\nbenchmarks: {agents: 3}", "f.yaml:2:22: benchmarks.agents: found 3; want a list such as [a, b]"},
		{"an empty list", base + "validation: {sizes: []}", "f.yaml:3:21: validation.sizes: found a list of length 0; want a length from 1 to 1000"},
		{
			"a long list", "name: a\nbenchmarks: {agents: [" + strings.Repeat("3,", 1001) + "]}",
			"f.yaml:2:22: benchmarks.agents: found a list of length 1001; want a length from 0 to 1000",
		},
		{"an entry twice", "name: a\nbenchmarks: {agents: [3, 5, 3]}", "f.yaml:2:29: benchmarks.agents[2]: found 3 a second time; want each once"},
		{"an entry out of range", "name: a\nbenchmarks: {agents: [3, 6]}", "f.yaml:2:26: benchmarks.agents[1]: found 6; want a whole number from 2 to 5"},
		{
			"entries of a wrong kind", "name: a\nbenchmarks:\n  agents:\n    - 3\n    -\n    - [4]",
			"f.yaml:5:6: benchmarks.agents[1]: found nothing; want a whole number from 2 to 5\n" +
				"f.yaml:6:7: benchmarks.agents[2]: found a list; want a whole number from 2 to 5",
		},

		// between fields
		{"tokens", base + "reward: {full_tokens: 1500}", "f.yaml:3:23: reward.full_tokens: found 1500; want more than free_tokens, which is 1500"},
		{"tokens from the other side", base + "reward:\n  free_tokens: 5000", "f.yaml:4:16: reward.full_tokens: found 4096; want more than free_tokens, which is 5000"},
		{"a broken one is told once", base + "reward: {full_tokens: x}", `f.yaml:3:23: reward.full_tokens: found "x"; want a whole number of at least 1`},
		{"weights", base + "reward: {accuracy_low: 0.9}", "f.yaml:3:24: reward.accuracy_low: found 0.9; want at most accuracy_top, which is 0.8"},

		{"plans that nobody imitates", base + "trainer: {warm_epochs: 0}", "f.yaml:3:24: trainer.warm_epochs: found 0 with warm_start 300, which would be imitated in no pass; want at least 1, or warm_start 0"},
		{"no calls for a model", base + "designer: {kind: openai, model: m}\nlimits: {model_calls: 0}", "f.yaml:4:23: limits.model_calls: found 0 with designer.kind openai, which asks a model after each round; want at least 1"},
		{"no tokens for a reply", base + "designer: {kind: openai, model: m}\nlimits: {model_tokens: 4095}", "f.yaml:4:24: limits.model_tokens: found 4095; want at least designer.max_tokens, which is 4096: one reply may take so many"},
		{
			"money without prices", base + "designer: {kind: openai, model: m, endpoint: 'http://h/v1'}\nlimits: {model_cost: 5}",
			"f.yaml:4:22: limits.model_cost: found 5 with an endpoint that is not named in the worker's endpoints file and so has no prices; want designer.endpoint to be such a name, or no bound (0)",
		},

		// against the environment
		{"an environment", base + "environment: lakke", `f.yaml:3:14: environment: environment "lakke" is not known; there is lake`},
		{"a size", base + "validation:\n  sizes: [3x3, 11x11]", `f.yaml:4:16: validation.sizes[1]: found "11x11"; want one of 2x2, 3x3, 4x4, 10x10`},
		{"a knob", base + "validation:\n  knobs: {hole_rati: 0.1}", `f.yaml:4:11: validation.knobs: found unknown key "hole_rati"; did you mean hole_ratio?`},
		{"a knob's range", base + "validation: {knobs: {hole_ratio: 0.6}}", "f.yaml:3:34: validation.knobs.hole_ratio: found 0.6; want a number from 0 to 0.5"},
		{"a knob's kind", base + "validation: {knobs: {hole_ratio: much}}", `f.yaml:3:34: validation.knobs.hole_ratio: found "much"; want a number`},
		{"knobs as a list", base + "validation: {knobs: [0.1]}", "f.yaml:3:21: validation.knobs: found a list; want a mapping such as {hole_ratio: 0.3}"},
		{"another word", base + "curriculum: uniform", `f.yaml:3:13: curriculum: found "uniform"; want random or a mapping with the key sizes`},
		{"no curriculum", base + "curriculum:", "f.yaml:3:12: curriculum: found nothing; want random or a mapping with the key sizes"},
		{"half a curriculum", base + "curriculum: {}", "f.yaml:3:13: curriculum: found no key sizes; want a mapping with the key sizes"},
		{
			"a curriculum's numbers", base + "curriculum:\n  sizes:\n    3x3: {data_ratio: 2, hole_ratio: 0.6}\n    5x5: {}",
			"f.yaml:5:23: curriculum.sizes.3x3.data_ratio: found 2; want a number from 0 to 1\n" +
				"f.yaml:5:38: curriculum.sizes.3x3.hole_ratio: found 0.6; want a number from 0 to 0.5\n" +
				`f.yaml:6:5: curriculum.sizes: found unknown key "5x5"; want one of 2x2, 3x3, 4x4, 10x10`,
		},
		{
			"a curriculum that cannot be drawn", base + "curriculum:\n  sizes:\n    2x2: {data_ratio: 1, hole_ratio: 0.5}",
			"f.yaml:4:3: curriculum: 2x2 has 2 free cells; want 4 for 2 agents",
		},
		{
			"a validation set that cannot be drawn", base + "agents: 4\nvalidation: {sizes: [3x3, 2x2, 4x4]}",
			"f.yaml:4:21: validation: 2x2 has 4 free cells; want 8 for 4 agents",
		},
		{"a benchmark that nothing holds", "name: a\nbenchmarks: {agents: [3, 4]}", "f.yaml:2:26: benchmarks.agents[1]: found 4; want a number of agents that a size can hold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(c.src)
			checkFaults(t, err, c.want)
		})
	}
}

func TestAllFaultsAreToldAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := load(`
rounds: 0
name: A
trainer:
  rollouts: 1
  bach: 3
reward: {floor: 2, full_tokens: 10}
benchmarks: {agents: [3], instances: ten}
validation: {sizes: [9x9], knobs: {hole: 1}}
---
`, "seed=-1", "epochs=0")
	checkFaults(t, err, `f.yaml:2:9: rounds: found 0; want a whole number from 1 to 100
f.yaml:3:7: name: found "A"; want lower-case letters, digits and inner dashes, at most 52
f.yaml:5:13: trainer.rollouts: found 1; want a whole number from 2 to 256
f.yaml:6:3: trainer: found unknown key "bach"; did you mean batch?
f.yaml:7:17: reward.floor: found 2; want a number from 0 to 1
f.yaml:7:33: reward.full_tokens: found 10; want more than free_tokens, which is 1500
f.yaml:8:38: benchmarks.instances: found "ten"; want a whole number from 1 to 10000
f.yaml:9:22: validation.sizes[0]: found "9x9"; want one of 2x2, 3x3, 4x4, 10x10
f.yaml:9:36: validation.knobs: found unknown key "hole"; want one of hole_ratio, wait_ratio
f.yaml:10:1: found a second document; want one
--set seed=-1: found -1; want a whole number of at least 0
--set epochs=0: found 0; want a whole number from 1 to 100`)
}

func TestAnEnvironmentThatHoldsNoAgents(t *testing.T) {
	open := func(string) (env.Environment, error) { return puddles{}, nil }
	_, err := config.Load("f.yaml", []byte(base+"agents: 3"), nil, open)
	checkFaults(t, err, "f.yaml:3:9: validation: found no size that can be drawn; p9 has 0 free cells; want 6 for 3 agents")
	_, err = config.Load("f.yaml", []byte(base+"designer: {min_share: 0.11}"), nil, open)
	checkFaults(t, err, "f.yaml:3:23: designer.min_share: found 0.11; want a number from 0 to 0.1")
}

func TestABenchmarkThatCannotBeDrawn(t *testing.T) {
	_, err := load(base, "objective=makespan", "benchmarks.agents=[5, 2]")
	checkFaults(t, err, "--set benchmarks.agents=[5, 2]: benchmarks.agents[1]: a set with 2 agents has no makespan")
}

func TestAByteOrderMarkIsNoMatter(t *testing.T) {
	mustLoad(t, "\uFEFF"+base)
}
