package config

import (
	"floe/internal/env"
	"floe/internal/experiment"
)

// fillSizes gives a validation set without sizes all that can hold the agents.
func (w *world) fillSizes() {
	if w.spec.Validation.Sizes != nil {
		return
	}
	var last error
	for _, size := range w.space.Sizes {
		if err := w.env.Validate(w.validation(size)); err != nil {
			last = err
			continue
		}
		w.spec.Validation.Sizes = append(w.spec.Validation.Sizes, size)
	}
	if len(w.spec.Validation.Sizes) == 0 {
		w.Add(w.at("agents", "validation.knobs"), "validation", "found no size that can be drawn; %v", last)
	}
}

// drawable asks the environment about every set that the spec decides.
func (w *world) drawable() {
	sizes := w.spec.Validation.Sizes
	if err := w.env.Validate(w.validation(sizes...)); len(sizes) > 0 && err != nil {
		w.lines(w.at("validation.sizes", "validation.knobs", "agents"), "validation", err)
	}
	if w.spec.Curriculum != nil {
		o := w.order(env.SplitTrain, w.spec.Samples, *w.spec.Curriculum)
		if err := w.env.Validate(o); err != nil {
			w.lines(w.at("curriculum"), "curriculum", err)
		}
	}
	for i, agents := range w.spec.Benchmarks.Agents {
		w.benchmark(indexed("benchmarks.agents", i), agents)
	}
}

// benchmark checks one held-out set. One fault is enough: its orders differ in
// little.
func (w *world) benchmark(path string, agents int) {
	n := w.at(path, "benchmarks.agents", "benchmarks.instances")
	orders := w.env.Benchmark(agents, w.spec.Benchmarks.Instances, w.spec.Objective)
	if len(orders) == 0 {
		w.Add(n, path, "found %d; want a number of agents that a size can hold", agents)
	}
	for _, o := range orders {
		if err := w.env.Validate(o); err != nil {
			w.lines(n, path, err)
			return
		}
	}
}

// validation is the order of the validation set.
func (w *world) validation(sizes ...string) env.Order {
	v := w.spec.Validation
	var c experiment.Curriculum
	for _, size := range sizes {
		c.Rows = append(c.Rows, experiment.Row{Size: size, DataRatio: 1 / float64(len(sizes)), Knobs: v.Knobs})
	}
	return w.order(env.SplitValidation, v.Instances*len(sizes), c)
}

// order is an order with this spec's agents and objective. Its seed and prefix
// do not count: nothing is drawn here.
func (w *world) order(split string, samples int, c experiment.Curriculum) env.Order {
	return env.Order{
		Split: split, Seed: "check", IDPrefix: "check-",
		Agents: w.spec.Agents, Objective: w.spec.Objective, Samples: samples, Curriculum: c,
	}
}
