package lake

import (
	"fmt"

	"floe/internal/env"
)

var _ env.Measuring = Lake{}

// The figures of a task, as indices.
const (
	measureHoles = iota
	measureDistance
	measureOptimum
	measureCount
)

var measures = [measureCount]env.Measure{
	measureHoles: {Name: "holes", Doc: "holes of the map"},
	measureDistance: {
		Name: "distance", Doc: "steps from start to goal on a map without holes and other agents, mean over the agents",
		Nature: "agents that go further meet more often: tasks that need a wait have longer ways",
	},
	measureOptimum: {
		Name: "optimum", Doc: "cost of an optimal plan under the task's objective",
		Nature: "a needed wait costs a step, and the longer ways of tasks that need one cost more",
	},
}

// Measures are holes, distance and optimum.
func (Lake) Measures() []env.Measure { return measures[:] }

// Measure gives a task's figures.
func (Lake) Measure(t env.Task) ([]float64, error) {
	in, err := instanceOf(t)
	if err != nil {
		return nil, fmt.Errorf("measure task %q: %w", t.ID, err)
	}
	m := measure(in, t.Optimum)
	return m[:], nil
}

func measure(in Instance, optimum int) [measureCount]float64 {
	sum, _ := ways(in)
	return [measureCount]float64{float64(in.Holes()), float64(sum) / float64(in.Agents()), float64(optimum)}
}
