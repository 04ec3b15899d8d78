package lake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"floe/internal/env"
	"floe/internal/experiment"
)

// generate draws the tasks of an order.
func generate(ctx context.Context, o env.Order, progress func(done, total int)) ([]env.Task, experiment.Conformance, error) {
	if err := checkOrder(o); err != nil {
		return nil, experiment.Conformance{}, err
	}
	pool := newPool(o, progress)
	defer pool.close()
	fillings, err := pool.fill(ctx, quotas(o))
	if err != nil {
		return nil, experiment.Conformance{}, fmt.Errorf("draw instances: %w", err)
	}
	w := writer{order: o, solver: NewSolver(), numbers: map[string]int{}, report: experiment.Conformance{Requested: o.Samples}}
	for _, f := range fillings {
		if err := w.write(f); err != nil {
			return nil, experiment.Conformance{}, err
		}
	}
	progress(len(w.tasks), o.Samples)
	if o.Split == env.SplitTrain { // a trainer takes tasks as they come: its batches must mix sizes
		experiment.Rand(o.Seed, "lake", "order").Shuffle(len(w.tasks), func(i, j int) { w.tasks[i], w.tasks[j] = w.tasks[j], w.tasks[i] })
	}
	return w.tasks, w.report, nil
}

// writer makes tasks of instances, and the report about them.
type writer struct {
	order   env.Order
	solver  *Solver
	numbers map[string]int // running numbers by the rest of the task's ID
	tasks   []env.Task
	report  experiment.Conformance
}

// write makes the tasks of a row.
func (w *writer) write(f *filling) error {
	all := f.repeated()
	row := experiment.ConformanceRow{
		Size: f.row.Size, Requested: f.count, Realised: len(all), Repeats: len(all) - len(f.got),
		Knobs: []experiment.Realised{
			{Name: knobHoles, Requested: knob(f.row, knobHoles), Realised: float64(f.holes) / float64(f.n*f.n)},
			{Name: knobWaits, Requested: knob(f.row, knobWaits), Realised: float64(f.want[classWait]) / float64(max(1, f.count))},
		},
	}
	for i := range all {
		task, err := w.task(&all[i], f)
		if err != nil {
			return err
		}
		w.tasks = append(w.tasks, task)
		row.Optima = count(row.Optima, task.Optimum)
	}
	w.report.Realised += row.Realised
	w.report.Repeats += row.Repeats
	w.report.Rows = append(w.report.Rows, row)
	return nil
}

// task is a candidate as a row of a dataset.
func (w *writer) task(c *candidate, f *filling) (env.Task, error) {
	in := c.puzzle.instance()
	body, err := json.Marshal(in)
	if err != nil {
		return env.Task{}, fmt.Errorf("encode instance: %w", err)
	}
	return env.Task{
		ID: w.id(f), Size: f.row.Size, Group: groups[c.class], Objective: w.order.Objective, Optimum: w.optimum(c),
		Prompt: renderPrompt(in), Instance: body,
	}, nil
}

// id is the next ID of a row: prefix, size and a running number. In benchmarks
// the hole ratio is part of it, as in the published ones: 3ag_3x3_hr0.1_000.
func (w *writer) id(f *filling) string {
	stem, form := w.order.IDPrefix+f.row.Size, "%s-%04d"
	if w.order.Split == env.SplitBenchmark {
		stem += "_hr" + strconv.FormatFloat(knob(f.row, knobHoles), 'f', -1, 64)
		form = "%s_%03d"
	}
	id := fmt.Sprintf(form, stem, w.numbers[stem])
	w.numbers[stem]++
	return id
}

// optimum is the least cost under the order's objective. Candidates come with
// the other one, since the classes are about it.
func (w *writer) optimum(c *candidate) int {
	if w.order.Objective != objectiveMakespan {
		return c.cost
	}
	w.solver.load(&c.puzzle)
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
