package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
)

// benchmarks scores the untrained and the last policy on the held-out sets.
func (e *arm) benchmarks(ctx workflow.Context) error {
	if len(e.spec.Benchmarks.Agents) == 0 || e.stopping {
		return nil
	}
	e.where.Round = e.spec.Rounds
	e.status.Progress = activities.Progress{Round: e.spec.Rounds}
	if err := e.enter(ctx, StateBenchmarking); err != nil {
		return err
	}
	for _, agents := range e.spec.Benchmarks.Agents {
		if e.stopping || e.benchmarked(agents) {
			continue
		}
		err := e.try(ctx, benchmarkStep(agents), func(ctx workflow.Context) error {
			refs, err := e.benchmark(ctx, agents)
			if err != nil {
				return fmt.Errorf("benchmark with %d agents: %w", agents, err)
			}
			e.refs.Benchmarks = append(e.refs.Benchmarks, refs)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func benchmarkStep(agents int) string { return fmt.Sprintf("benchmark-%d", agents) }

// benchmarked says whether a set has been scored, or is to be left out.
func (e *arm) benchmarked(agents int) bool {
	return slices.Contains(e.status.Skipped, benchmarkStep(agents)) ||
		slices.ContainsFunc(e.refs.Benchmarks, func(b activities.BenchmarkRefs) bool { return b.Agents == agents })
}

func (e *arm) benchmark(ctx workflow.Context, agents int) (activities.BenchmarkRefs, error) {
	refs := activities.BenchmarkRefs{Agents: agents}
	where := e.where
	where.Again = len(slices.DeleteFunc(e.again(e.spec.Rounds), func(s string) bool { return s != benchmarkStep(agents) }))
	set, err := call(ctx, cpuWork, e.spec.Limits, fmt.Sprintf("the %d-agent set", agents), do.GenerateBenchmark,
		activities.BenchmarkInput{Where: where, Spec: e.spec, Agents: agents})
	if err != nil {
		return refs, err
	}
	refs.Set = set.Done
	last := e.refs.Rounds[len(e.refs.Rounds)-1]
	for _, p := range []struct {
		label  string
		policy activities.Done
		into   *activities.Done
	}{{"base", e.refs.Policy, &refs.Base}, {fmt.Sprintf("round %d", last.Round), last.Policy, &refs.Trained}} {
		scored, err := call(ctx, policyWait(e.spec), e.spec.Limits, fmt.Sprintf("%d agents: score %s", agents, p.label), do.Evaluate,
			activities.EvaluateInput{
				Where: where, Spec: e.spec, Policy: p.policy.ID, Dataset: set.ID,
				Label: p.label, Set: benchmarkStep(agents),
			})
		if err != nil {
			return refs, err
		}
		*p.into = scored.Done
	}
	return refs, nil
}
