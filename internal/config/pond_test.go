package config_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/experiment"
)

// pond is an environment in which nothing can be drawn, only checked: four
// sizes, two knobs, and room for two cells per agent.
type pond struct{ env.Environment }

func (pond) Name() string { return "lake" }

func (pond) Space() env.Space {
	return env.Space{Sizes: []string{"2x2", "3x3", "4x4", "10x10"}, Knobs: []env.Knob{
		{Name: "hole_ratio", Doc: "Share of the cells that are holes.", Min: 0, Max: 0.5, Default: 0.2, Easy: 0, Hard: 0.5},
		{Name: "wait_ratio", Doc: "Share of the instances that need a wait.", Min: 0, Max: 1, Default: 0.5, Easy: 0, Hard: 1},
	}}
}

func (pond) Validate(o env.Order) error {
	var errs []error
	if len(o.Curriculum.Rows) == 0 || o.Samples < 1 || o.Agents < 2 || o.Objective == "" || o.Seed == "" {
		errs = append(errs, errors.New("the order is not whole"))
	}
	if o.Split == env.SplitBenchmark && o.Agents == 2 && o.Objective == "makespan" {
		errs = append(errs, errors.New("a set with 2 agents has no makespan"))
	}
	for _, r := range o.Curriculum.Rows {
		n := map[string]int{"2x2": 2, "3x3": 3, "4x4": 4, "10x10": 10}[r.Size]
		holes, _ := r.Knob("hole_ratio")
		if free := n*n - int(holes*float64(n*n)); r.DataRatio > 0 && free < 2*o.Agents {
			errs = append(errs, fmt.Errorf("%s has %d free cells; want %d for %d agents", r.Size, free, 2*o.Agents, o.Agents))
		}
	}
	return errors.Join(errs...)
}

func (pond) Benchmark(agents, instances int, objective string) []env.Order {
	if agents == 4 {
		return nil // for the case that no size holds the agents
	}
	row := experiment.Row{Size: "10x10", DataRatio: 1, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.1}}}
	return []env.Order{{
		Split: env.SplitBenchmark, Seed: "s", Agents: agents, Objective: objective, Samples: instances,
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{row}},
	}}
}

func (pond) Generate(context.Context, env.Order, func(env.Task) error, func(int, int)) (experiment.Conformance, error) {
	return experiment.Conformance{}, errors.New("a pond draws nothing")
}

func lookup(name string) (env.Environment, error) {
	if name != "lake" {
		return nil, fmt.Errorf("environment %q is not known; there is lake", name)
	}
	return pond{}, nil
}

func load(src string, sets ...string) (experiment.Spec, error) {
	return config.Load("f.yaml", []byte(src), sets, lookup)
}

// base is a file without faults; the pond knows no set with four agents.
const base = "name: a\nbenchmarks: {agents: [3]}\n"

func mustLoad(t *testing.T, src string, sets ...string) experiment.Spec {
	t.Helper()
	spec, err := load(src, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func checkFaults(t *testing.T, err error, want string) {
	t.Helper()
	var faults *config.Faults
	if !errors.As(err, &faults) || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// puddles is an environment with more sizes than min_share has room for, and
// none that holds an agent.
type puddles struct{ pond }

func (puddles) Space() env.Space {
	s := pond{}.Space()
	s.Sizes = strings.Fields("p0 p1 p2 p3 p4 p5 p6 p7 p8 p9")
	return s
}
