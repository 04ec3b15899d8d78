package config_test

import (
	"reflect"
	"testing"
)

func TestSetsOverrideAnyField(t *testing.T) {
	got := mustLoad(t, "name: a\ntrainer: {rollouts: 4, batch: 16}\nbenchmarks: {agents: [3, 4]}\n",
		"trainer.rollouts=16",
		"benchmarks.agents=[3, 5]",
		"designer.kind=openai",
		"designer.model=org/some-model:7b",
		"designer.endpoint=http://127.0.0.1:8000/v1",
		"validation.knobs.hole_ratio=0.1",
		"curriculum={sizes: {3x3: {data_ratio: 1}}}",
		"curriculum.sizes.3x3.data_ratio=0.5",
		"curriculum.sizes.4x4={data_ratio: 0.5, wait_ratio: 1}",
		"seed=1", "seed=2",
	)
	if got.Trainer.Rollouts != 16 || got.Trainer.Batch != 16 || got.Seed != 2 {
		t.Errorf("trainer %+v, seed %d", got.Trainer, got.Seed)
	}
	if !reflect.DeepEqual(got.Benchmarks.Agents, []int{3, 5}) {
		t.Errorf("agents %v", got.Benchmarks.Agents)
	}
	if d := got.Designer; d.Kind != "openai" || d.Model != "org/some-model:7b" || d.Endpoint != "http://127.0.0.1:8000/v1" {
		t.Errorf("designer %+v", d)
	}
	if got.Validation.Knobs[0].Value != 0.1 {
		t.Errorf("knobs %v", got.Validation.Knobs)
	}
	var shares []float64
	for _, r := range got.Curriculum.Rows {
		shares = append(shares, r.DataRatio)
	}
	if !reflect.DeepEqual(shares, []float64{0, 0.5, 0.5, 0}) {
		t.Errorf("shares %v", shares)
	}
}

func TestASetMayGiveWhatTheFileLacks(t *testing.T) {
	if got := mustLoad(t, "benchmarks: {agents: []}", "name=b"); got.Name != "b" || len(got.Benchmarks.Agents) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestASetReplacesWhatIsWrongInTheFile(t *testing.T) {
	if got := mustLoad(t, base+"seed: x", "seed=7"); got.Seed != 7 {
		t.Errorf("seed %d", got.Seed)
	}
}

func TestSetsAreReadAsStrictlyAsTheFile(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"a word", "trainer.rollouts=x", `--set trainer.rollouts=x: found "x"; want a whole number from 2 to 256`},
		{"octal", "samples=010", "--set samples=010: found 010; want a whole number from 1 to 1000000 (without leading zeros)"},
		{"no value", "seed=", "--set seed=: found nothing; want a value"},
		{"null", "seed=~", "--set seed=~: found nothing; want a whole number of at least 0"},
		{"no equals sign", "seed", "--set seed: found no key=value; want one such as trainer.rollouts=8"},
		{"no key", "=1", "--set =1: found no key=value; want one such as trainer.rollouts=8"},
		{"an empty step", "trainer..kl=1", "--set trainer..kl=1: found no key=value; want one such as trainer.rollouts=8"},
		{"an unknown key", "trainer.rolouts=8", `--set trainer.rolouts=8: trainer: found unknown key "rolouts"; did you mean rollouts?`},
		{"a key from elsewhere", "rollouts=8", "--set rollouts=8: found the key rollouts here; want it as trainer.rollouts"},
		{"a key in a leaf", "name.x=8", `--set name.x=8: name: found "a", which has no keys to set; want a mapping`},
		{"a key in a leaf that is not given", "seed.x=8", "--set seed.x=8: seed: found a mapping; want a whole number of at least 0"},
		{"a list", "benchmarks.agents=[3, 9]", "--set benchmarks.agents=[3, 9]: benchmarks.agents[1]: found 9; want a whole number from 2 to 5"},
		{"no YAML", "benchmarks.agents=[3", "--set benchmarks.agents=[3: not YAML: did not find expected ',' or ']'"},
		{"two documents", "seed=1\n---\n2", "--set seed=1 --- 2: found a second document; want one"},
		{"an anchor", "seed=&s 1", "--set seed=&s 1: found the anchor &s; want the value alone"},
		{"a section", "trainer={kl: 1, kl: 2}", `--set trainer={kl: 1, kl: 2}: trainer.kl: found the key "kl" a second time; want it once`},
		{"a cross check", "reward.full_tokens=3", "--set reward.full_tokens=3: found 3; want more than free_tokens, which is 1500"},
		{"a curriculum", "curriculum={sizes: {3x3: {data_ratio: 0.5}}}", "--set curriculum={sizes: {3x3: {data_ratio: 0.5}}}: curriculum.sizes: found a data_ratio that sums to 0.5 over the sizes; want 1"},
		{"a size", "validation.sizes=[3x3, 7x7]", `--set validation.sizes=[3x3, 7x7]: validation.sizes[1]: found "7x7"; want one of 2x2, 3x3, 4x4, 10x10`},
		{"an environment", "environment=sea", `--set environment=sea: environment "sea" is not known; there is lake`},
		{"too many agents", "agents=5", ""},
		{
			"a secret", "designer.api_key=sk-123",
			"--set designer.api_key=...: designer: found the key api_key; want no secrets in files: the environment gives them (OPENAI_API_KEY, TEMPORAL_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)",
		},
		{
			"a password", "designer.endpoint=http://me:pw@host/",
			"--set designer.endpoint=http://...@host/: found a user or password in the address, and files hold no secrets; want an http or https URL, or a name in the worker's endpoints file",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(base, c.set)
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			checkFaults(t, err, c.want)
		})
	}
}

func TestSetsDoNotHideTheFilesFaults(t *testing.T) {
	_, err := load("name: a\nbenchmarks: {agents: [3]}\nrounds: 0\nseed: 1\nseed: 2\n", "seed=3")
	checkFaults(t, err, `f.yaml:3:9: rounds: found 0; want a whole number from 1 to 100
f.yaml:5:1: seed: found the key "seed" a second time; want it once`)
}
