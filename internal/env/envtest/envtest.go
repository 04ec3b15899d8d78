// Package envtest holds the laws that every environment obeys, as a test that an
// environment runs on itself:
//
//	func TestLaws(t *testing.T) { envtest.Run(t, lake.New()) }
package envtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Run proves the laws. Those about acting are for playable environments only.
func Run(t *testing.T, e env.Environment) {
	t.Helper()
	t.Run("it says what it is", func(t *testing.T) { says(t, e) })
	t.Run("its space is sane", func(t *testing.T) { sane(t, e.Space()) })
	t.Run("impossible orders are refused", func(t *testing.T) { refuses(t, e) })
	t.Run("generation is the same on one processor and two", func(t *testing.T) { deterministic(t, e) })
	t.Run("other seeds give other tasks", func(t *testing.T) { seeded(t, e) })
	t.Run("a dataset is what was ordered", func(t *testing.T) { ordered(t, e) })
	t.Run("splits are disjoint", func(t *testing.T) { disjoint(t, e) })
	t.Run("benchmarks can be generated", func(t *testing.T) { benchmarks(t, e) })
	t.Run("generation stops when it is cancelled", func(t *testing.T) { cancellable(t, e) })
	t.Run("generation stops when nothing more is taken", func(t *testing.T) { stoppable(t, e) })

	tasks := generate(t, e, order(e, env.SplitTrain, "judge"))
	t.Run("tasks open as they were written", func(t *testing.T) { opens(t, e, tasks) })
	t.Run("garbage is invalid, never a panic", func(t *testing.T) { garbage(t, e, tasks[0]) })
	if p, ok := e.(env.Playable); ok {
		t.Run("demonstrations are optimal", func(t *testing.T) { demonstrates(t, p, tasks) })
		t.Run("whatever is done, verdicts are consistent", func(t *testing.T) { wanders(t, p, tasks) })
	}
}

// samplesPerSize keeps the laws quick and still gives each size a few tasks.
const samplesPerSize = 6

// order asks for a few tasks of every size at the knobs' defaults.
func order(e env.Environment, split, seed string) env.Order {
	s := e.Space()
	o := env.Order{
		Split: split, Seed: "envtest " + seed, IDPrefix: "law-", Agents: 2,
		Objective: "sum_of_costs", Samples: samplesPerSize * len(s.Sizes),
	}
	for _, size := range s.Sizes {
		row := experiment.Row{Size: size, DataRatio: 1 / float64(len(s.Sizes))}
		for _, k := range s.Knobs {
			row.Knobs = append(row.Knobs, experiment.Knob{Name: k.Name, Value: k.Default})
		}
		o.Curriculum.Rows = append(o.Curriculum.Rows, row)
	}
	return o
}

func generate(t *testing.T, e env.Environment, o env.Order) []env.Task {
	t.Helper()
	tasks, _, err := env.Tasks(t.Context(), e, o, func(int, int) {})
	if err != nil {
		t.Fatalf("generate %+v: %v", o, err)
	}
	if len(tasks) == 0 {
		t.Fatalf("generate %+v: no tasks", o)
	}
	return tasks
}

func open(t *testing.T, e env.Environment, task env.Task) env.Problem {
	t.Helper()
	p, err := e.Open(task)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func says(t *testing.T, e env.Environment) {
	if e.Name() == "" || e.Version() == "" {
		t.Errorf("name %q, version %q; want both", e.Name(), e.Version())
	}
	distinct(t, "group", e.Groups())
	var names []string
	for _, c := range e.Checks() {
		names = append(names, c.Name)
		if c.Doc == "" {
			t.Errorf("check %q says nothing", c.Name)
		}
	}
	distinct(t, "check", names)
}

func distinct(t *testing.T, what string, names []string) {
	t.Helper()
	if len(names) == 0 {
		t.Errorf("no %s", what)
	}
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			t.Errorf("%s %d is %q; want a name of its own", what, i, name)
		}
	}
}

func sane(t *testing.T, s env.Space) {
	distinct(t, "size", s.Sizes)
	var names []string
	for _, k := range s.Knobs {
		names = append(names, k.Name)
		for what, v := range map[string]float64{"default": k.Default, "easy": k.Easy, "hard": k.Hard} {
			if !(k.Min <= v && v <= k.Max) {
				t.Errorf("knob %s: %s = %v; want it in [%v, %v]", k.Name, what, v, k.Min, k.Max)
			}
		}
		if k.Doc == "" || k.Tests != "valid" && k.Tests != "optimal" {
			t.Errorf("knob %s: doc %q, tests %q; want a doc, and valid or optimal", k.Name, k.Doc, k.Tests)
		}
	}
	distinct(t, "knob", names)
}

