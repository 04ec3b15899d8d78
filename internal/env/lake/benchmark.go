package lake

import (
	"fmt"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// The published benchmarks: per size three subsets of equal size, in which 25, 50
// and 75 % of the instances need a wait, each over five hole ratios (the ratios
// are likely, not sure).
var (
	benchmarkWaits = []float64{0.25, 0.5, 0.75}
	benchmarkHoles = []float64{0.1, 0.2, 0.3, 0.4, 0.5}
)

// benchmark orders the held-out set with this many agents, one order per size:
// three agents from 3x3, four from 4x4, five from 5x5, as published. Other
// numbers of agents than an instance can have get no orders. The set depends on
// nothing but these arguments, so all experiments share it; and the objective
// changes the optima, not the instances.
func benchmark(agents, instancesPerSize int, objective string) []env.Order {
	var orders []env.Order
	for n := max(MinSize, agents); n <= MaxSize && agents >= MinAgents && agents <= MaxAgents; n++ {
		orders = append(orders, env.Order{
			Split: env.SplitBenchmark, Seed: fmt.Sprintf("lake/benchmark/%d", agents), IDPrefix: fmt.Sprintf("%dag_", agents),
			Agents: agents, Objective: objective, Samples: instancesPerSize,
			Curriculum: experiment.Curriculum{Rows: benchmarkRows(sizeName(n), instancesPerSize)},
		})
	}
	return orders
}

// benchmarkRows has a row for every hole ratio of every wait subset that gets
// instances. Counts are as even as possible: where a subset's do not come out
// even, the next subset goes on with the next hole ratio.
func benchmarkRows(size string, total int) (rows []experiment.Row) {
	first := 0
	for i, inSubset := range curriculum.Apportion(even(len(benchmarkWaits)), total) {
		counts := make([]int, len(benchmarkHoles))
		for range inSubset {
			counts[first%len(counts)]++
			first++
		}
		waits := curriculum.Apportion(floats(counts), waitCount(benchmarkWaits[i], inSubset))
		for k, ratio := range benchmarkHoles {
			if counts[k] > 0 {
				rows = append(rows, benchmarkRow(size, ratio, counts[k], waits[k], total))
			}
		}
	}
	return rows
}

// benchmarkRow asks for exact counts as ratios.
func benchmarkRow(size string, holes float64, count, waits, total int) experiment.Row {
	return experiment.Row{
		Size: size, DataRatio: float64(count) / float64(total),
		Knobs: []experiment.Knob{{Name: knobHoles, Value: holes}, {Name: knobWaits, Value: float64(waits) / float64(count)}},
	}
}

func even(n int) []float64 {
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = 1
	}
	return shares
}

func floats(counts []int) []float64 {
	shares := make([]float64, len(counts))
	for i, n := range counts {
		shares[i] = float64(n)
	}
	return shares
}
