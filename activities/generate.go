package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/plan"
)

// Generate draws a round's training set from its curriculum.
func (a *Activities) Generate(ctx context.Context, in GenerateInput) (Dataset, error) {
	c, err := plan.Load[experiment.Curriculum](ctx, a.Steps, in.Curriculum, FileCurriculum)
	if err != nil {
		return Dataset{}, classify(ctx, err)
	}
	return a.generate(ctx, in.Where, in.Spec, plan.KindGenerate, []env.Order{orders.Training(in.Spec, in.Where.Round, c)})
}

// GenerateValidation draws the fixed validation set: the same number of
// instances for every size.
func (a *Activities) GenerateValidation(ctx context.Context, in ValidationInput) (Dataset, error) {
	return a.generate(ctx, in.Where, in.Spec, plan.KindValidation, []env.Order{orders.Validation(in.Spec)})
}

// GenerateBenchmark draws a held-out set. It is the same for all experiments.
func (a *Activities) GenerateBenchmark(ctx context.Context, in BenchmarkInput) (Dataset, error) {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return Dataset{}, badInput(err)
	}
	return a.generate(ctx, in.Where, in.Spec, plan.KindBenchmark, orders.Benchmark(in.Spec, e, in.Agents))
}

// generate fills orders and stores them as one dataset.
func (a *Activities) generate(ctx context.Context, where Where, spec experiment.Spec, step string, list []env.Order) (Dataset, error) {
	e, err := a.Environment(spec.Environment)
	if err != nil {
		return Dataset{}, badInput(err)
	}
	for _, o := range list {
		if err := e.Validate(o); err != nil {
			return Dataset{}, badInput(err)
		}
	}
	m, done, err := a.step(ctx, where, spec, step, plan.DrawOf(e, list...), func(ctx context.Context, _ *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		return fill(ctx, e, list, report)
	})
	if err != nil {
		return Dataset{}, err
	}
	var c experiment.Conformance
	if err := a.Steps.ReadJSON(ctx, m, FileConformance, &c); err != nil {
		return Dataset{}, classify(ctx, err)
	}
	return Dataset{Done: done, Samples: c.Realised, Repeats: c.Repeats}, nil
}

func fill(ctx context.Context, e env.Environment, list []env.Order, report func(int, int, string)) ([]artifact.Body, error) {
	var packed bytes.Buffer
	lines, err := artifact.NewPackedLines(&packed)
	if err != nil {
		return nil, err
	}
	take := func(t env.Task) error {
		_, err := lines.Add(t)
		return err
	}
	all, err := orders.Fill(ctx, e, list, take, func(done, total int) { report(done, total, "samples") })
	err = errors.Join(err, lines.Close())
	if err != nil && ctx.Err() == nil {
		return nil, badInput(err) // the same order fails the same way every time
	}
	if err != nil {
		return nil, err
	}
	conformance, err := artifact.JSON(FileConformance, all)
	return []artifact.Body{artifact.Bytes(FileDataset, packed.Bytes()), conformance}, err
}

// dataset reads a set and opens its tasks. Sum is the sha256 of its file, which
// stands for it in the keys of later steps.
func (a *Activities) dataset(ctx context.Context, e env.Environment, id experiment.StepID) (problems []env.Problem, sum string, err error) {
	m, err := plan.Need(ctx, a.Steps, id)
	if err != nil {
		return nil, "", err
	}
	tasks, err := artifact.ReadJSONLines[env.Task](ctx, a.Steps, m, FileDataset)
	if err != nil {
		return nil, "", err
	}
	problems = make([]env.Problem, len(tasks))
	for i, t := range tasks {
		if problems[i], err = e.Open(t); err != nil {
			return nil, "", badInput(fmt.Errorf("open task %s of %s: %w", t.ID, id, err))
		}
	}
	return problems, sumOf(m, FileDataset), nil
}

// sumOf is the sha256 of a step's file.
func sumOf(m artifact.Manifest, file string) string {
	f, _ := m.File(file)
	return f.SHA256
}