func refuses(t *testing.T, e env.Environment) {
	good := order(e, env.SplitTrain, "refuse")
	if err := e.Validate(good); err != nil {
		t.Fatalf("refused a good order: %v", err)
	}
	for name, change := range map[string]func(*env.Order){
		"no samples":         func(o *env.Order) { o.Samples = -1 },
		"no agents":          func(o *env.Order) { o.Agents = -1 },
		"unknown split":      func(o *env.Order) { o.Split = "test" },
		"unknown objective":  func(o *env.Order) { o.Objective = "beauty" },
		"unknown size":       func(o *env.Order) { o.Curriculum.Rows[0].Size = "no such size" },
		"unknown knob":       func(o *env.Order) { o.Curriculum.Rows[0].Knobs[0].Name = "no_such_knob" },
		"knob out of range":  func(o *env.Order) { o.Curriculum.Rows[0].Knobs[0].Value = e.Space().Knobs[0].Max + 1 },
		"share out of range": func(o *env.Order) { o.Curriculum.Rows[0].DataRatio = -1 },
		"no curriculum":      func(o *env.Order) { o.Curriculum.Rows = nil },
	} {
		o := good
		o.Curriculum = good.Curriculum.Clone()
		change(&o)
		if e.Validate(o) == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, _, err := env.Tasks(t.Context(), e, o, func(int, int) {}); err == nil {
			t.Errorf("%s: generated", name)
		}
	}
}

func cancellable(t *testing.T, e env.Environment) {
	o := order(e, env.SplitTrain, "cancel")
	o.Samples *= 20
	ctx, cancel := context.WithCancel(t.Context())
	reached := 0
	_, _, err := env.Tasks(ctx, e, o, func(done, _ int) {
		cancel()
		reached = done
	})
	if !errors.Is(err, context.Canceled) || reached >= o.Samples {
		t.Errorf("cancelled at the first progress: %v, went on to %d of %d; want %v before the end", err, reached, o.Samples, context.Canceled)
	}
	if _, _, err := env.Tasks(ctx, e, o, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v; want %v", err, context.Canceled)
	}
}

func stoppable(t *testing.T, e env.Environment) {
	ctx, cancel := context.WithCancel(t.Context())
	given := 0
	_, err := e.Generate(ctx, order(e, env.SplitTrain, "stop"), func(env.Task) error {
		given++
		cancel()
		return nil
	}, func(int, int) {})
	if !errors.Is(err, context.Canceled) || given != 1 {
		t.Errorf("cancelled at the first task: %v, %d tasks were given; want %v and 1", err, given, context.Canceled)
	}
	full := errors.New("the disk is full")
	taken := 0
	_, err = e.Generate(t.Context(), order(e, env.SplitTrain, "stop"), func(env.Task) error {
		if taken++; taken == 2 {
			return full
		}
		return nil
	}, func(int, int) {})
	if !errors.Is(err, full) || taken != 2 {
		t.Errorf("refused the second task: %v, %d tasks were given; want %v and 2", err, taken, full)
	}
}

// garbageTexts are texts that no environment takes for an answer.
func garbageTexts() []string {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // noise for a test
	var noise []byte
	for len(noise) < 4096 {
		noise = binary.LittleEndian.AppendUint64(noise, rng.Uint64())
	}
	return []string{"", " ", "\n\n", "I do not know.", "<think>", "{", "[[[[", "null", "\x00\xff", string(noise), fmt.Sprint(rng.Perm(1000))}
}

func garbage(t *testing.T, e env.Environment, task env.Task) {
	p := open(t, e, task)
	for _, text := range garbageTexts() {
		v := p.Judge(text)
		consistent(t, e, v)
		if v.Valid || v.Failed[0] != e.Checks()[0].Name {
			t.Errorf("%.40q: verdict %+v; want %s failed", text, v, e.Checks()[0].Name)
		}
	}
}

// consistent proves that the parts of a verdict agree.
func consistent(t *testing.T, e env.Environment, v env.Verdict) {
	t.Helper()
	if v.Valid != (len(v.Failed) == 0) || v.Optimal && !v.Valid || v.Truncated && v.Valid {
		t.Fatalf("verdict contradicts itself: %+v", v)
	}
	if !v.Valid && (len(v.Faults) == 0 || v.Cost != 0) {
		t.Errorf("an invalid verdict without a sentence or with a cost: %+v", v)
	}
	at := 0
	for _, c := range e.Checks() {
		if at < len(v.Failed) && v.Failed[at] == c.Name {
			at++
		}
	}
	if at < len(v.Failed) {
		t.Errorf("failed %q are not the environment's checks in order", v.Failed)
	}
}
