package lake

import (
	"fmt"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Hole ratios of the benchmarks, the same number of instances each (paper:
// likely). Where a map has too few cells left for its agents, the ratio is left
// out and the others get its instances.
var benchmarkHoles = []float64{0.1, 0.2, 0.3, 0.4, 0.5}

// benchmarkWaits pools the published wait subsets of 25, 50 and 75 %, which have
// the same number of instances: half of all need a wait.
const benchmarkWaits = 0.5

// benchmark orders the held-out set with this many agents: per size the same
// number of instances, spread evenly over the hole ratios. The set is the same
// for every experiment.
func benchmark(agents, instances int, objective string) []env.Order {
	var orders []env.Order
	for n := smallestMap(agents); n <= MaxSize; n++ {
		var ratios []float64
		for _, r := range benchmarkHoles {
			if n*n-holeCount(r, n) >= 2*agents {
				ratios = append(ratios, r)
			}
		}
		for i, ratio := range ratios {
			count := instances*(i+1)/len(ratios) - instances*i/len(ratios)
			if count == 0 {
				continue
			}
			orders = append(orders, env.Order{
				Split: env.SplitBenchmark, Seed: fmt.Sprintf("lake/benchmark/%d/%s/%v", agents, sizeName(n), ratio),
				IDPrefix: fmt.Sprintf("%dag_hr%v_", agents, ratio), Agents: agents, Objective: objective, Samples: count,
				Curriculum: experiment.Curriculum{Rows: []experiment.Row{{
					Size: sizeName(n), DataRatio: 1,
					Knobs: []experiment.Knob{{Name: knobHoles, Value: ratio}, {Name: knobWaits, Value: benchmarkWaits}},
				}}},
			})
		}
	}
	return orders
}

// smallestMap is the smallest size in the set of this many agents (paper: 3x3
// for three, 4x4 for four, 5x5 for five).
func smallestMap(agents int) int { return max(MinSize, agents) }
