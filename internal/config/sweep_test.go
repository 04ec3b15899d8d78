package config_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// loadSweep reads a sweep whose base file, if it names one, is base.yaml.
func loadSweep(t *testing.T, src, base string) (experiment.Sweep, error) {
	t.Helper()
	return config.LoadSweep("s.yaml", []byte(src), func(name string) ([]byte, error) {
		if name != "base.yaml" || base == "" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(base), nil
	}, lookupPond)
}

func lookupPond(string) (env.Environment, error) { return pond{}, nil }

func mustSweep(t *testing.T, src, base string) experiment.Sweep {
	t.Helper()
	s, err := loadSweep(t, src, base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func cellNames(s experiment.Sweep) string {
	var names []string
	for _, c := range s.Cells() {
		names = append(names, s.NameOf(c))
	}
	return strings.Join(names, " ")
}

func TestArmsMayBeNestedOrDotted(t *testing.T) {
	s := mustSweep(t, `
name: s
base: {rounds: 1, benchmarks: {agents: []}}
seeds: [1, 7]
arms:
  a: {designer.context: V1, trainer.rollouts: 16}
  b: {designer: {context: V2, kind: fixed}}
  c: {}
`, "")
	if got, want := cellNames(s), "s-a-s1 s-b-s1 s-c-s1 s-a-s7 s-b-s7 s-c-s7"; got != want {
		t.Errorf("cells %s; want %s", got, want)
	}
	a, b := s.Arms[0].Spec, s.Arms[1].Spec
	if a.Designer.Context != "V1" || a.Trainer.Rollouts != 16 || b.Designer.Context != "V2" || b.Designer.Kind != "fixed" || b.Rounds != 1 {
		t.Errorf("specs %+v and %+v", a.Designer, b.Designer)
	}
	if spec := s.SpecOf(s.Cells()[3]); spec.Name != "s-a-s7" || spec.Seed != 7 || spec.Trainer.Rollouts != 16 {
		t.Errorf("cell %+v", spec)
	}
	if s.Baseline != "a" {
		t.Errorf("baseline %s; want the first arm", s.Baseline)
	}
}

func TestTheMatrixIsCrossedAndTrimmed(t *testing.T) {
	s := mustSweep(t, `
name: s
base: base.yaml
seeds: [0, 1]
matrix:
  designer.context: [V1, V2]
  trainer.rollouts: [4, 8]
exclude:
  - {designer.context: V1, trainer.rollouts: 8}
  - {arm: v2-rollouts-4, seed: 1}
include:
  - {arm: fixed, seeds: [3], set: {designer.kind: fixed}}
`, "name: other\nseed: 9\nrounds: 2\nbenchmarks: {agents: []}\n")
	if got, want := cellNames(s), "s-v1-rollouts-4-s0 s-v2-rollouts-4-s0 s-v2-rollouts-8-s0 s-fixed-s3 s-v1-rollouts-4-s1 s-v2-rollouts-8-s1"; got != want {
		t.Errorf("cells\n%s; want\n%s", got, want)
	}
	if s.Arms[0].Spec.Rounds != 2 {
		t.Errorf("rounds %d; want those of the base file", s.Arms[0].Spec.Rounds)
	}
}

// TestFaultsOfSweepsAreToldAtOnce also pins where each fault is said to be.
func TestFaultsOfSweepsAreToldAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ src, base, want string }{
		"several in arms": {
			src: "name: s\nbase: {rounds: 1, name: x, benchmarks: {agents: []}}\narms:\n  a: {designer.context: V9}\n  b: {dezigner: {kind: fixed}}\n  c: {seed: 3}\n",
			want: `s.yaml:2:19: base: found the key name; want it left out: cells are named by sweep, arm and seed
s.yaml:4:25: designer.context: found "V9"; did you mean V1? want one of V1, V2, V3, V4, V5, V6, custom
s.yaml:5:17: found unknown key "dezigner"; did you mean designer?
s.yaml:6:7: arms.c: found the key seed; want it in seeds of the sweep`,
		},
		"in the base file": {
			src:  "name: s\nbase: base.yaml\narms: {a: {}, b: {designer.kind: fixed}}\n",
			base: "name: x\nrounds: none\n",
			want: `base.yaml:2:9: rounds: found "none"; want a whole number from 1 to 100`,
		},
		"no base file": {
			src:  "name: s\nbase: gone.yaml\narms: {a: {}}\n",
			want: `s.yaml:2:7: base: found "gone.yaml", which cannot be read: file does not exist; want an experiment file beside this one`,
		},
		"nothing to run":      {src: "name: s\nbase: {}\n", want: `s.yaml:1:1: arms: found no arm; want at least one in arms, matrix or include`},
		"equal cells":         {src: "name: s\nbase: {benchmarks: {agents: []}}\narms:\n  a: {rounds: 3}\n  b: {}\n", want: `s.yaml:5:3: found the cells s-a-s0 and s-b-s0 equal in all fields; want each once`},
		"long names":          {src: "name: s\nbase: {benchmarks: {agents: []}}\narms:\n  a23456789-123456789-123456789-123456789-123456789: {}\n", want: `s.yaml:4:3: found the cell s-a23456789-123456789-123456789-123456789-123456789-s0 of 54 characters; want at most 52: shorten the name of the sweep or of the arm`},
		"an idle exclude":     {src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {}}\nexclude:\n  - {designer.kind: fixed}\n", want: `s.yaml:5:5: exclude[0]: found an entry that no cell matches; want one that leaves something out`},
		"a matrix of lists":   {src: "name: s\nbase: {}\nmatrix:\n  benchmarks.agents: [[3], [4]]\n", want: "s.yaml:4:23: matrix.benchmarks.agents: found a list; want a word or a number (say other values in arms, which have names)\ns.yaml:4:28: matrix.benchmarks.agents: found a list; want a word or a number (say other values in arms, which have names)"},
		"an unknown baseline": {src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {}}\nbaseline: z\n", want: `s.yaml:4:11: found the baseline "z"; want the name of an arm`},
		"bounds under which nothing starts": {
			src: "name: s\nbase: {rounds: 2, benchmarks: {agents: []}}\narms: {a: {}, b: {rounds: 3}}\nlimits:\n  jobs: 2\n  cost: 5\n  price_job: 2\n",
			want: `s.yaml:5:9: limits.jobs: found 2; want at least 3, the most that one cell can need (trainings): else no cell is ever started
s.yaml:6:9: limits.cost: found 5; want at least 6, the most that one cell can need (in money): else no cell is ever started`,
		},
		"a bound without prices": {src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {}}\nlimits: {cost: 5}\n", want: `s.yaml:4:16: limits.cost: found a bound without prices, which bounds nothing; want price_job or price_call with it`},
		"no such day":            {src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {}}\nlimits: {deadline: '2026-02-30T00:00:00Z'}\n", want: `s.yaml:4:20: limits.deadline: found "2026-02-30T00:00:00Z", which no calendar or clock has; want a time such as "2026-12-31T18:00:00Z", in quotes`},
		"a rule that is off": {
			src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {}}\nstop: {margin: 0.1, cells: 2, after_round: 0}\n",
			want: `s.yaml:4:16: stop.margin: found a setting of a rule that is off; want below_start: true with it
s.yaml:4:28: stop.cells: found a setting of a rule that is off; want below_start: true with it`,
		},
		"a rule that never fires": {
			src: "name: s\nbase: {rounds: 2, benchmarks: {agents: []}}\nseeds: [1, 2]\narms: {a: {}}\nstop: {below_start: true, after_round: 2, cells: 3}\n",
			want: `s.yaml:5:40: stop.after_round: found 2; want at most 1, the last round of any arm, counted from 0
s.yaml:5:50: stop.cells: found 3; want at most 2, the cells of an arm`,
		},
		"twice the same field": {src: "name: s\nbase: {benchmarks: {agents: []}}\narms: {a: {designer.context: V1}}\nmatrix: {designer.context: [V1, V2]}\n", want: `s.yaml:4:28: found designer.context both in the arm a and in the matrix; want it in one of them`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadSweep(t, c.src, c.base)
			if _, ok := errors.AsType[*config.Faults](err); !ok {
				t.Fatalf("got %v; want faults", err)
			}
			if got := err.Error(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestEveryExampleSweepLoads(t *testing.T) {
	for file, cells := range map[string]int{"sweep-demo": 6, "ablation-demo": 14, "paper-sweep": 30} {
		path := "../../examples/" + file + ".yaml"
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := config.LoadSweep(path, src, func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(filepath.Dir(path), name))
		}, all.Open)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != file || len(s.Cells()) != cells || s.Baseline != "fixed" {
			t.Errorf("%s is called %s and has %d cells and the baseline %s; want %d", file, s.Name, len(s.Cells()), s.Baseline, cells)
		}
	}
}

const sweepSchemaFile = "../../docs/sweep.schema.json"

func TestSweepSchemaIsCurrent(t *testing.T) {
	var envs []env.Environment
	for _, name := range all.Names() {
		e, err := all.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		envs = append(envs, e)
	}
	got, err := config.SweepSchema(envs)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(sweepSchemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sweepSchemaFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/sweep.schema.json is not what the types say (%v); write it anew: go test ./internal/config -run Schema -update", err)
	}
}

func TestEveryReferenceOfTheSweepSchemaLeadsToADescription(t *testing.T) {
	docs := map[string]any{}
	for _, file := range []string{"experiment.schema.json", "sweep.schema.json"} {
		body, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Fatal(err)
		}
		docs[file] = doc
	}
	refs := regexp.MustCompile(`"\$ref": "([^"#]*)#/([^"]*)"`)
	body, err := os.ReadFile(sweepSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	outside := 0
	for _, m := range refs.FindAllStringSubmatch(string(body), -1) {
		if m[1] != "" {
			outside++
		}
		at := docs[cmp.Or(m[1], "sweep.schema.json")]
		for part := range strings.SplitSeq(m[2], "/") {
			fields, _ := at.(map[string]any)
			at = fields[part]
		}
		if at == nil {
			t.Errorf("%s leads nowhere", m[0])
		}
	}
	if outside == 0 {
		t.Error("no reference to experiment.schema.json")
	}
}

// FuzzLoadSweep: whatever a file holds, reading it ends in a sweep whose cells
// have distinct legal names, or in faults.
func FuzzLoadSweep(f *testing.F) {
	f.Add([]byte("name: s\nbase: {rounds: 1}\narms: {a: {designer.context: V1}}\nmatrix: {seed: [1]}\n"))
	f.Add([]byte("name: s\nbase: x.yaml\nseeds: [1, 2]\nexclude:\n  - {arm: a, seed: 1}\ninclude:\n  - {arm: b, set: {a.b.: 3}}\n"))
	f.Add([]byte("name: s\nbase: {trainer: 3}\narms: {a: {trainer.rollouts: 4}}\n"))
	f.Add([]byte(llmBase + "arms:\n  a: {job: {backend: process}, designer.kind: fixed}\nmatrix: {trainer.recipe.trl.vllm_sleep: [true, false]}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := config.LoadSweep("s.yaml", src, func(string) ([]byte, error) { return []byte("rounds: 1"), nil }, lookupPond)
		var faults *config.Faults
		if err != nil {
			if !errors.As(err, &faults) || len(faults.Lines) == 0 {
				t.Fatalf("error %v; want faults", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, c := range s.Cells() {
			name := s.NameOf(c)
			if seen[name] || len(name) > 52 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Fatalf("cell %q", name)
			}
			seen[name] = true
		}
	})
}

func TestADeadlineIsAhead(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for deadline, want := range map[string]string{
		"":           "",
		"limits: {}": "",
		"limits: {deadline: '2026-12-01T12:00:01Z'}":      "",
		"limits: {deadline: '2026-12-01T13:00:01+01:00'}": "",
		"limits: {deadline: '2026-12-01T12:00:00Z'}":      "s.yaml:2:20: limits.deadline: found 2026-12-01T12:00:00Z, which is past: it is 2026-12-01T12:00:00Z, and no cell would be started; want a later time, or none",
		"limits: {deadline: '2026-12-01T12:30:00+01:00'}": "s.yaml:2:20: limits.deadline: found 2026-12-01T12:30:00+01:00, which is past: it is 2026-12-01T12:00:00Z, and no cell would be started; want a later time, or none",
		"limits:\n  deadline: '2206-12-01T12:30:00Z'":     "s.yaml:3:13: limits.deadline: found 2206-12-01T12:30:00Z, which is more than 10 years ahead; want an earlier time, or none",
	} {
		err := config.CheckDeadline("s.yaml", []byte("name: s\n"+deadline+"\n"), now)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: got %v; want %q", deadline, err, want)
		}
	}
}
