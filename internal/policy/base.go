package policy

import (
	"context"
	"fmt"
	"runtime"

	"floe/internal/env"
	"floe/internal/experiment"
)

// The warm start does not follow the settings of GRPO, so that experiments that
// vary them start from the same policy.
const (
	warmBatch = 32
	warmRate  = 2e-3
	warmClip  = 1
)

// Base makes the untrained policy: random weights that have imitated the
// solver's plans for spec.WarmStart of the problems, drawn by the seed (all of
// them if there are fewer), for spec.WarmEpochs passes. Like a language model's
// base it knows the form of an answer and finds some, so that the first round
// has signal. It is a pure function of its arguments; of spec it reads these
// two. Progress counts plans solved and imitated; it is called from one
// goroutine at a time and may be nil.
func Base(ctx context.Context, e env.Playable, problems []env.Problem, spec experiment.TrainerSpec, seed string, progress func(done, total int)) (*Model, error) {
	m, err := New(e.Features(), e.Actions(), seed, "weights")
	if err != nil {
		return nil, fmt.Errorf("base policy: %w", err)
	}
	if spec.WarmStart <= 0 || spec.WarmEpochs <= 0 {
		return m, nil
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("base policy: no problems; the warm start wants %d", spec.WarmStart)
	}
	chosen := experiment.Rand(seed, "warm start").Perm(len(problems))
	chosen = chosen[:min(spec.WarmStart, len(chosen))]
	m, err = imitate(ctx, m, pick(problems, chosen), spec.WarmEpochs, seed, progress)
	if err != nil {
		return nil, fmt.Errorf("base policy: %w", err)
	}
	return m, nil
}

func pick[T any](from []T, chosen []int) []T {
	picked := make([]T, len(chosen))
	for i, c := range chosen {
		picked[i] = from[c]
	}
	return picked
}

// imitate trains m by cross-entropy on the solver's plans.
func imitate(ctx context.Context, m *Model, tasks []env.Problem, epochs int, seed string, progress func(done, total int)) (*Model, error) {
	meter := &meter{total: len(tasks) * (1 + epochs), report: progress}
	plans, err := demonstrations(ctx, tasks, meter)
	if err != nil {
		return nil, err
	}
	crew, opt := newCrew(m, nil, 1), newAdam(len(m.rows))
	for epoch := range epochs {
		order := order(len(tasks), seed, "warm order", epoch)
		for len(order) > 0 {
			batch := order[:min(warmBatch, len(order))]
			order = order[len(batch):]
			sum, err := crew.gather(ctx, len(batch), func(t *tree, i int, g *layers) (tally, error) {
				defer meter.tick()
				return follow(t, tasks[batch[i]], plans[batch[i]], g)
			})
			if err != nil {
				return nil, err
			}
			if _, err := crew.climb(ctx, opt, sum.decisions, warmClip, warmRate); err != nil {
				return nil, fmt.Errorf("imitate solver, pass %d: %w", epoch+1, err)
			}
		}
	}
	return m, nil
}

func demonstrations(ctx context.Context, tasks []env.Problem, meter *meter) ([][]int, error) {
	plans := make([][]int, len(tasks))
	err := each(ctx, runtime.GOMAXPROCS(0), len(tasks), func(_, i int) (err error) {
		defer meter.tick()
		if plans[i], err = tasks[i].Demonstration(); err != nil {
			return fmt.Errorf("demonstration of task %s: %w", tasks[i].Task().ID, err)
		}
		return nil
	})
	return plans, err
}

// follow is the lesson of imitation: the gradient of log p of the actions.
func follow(t *tree, task env.Problem, actions []int, g *layers) (tally, error) {
	if err := t.plant(task); err != nil {
		return tally{}, err
	}
	if err := t.follow(actions); err != nil {
		return tally{}, fmt.Errorf("demonstration of task %s: %w", task.Task().ID, err)
	}
	t.credit([]float64{1}) // imitation is all advantage
	t.differentiate(g, regulariser{})
	return tally{decisions: int64(len(actions))}, nil
}
