package env

import (
	"context"

	"floe/internal/experiment"
)

// Tasks draws the tasks of an order and keeps them all. Sets of unknown length
// are better taken one by one, by Generate.
func Tasks(ctx context.Context, e Environment, o Order, progress func(done, total int)) ([]Task, experiment.Conformance, error) {
	var tasks []Task
	c, err := e.Generate(ctx, o, func(t Task) error {
		tasks = append(tasks, t)
		return nil
	}, progress)
	if err != nil {
		return nil, experiment.Conformance{}, err
	}
	return tasks, c, nil
}
