package main

import (
	"context"
	"slices"
	"strings"
)

// loggedSteps are steps that every experiment comes to.
var loggedSteps = []string{"prepare", "untrained policy", "validation set", "validate", "generate", "train", "design", "publish"}

// checkLogStep refuses a --step that no step of an experiment has in its name. One
// that is followed may come to its benchmarks yet.
func (a *app) checkLogStep(ctx context.Context, name, step string, follow bool) error {
	if step == "" || matchesStep(loggedSteps, step) || follow && strings.HasPrefix(step, "benchmark-") {
		return nil
	}
	all, err := a.attemptDocs(ctx, name)
	if err != nil {
		return err
	}
	steps := slices.Clone(loggedSteps)
	for _, at := range all {
		if !slices.Contains(steps, at.Step) {
			steps = append(steps, at.Step)
		}
	}
	if matchesStep(steps, step) {
		return nil
	}
	return fail(exitUsage, "--step is %q; want one of %s's steps: %s", step, name, strings.Join(steps, ", "))
}

func matchesStep(steps []string, step string) bool {
	return slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, step) })
}
