package lake

import (
	"context"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Lake is the environment MAPF-FrozenLake.
type Lake struct{}

// New returns the environment.
func New() Lake { return Lake{} }

var _ env.Playable = Lake{}

// Name is "lake".
func (Lake) Name() string { return "lake" }

// Version counts the generator, solver and referee, and names the prompt.
func (Lake) Version() string { return "lake/2+prompt." + PromptVersion }

// Space is what a curriculum may say about the lake.
func (Lake) Space() env.Space { return space() }

// The groups of a scorecard: whether every optimal plan has a wait in it
// (measured for the sum of costs, whatever the objective).
const (
	groupFree = "no_wait"
	groupWait = "needs_wait"
)

// Groups tells the instances that need a wait from those that do not.
func (Lake) Groups() []string { return []string{groupFree, groupWait} }

// Validate says everything that makes an order impossible.
func (Lake) Validate(o env.Order) error { return checkOrder(o) }

// Generate draws the tasks of an order, in some 80 bytes of memory for each.
func (Lake) Generate(ctx context.Context, o env.Order, take func(env.Task) error, progress func(done, total int)) (experiment.Conformance, error) {
	return generate(ctx, o, take, progress)
}

// Benchmark is the order list of the held-out set with this many agents.
func (Lake) Benchmark(agents, instancesPerSize int, objective string) []env.Order {
	return benchmark(agents, instancesPerSize, objective)
}
