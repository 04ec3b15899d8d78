package lake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"floe/internal/env"
	"floe/internal/experiment"
)

// writer makes tasks of instances, and the report about them.
type writer struct {
	order  env.Order
	solver *Solver
	rows   []writerRow
	report experiment.Conformance
}

// writerRow is a row of the order: its tasks have successive indices, and
// successive numbers in their IDs.
type writerRow struct {
	*filling
	first  int    // index of the first task
	stem   string // of the IDs
	number int    // of the first task, among those with the same stem
}

func newWriter(o env.Order, fillings []*filling) *writer {
	w := &writer{order: o, solver: NewSolver(), report: experiment.Conformance{Requested: o.Samples}}
	numbers := map[string]int{}
	for _, f := range fillings {
		stem := w.stem(f)
		w.rows = append(w.rows, writerRow{f, w.report.Realised, stem, numbers[stem]})
		numbers[stem] += f.len()
		w.report.Realised += f.len()
		w.report.Repeats += len(f.repeats)
		w.report.Rows = append(w.report.Rows, f.conformance())
	}
	return w
}

// conformance is the report about a row, but for its optima.
func (f *filling) conformance() experiment.ConformanceRow {
	return experiment.ConformanceRow{
		Size: f.row.Size, Requested: f.count, Realised: f.len(), Repeats: len(f.repeats),
		Knobs: []experiment.Realised{
			{Name: knobHoles, Requested: knob(f.row, knobHoles), Realised: float64(f.holes) / float64(f.n*f.n)},
			{Name: knobWaits, Requested: knob(f.row, knobWaits), Realised: float64(f.want[classWait]) / float64(max(1, f.count))},
		},
	}
}

// turns are the indices of the tasks in the order in which they are taken. A
// trainer takes tasks as they come: its batches must mix sizes.
func (w *writer) turns() []int {
	turns := make([]int, w.report.Realised)
	for i := range turns {
		turns[i] = i
	}
	if w.order.Split == env.SplitTrain {
		experiment.Rand(w.order.Seed, "lake", "order").Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	}
	return turns
}

// task is the instance with an index as a row of a dataset; the report counts it.
func (w *writer) task(index int) (env.Task, error) {
	// The first row that ends behind the index; one without tasks ends before.
	at, _ := slices.BinarySearchFunc(w.rows, index+1, func(r writerRow, end int) int { return cmp.Compare(r.first+r.len(), end) })
	r := &w.rows[at]
	k := r.at(index - r.first)
	p := k.puzzle(r.n, w.order.Agents)
	in := p.instance()
	body, err := json.Marshal(in)
	if err != nil {
		return env.Task{}, fmt.Errorf("encode instance: %w", err)
	}
	t := env.Task{
		ID: w.id(r, index), Size: r.row.Size, Group: groups[k.class], Objective: w.order.Objective,
		Optimum: w.optimum(k, &p), Prompt: renderPrompt(in), Instance: body,
	}
	w.report.Rows[at].Optima = count(w.report.Rows[at].Optima, t.Optimum)
	return t, nil
}

// stem is the ID of a row's tasks without their number: prefix and size. In
// benchmarks the hole ratio is part of it, as in the published ones:
// 3ag_3x3_hr0.1_000.
func (w *writer) stem(f *filling) string {
	stem := w.order.IDPrefix + f.row.Size
	if w.order.Split == env.SplitBenchmark {
		stem += "_hr" + strconv.FormatFloat(knob(f.row, knobHoles), 'f', -1, 64)
	}
	return stem
}

func (w *writer) id(r *writerRow, index int) string {
	number := r.number + index - r.first
	if w.order.Split == env.SplitBenchmark {
		return fmt.Sprintf("%s_%03d", r.stem, number)
	}
	return fmt.Sprintf("%s-%04d", r.stem, number)
}

// optimum is the least cost under the order's objective. Instances come with the
// sum of costs, since the classes are about it.
func (w *writer) optimum(k *kept, p *puzzle) int {
	if w.order.Objective != objectiveMakespan {
		return int(k.cost)
	}
	w.solver.load(p)
	w.solver.cheapest()
	return w.solver.makespan(w.solver.latest())
}

// count adds one to the count of a cost, in a list that ascends by cost.
func count(costs []experiment.CostCount, cost int) []experiment.CostCount {
	i, found := slices.BinarySearchFunc(costs, cost, func(c experiment.CostCount, cost int) int { return cmp.Compare(c.Cost, cost) })
	if !found {
		costs = slices.Insert(costs, i, experiment.CostCount{Cost: cost})
	}
	costs[i].Count++
	return costs
}
