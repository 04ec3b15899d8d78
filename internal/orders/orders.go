// Package orders says which sets an experiment draws: the orders behind a round's
// training samples, the validation set and the benchmarks. The steps of a run and
// the command line draw from the same orders, so a set can be made again from the
// experiment's file alone.
package orders

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Training asks for a round's samples.
func Training(spec experiment.Spec, round int, c experiment.Curriculum) env.Order {
	number := strconv.Itoa(round)
	return env.Order{
		Split: env.SplitTrain, Seed: Seed(spec, "train", number), IDPrefix: "r" + number + "-",
		Agents: spec.Agents, Objective: spec.Objective, Samples: spec.Samples, Curriculum: c,
	}
}

// Validation asks for the fixed validation set: the same number of instances for
// every size.
func Validation(spec experiment.Spec) env.Order {
	v := spec.Validation
	rows := make([]experiment.Row, len(v.Sizes))
	for i, size := range v.Sizes {
		rows[i] = experiment.Row{Size: size, DataRatio: 1 / float64(len(v.Sizes)), Knobs: v.Knobs}
	}
	return env.Order{
		Split: env.SplitValidation, Seed: Seed(spec, "validation"), IDPrefix: "val-",
		Agents: spec.Agents, Objective: spec.Objective, Samples: v.Instances * len(v.Sizes),
		Curriculum: experiment.Curriculum{Rows: rows},
	}
}

// Benchmark asks for the held-out set with this many agents. It is the same for
// all experiments with as many instances and the same objective.
func Benchmark(spec experiment.Spec, e env.Environment, agents int) []env.Order {
	return e.Benchmark(agents, spec.Benchmarks.Instances, spec.Objective)
}

// warmSizes is how many of the easiest sizes the untrained policy has imitated
// plans on.
const warmSizes = 3

// WarmStart asks for the plans that the untrained policy imitates: on the
// smallest sizes, at the environment's easy settings.
func WarmStart(spec experiment.Spec, e env.Environment) env.Order {
	space := e.Space()
	space.Sizes = space.Sizes[:min(warmSizes, len(space.Sizes))]
	c := curriculum.Uniform(space)
	for i := range c.Rows {
		for j, k := range space.Knobs {
			c.Rows[i].Knobs[j] = experiment.Knob{Name: k.Name, Value: k.Easy}
		}
	}
	return env.Order{
		Split: env.SplitTrain, Seed: Seed(spec, "warm-start"), IDPrefix: "warm-", Agents: spec.Agents,
		Objective: spec.Objective, Samples: spec.Trainer.WarmStart, Curriculum: c,
	}
}

// FirstCurriculum is round 0's: the given one as it stands, or a draw that is
// moved to what can be generated.
func FirstCurriculum(spec experiment.Spec, e env.Environment) (experiment.Curriculum, error) {
	if spec.Curriculum != nil {
		return *spec.Curriculum, nil
	}
	drawn := curriculum.Random(e.Space(), experiment.Rand(Seed(spec, "curriculum", "0")))
	fit, _, err := curriculum.Fit(drawn, e.Space(), curriculum.Feasible(e, Training(spec, 0, drawn)))
	if err != nil {
		return fit, fmt.Errorf("draw round 0's curriculum: %w", err)
	}
	return fit, nil
}

// Seed names a stream of draws. The experiment's name is not part of it: equal
// specs under two names draw the same, and can share what they make.
func Seed(spec experiment.Spec, parts ...string) string {
	var name strings.Builder
	name.WriteString("seed-" + strconv.FormatInt(spec.Seed, 10))
	for _, p := range parts {
		name.WriteString("/" + p)
	}
	return name.String()
}

// Fill draws the tasks of orders, one order after the other, as one set with one
// record. It gives them to take one by one, as env.Environment's Generate does.
func Fill(ctx context.Context, e env.Environment, orders []env.Order, take func(env.Task) error, report func(done, total int)) (experiment.Conformance, error) {
	total, before := 0, 0
	for _, o := range orders {
		total += o.Samples
	}
	var all experiment.Conformance
	for _, o := range orders {
		c, err := e.Generate(ctx, o, take, func(done, _ int) { report(before+done, total) })
		if err != nil {
			return experiment.Conformance{}, err
		}
		all.Requested += c.Requested
		all.Realised += c.Realised
		all.Repeats += c.Repeats
		all.Rows = append(all.Rows, c.Rows...)
		before += o.Samples
	}
	return all, nil
}
