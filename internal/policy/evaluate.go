package policy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Answer is what a policy said to a problem, and what the referee found.
type Answer struct {
	Text    string
	Verdict env.Verdict
}

// Evaluate answers every problem once, in the problems' order. Temperature 0 is
// the most probable action always; above it actions are drawn, from a stream
// named by seed and the task's ID. Progress is called from one goroutine at a
// time and may be nil.
func Evaluate(ctx context.Context, m *Model, problems []env.Problem, temperature float64, seed string, progress func(done, total int)) ([]Answer, error) {
	if !(temperature >= 0) || math.IsInf(temperature, 0) { // this way round, NaN is refused too
		return nil, fmt.Errorf("evaluate policy: temperature %v; want 0 or more", temperature)
	}
	answers := make([]Answer, len(problems))
	trees := make([]*tree, runtime.GOMAXPROCS(0))
	for i := range trees {
		trees[i] = newTree(m, nil, cmp.Or(temperature, 1))
	}
	meter := &meter{total: len(problems), report: progress}
	err := each(ctx, len(trees), len(problems), func(worker, i int) (err error) {
		defer meter.tick()
		answers[i], err = trees[worker].answer(problems[i], temperature == 0, seed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("evaluate policy: %w", err)
	}
	return answers, nil
}

func (t *tree) answer(problem env.Problem, greedy bool, seed string) (Answer, error) {
	if err := t.plant(problem); err != nil {
		return Answer{}, err
	}
	choose := t.best
	if !greedy {
		rng := experiment.Rand(seed, "evaluate", problem.Task().ID)
		choose = func(at int32) int32 { return t.draw(at, rng) }
	}
	if err := t.walk(choose); err != nil {
		return Answer{}, err
	}
	l := t.leaves[0]
	return Answer{Text: l.text, Verdict: l.verdict}, nil
}
