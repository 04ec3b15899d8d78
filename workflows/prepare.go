package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
)

// prepare registers the experiment and measures the untrained policy.
func (e *arm) prepare(ctx workflow.Context) error {
	e.where.Round = -1
	for _, piece := range []struct {
		step string
		done bool
		do   func(workflow.Context) error
	}{
		{"register", e.registered, e.register},
		{"untrained policy", e.refs.Policy.ID.Key != "", e.warmStart},
		{"validation set", e.refs.Validation.ID.Key != "", e.validationSet},
		{"validate", e.status.Base != nil, e.validateBase},
	} {
		if piece.done {
			continue
		}
		if err := e.try(ctx, piece.step, piece.do); err != nil {
			return err
		}
	}
	if len(e.refs.Rounds) > 0 {
		return nil
	}
	return e.publish(ctx, StateRunning)
}

func (e *arm) register(ctx workflow.Context) (err error) {
	e.refs.Curriculum, err = call(ctx, shortWork, e.spec.Limits, "register; round 0's curriculum", do.Prepare,
		activities.PrepareInput{Where: e.where, Spec: e.spec, RunID: e.runID, Fork: e.input.Fork})
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if f := e.input.Fork; f != nil && !e.forked {
		e.refs, e.forked = f.Refs, true
		for i, r := range f.Figures {
			e.status.Done = append(e.status.Done, RoundFigures{i, r.Rates, r.Outcome})
		}
	}
	e.registered = true
	return nil
}

func (e *arm) warmStart(ctx workflow.Context) (err error) {
	w := jobWork
	if e.spec.Trainer.TrainsModel() {
		w = cpuWork // it is only named
	}
	e.refs.Policy, err = call(ctx, w, e.spec.Limits, "the untrained policy", do.WarmStart,
		activities.WarmStartInput{Where: e.where, Spec: e.spec})
	if err != nil {
		return fmt.Errorf("untrained policy: %w", err)
	}
	return nil
}

func (e *arm) validationSet(ctx workflow.Context) error {
	set, err := call(ctx, cpuWork, e.spec.Limits, "the validation set", do.GenerateValidation,
		activities.ValidationInput{Where: e.where, Spec: e.spec})
	if err != nil {
		return fmt.Errorf("validation set: %w", err)
	}
	e.refs.Validation = set.Done
	return nil
}

func (e *arm) validateBase(ctx workflow.Context) error {
	scored, err := call(ctx, policyWait(e.spec), e.spec.Limits, "validate the untrained policy", do.Evaluate, activities.EvaluateInput{
		Where: e.where, Spec: e.spec, Policy: e.refs.Policy.ID, Dataset: e.refs.Validation.ID, Label: "base", Set: "validation",
	})
	if err != nil {
		return fmt.Errorf("validate the untrained policy: %w", err)
	}
	e.refs.Base, e.base, e.status.Base = scored.Done, scored.Rates, &scored.Rates
	return nil
}
