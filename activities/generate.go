package activities

import (
	"context"
	"fmt"
	"strconv"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Generate draws a round's training set from its curriculum.
func (a *Activities) Generate(ctx context.Context, in GenerateInput) (Dataset, error) {
	c, err := load[experiment.Curriculum](ctx, a.Steps, in.Curriculum, FileCurriculum)
	if err != nil {
		return Dataset{}, classify(ctx, err)
	}
	return a.generate(ctx, in.Where, in.Spec, "generate", []env.Order{trainingOrder(in.Spec, in.Where.Round, c)})
}

// trainingOrder asks for a round's samples.
func trainingOrder(spec experiment.Spec, round int, c experiment.Curriculum) env.Order {
	number := strconv.Itoa(round)
	return env.Order{
		Split: env.SplitTrain, Seed: seed(spec, "train", number), IDPrefix: "r" + number + "-",
		Agents: spec.Agents, Objective: spec.Objective, Samples: spec.Samples, Curriculum: c,
	}
}

// GenerateValidation draws the fixed validation set: the same number of
// instances for every size.
func (a *Activities) GenerateValidation(ctx context.Context, in ValidationInput) (Dataset, error) {
	v := in.Spec.Validation
	rows := make([]experiment.Row, len(v.Sizes))
	for i, size := range v.Sizes {
		rows[i] = experiment.Row{Size: size, DataRatio: 1 / float64(len(v.Sizes)), Knobs: v.Knobs}
	}
	return a.generate(ctx, in.Where, in.Spec, "validation-set", []env.Order{{
		Split: env.SplitValidation, Seed: seed(in.Spec, "validation"), IDPrefix: "val-",
		Agents: in.Spec.Agents, Objective: in.Spec.Objective, Samples: v.Instances * len(v.Sizes),
		Curriculum: experiment.Curriculum{Rows: rows},
	}})
}

// GenerateBenchmark draws a held-out set. It is the same for all experiments.
func (a *Activities) GenerateBenchmark(ctx context.Context, in BenchmarkInput) (Dataset, error) {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return Dataset{}, badInput(err)
	}
	orders := e.Benchmark(in.Agents, in.Spec.Benchmarks.Instances, in.Spec.Objective)
	return a.generate(ctx, in.Where, in.Spec, "benchmark-set", orders)
}

// generate fills orders and stores them as one dataset.
func (a *Activities) generate(ctx context.Context, where Where, spec experiment.Spec, step string, orders []env.Order) (Dataset, error) {
	e, err := a.Environment(spec.Environment)
	if err != nil {
		return Dataset{}, badInput(err)
	}
	for _, o := range orders {
		if err := e.Validate(o); err != nil {
			return Dataset{}, badInput(err)
		}
	}
	inputs := struct {
		Environment string      `json:"environment"`
		Orders      []env.Order `json:"orders"`
	}{e.Version(), orders}
	m, done, err := a.step(ctx, where, step, inputs, func(ctx context.Context, _ experiment.StepID, report func(int, int, string)) ([]artifact.Body, error) {
		return fill(ctx, e, orders, report)
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

func fill(ctx context.Context, e env.Environment, orders []env.Order, report func(int, int, string)) ([]artifact.Body, error) {
	total, before := 0, 0
	for _, o := range orders {
		total += o.Samples
	}
	var tasks []env.Task
	var all experiment.Conformance
	for _, o := range orders {
		drawn, c, err := e.Generate(ctx, o, func(done, _ int) { report(before+done, total, "samples") })
		if err != nil && ctx.Err() == nil {
			return nil, badInput(err) // the same order fails the same way every time
		}
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, drawn...)
		all.Requested += c.Requested
		all.Realised += c.Realised
		all.Repeats += c.Repeats
		all.Rows = append(all.Rows, c.Rows...)
		before += o.Samples
	}
	data, err := artifact.JSONLines(FileDataset, tasks)
	if err != nil {
		return nil, err
	}
	conformance, err := artifact.JSON(FileConformance, all)
	return []artifact.Body{data, conformance}, err
}

// dataset reads a set and opens its tasks. Sum is the sha256 of its file, which
// stands for it in the keys of later steps.
func (a *Activities) dataset(ctx context.Context, e env.Environment, id experiment.StepID) (problems []env.Problem, sum string, err error) {
	m, err := need(ctx, a.Steps, id)
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
