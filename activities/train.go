package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/plan"
	"floe/internal/policy"
)

// WarmStart makes the untrained policy: random weights that have imitated a few
// of the solver's plans on small sizes, so that the first round has signal.
//
// Where a language model is trained, the untrained policy is that model as it is.
func (a *Activities) WarmStart(ctx context.Context, in WarmStartInput) (Done, error) {
	if in.Spec.Trainer.TrainsModel() {
		return a.baseModel(ctx, in)
	}
	e, err := a.playable(in.Spec)
	if err != nil {
		return Done{}, err
	}
	inputs := plan.WarmStartOf(in.Spec, e)
	_, done, err := a.step(ctx, in.Where, in.Spec, plan.KindWarmStart, inputs, func(ctx context.Context, _ *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		problems, err := draw(ctx, e, inputs.Order)
		if err != nil {
			return nil, err
		}
		model, err := policy.Base(ctx, e, problems, in.Spec.Trainer, inputs.Seed, func(done, total int) { report(done, total, "imitating plans") })
		if err != nil {
			return nil, err
		}
		return []artifact.Body{artifact.Bytes(FilePolicy, model.Marshal())}, nil
	})
	return done, err
}

func draw(ctx context.Context, e env.Environment, o env.Order) ([]env.Problem, error) {
	if o.Samples == 0 {
		return nil, nil
	}
	tasks, _, err := env.Tasks(ctx, e, o, func(int, int) {})
	if err != nil {
		return nil, err
	}
	problems := make([]env.Problem, len(tasks))
	for i, t := range tasks {
		if problems[i], err = e.Open(t); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// Train trains a policy on a round's dataset. It saves its state as it goes, and
// an attempt that finds a saved state goes on from there: the result is the
// same, bit for bit.
//
// A language model is trained as a job, see trainModel.
func (a *Activities) Train(ctx context.Context, in TrainInput) (Trained, error) {
	if in.Spec.Trainer.TrainsModel() {
		return a.trainModel(ctx, in)
	}
	e, err := a.playable(in.Spec)
	if err != nil {
		return Trained{}, err
	}
	problems, dataSum, err := a.dataset(ctx, e, in.Dataset)
	if err != nil {
		return Trained{}, classify(ctx, err)
	}
	init, initSum, err := a.policy(ctx, in.Init)
	if err != nil {
		return Trained{}, classify(ctx, err)
	}
	inputs := plan.TrainOf(in.Spec, e, in.Where.Round, dataSum, initSum)
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindTrain, inputs, func(ctx context.Context, h *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		return a.train(ctx, h, policy.Config{
			Env: e, Problems: problems, Init: init, Spec: in.Spec.Trainer, Reward: in.Spec.Reward,
			Epochs: in.Spec.Epochs, Seed: inputs.Seed,
			Progress: func(p policy.Progress) {
				report(p.Step, p.Total, fmt.Sprintf("epoch %.1f of %d, reward %.2f, %s valid", p.Epoch, in.Spec.Epochs, p.Reward, experiment.Percent(p.ValidRate)))
			},
		})
	})
	if err != nil {
		return Trained{}, err
	}
	if err := a.Steps.DropPartials(ctx, m.ID); err != nil {
		activity.GetLogger(ctx).Warn("checkpoints of a finished training were not removed", "step", m.ID.String(), "error", err)
	}
	var t experiment.Training
	if err := a.Steps.ReadJSON(ctx, m, FileTraining, &t); err != nil {
		return Trained{}, classify(ctx, err)
	}
	return Trained{Done: done, Steps: t.Steps, Rollouts: t.Rollouts, Decisions: t.Decisions}, nil
}

// train resumes from the newest checkpoint that is whole.
func (a *Activities) train(ctx context.Context, h *artifact.Hold, c policy.Config) ([]artifact.Body, error) {
	step, state, ok, err := a.Steps.LatestPartial(ctx, h.ID())
	if err != nil {
		return nil, err
	}
	if ok {
		activity.GetLogger(ctx).Info("training resumes from a checkpoint", "step", h.ID().String(), "optimizer_step", step)
		c.Resume = state
		kept(ctx, step)
	}
	c.Save = func(step int, state []byte) error {
		if err := h.SavePartial(ctx, step, state); err != nil {
			return err
		}
		kept(ctx, step)
		return nil
	}
	out, err := policy.Train(ctx, c)
	if err != nil {
		return nil, err
	}
	training, err := artifact.JSON(FileTraining, out.Training)
	return []artifact.Body{artifact.Bytes(FilePolicy, out.Model.Marshal()), training}, err
}

// policy reads a step's policy. Sum stands for it in the keys of later steps.
func (a *Activities) policy(ctx context.Context, id experiment.StepID) (model *policy.Model, sum string, err error) {
	m, err := plan.Need(ctx, a.Steps, id)
	if err != nil {
		return nil, "", err
	}
	body, err := a.Steps.Read(ctx, m, FilePolicy)
	if err != nil {
		return nil, "", err
	}
	model, err = policy.Load(body)
	if err != nil {
		return nil, "", badInput(fmt.Errorf("policy of %s: %w", id, err))
	}
	return model, sumOf(m, FilePolicy), nil
}
