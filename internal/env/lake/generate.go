package lake

import (
	"context"
	"fmt"

	"floe/internal/env"
	"floe/internal/experiment"
)

// generate draws the tasks of an order. All instances are found first, as the
// order of a training set mixes its rows; the tasks are made as they are taken.
func generate(ctx context.Context, o env.Order, take func(env.Task) error, progress func(done, total int)) (experiment.Conformance, error) {
	if err := checkOrder(o); err != nil {
		return experiment.Conformance{}, err
	}
	fillings, err := fillOrder(ctx, o, progress)
	if err != nil {
		return experiment.Conformance{}, fmt.Errorf("draw instances: %w", err)
	}
	w := newWriter(o, fillings)
	for _, i := range w.turns() {
		if err := ctx.Err(); err != nil {
			return experiment.Conformance{}, err
		}
		task, err := w.task(i)
		if err == nil {
			err = take(task)
		}
		if err != nil {
			return experiment.Conformance{}, err
		}
	}
	progress(w.report.Realised, o.Samples)
	return w.report, nil
}

func fillOrder(ctx context.Context, o env.Order, progress func(done, total int)) ([]*filling, error) {
	pool := newPool(o, progress)
	defer pool.close()
	return pool.fill(ctx, quotas(o))
}
