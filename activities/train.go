package activities

import (
	"context"
	"fmt"
	"strconv"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/policy"
)

// warmSizes is how many of the easiest sizes the untrained policy has imitated
// plans on.
const warmSizes = 3

// WarmStart makes the untrained policy: random weights that have imitated a few
// of the solver's plans on small sizes, so that the first round has signal.
func (a *Activities) WarmStart(ctx context.Context, in WarmStartInput) (Done, error) {
	e, err := a.playable(in.Spec)
	if err != nil {
		return Done{}, err
	}
	order := warmOrder(in.Spec, e)
	inputs := struct {
		Environment string    `json:"environment"`
		Policy      string    `json:"policy"`
		Order       env.Order `json:"order"`
		Epochs      int       `json:"epochs"`
		Seed        string    `json:"seed"`
	}{e.Version(), policy.Version, order, in.Spec.Trainer.WarmEpochs, orders.Seed(in.Spec, "base")}
	_, done, err := a.step(ctx, in.Where, "warm-start", inputs, func(ctx context.Context, _ experiment.StepID, report func(int, int, string)) ([]artifact.Body, error) {
		problems, err := draw(ctx, e, order)
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

// warmOrder asks for plans on the smallest sizes, at the environment's easy
// settings.
func warmOrder(spec experiment.Spec, e env.Environment) env.Order {
	space := e.Space()
	space.Sizes = space.Sizes[:min(warmSizes, len(space.Sizes))]
	c := curriculum.Uniform(space)
	for i := range c.Rows {
		for j, k := range space.Knobs {
			c.Rows[i].Knobs[j] = experiment.Knob{Name: k.Name, Value: k.Easy}
		}
	}
	return env.Order{
		Split: env.SplitTrain, Seed: orders.Seed(spec, "warm-start"), IDPrefix: "warm-", Agents: spec.Agents,
		Objective: spec.Objective, Samples: spec.Trainer.WarmStart, Curriculum: c,
	}
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
func (a *Activities) Train(ctx context.Context, in TrainInput) (Trained, error) {
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
	inputs := trainKey(in, e.Version(), dataSum, initSum)
	m, done, err := a.step(ctx, in.Where, "train", inputs, func(ctx context.Context, id experiment.StepID, report func(int, int, string)) ([]artifact.Body, error) {
		return a.train(ctx, id, policy.Config{
			Env: e, Problems: problems, Init: init, Spec: in.Spec.Trainer, Reward: in.Spec.Reward,
			Epochs: in.Spec.Epochs, Seed: inputs.Seed,
			Progress: func(p policy.Progress) {
				report(p.Step, p.Total, fmt.Sprintf("epoch %.1f of %d, reward %.2f, %.0f %% valid", p.Epoch, in.Spec.Epochs, p.Reward, 100*p.ValidRate))
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

// trainInputs is all that determines a trained policy.
type trainInputs struct {
	Environment string                 `json:"environment"`
	Policy      string                 `json:"policy"`
	Dataset     string                 `json:"dataset"` // sha256
	Init        string                 `json:"init"`    // sha256
	Epochs      int                    `json:"epochs"`
	Trainer     experiment.TrainerSpec `json:"trainer"`
	Reward      experiment.RewardSpec  `json:"reward"`
	Seed        string                 `json:"seed"`
}

// trainKey leaves out what changes how a training runs but not what it makes.
func trainKey(in TrainInput, environment, data, init string) trainInputs {
	t := in.Spec.Trainer
	t.SaveEvery, t.WarmStart, t.WarmEpochs = 0, 0, 0
	return trainInputs{
		environment, policy.Version, data, init, in.Spec.Epochs, t, in.Spec.Reward,
		orders.Seed(in.Spec, "train", strconv.Itoa(in.Where.Round)),
	}
}

// train resumes from the newest checkpoint that is whole.
func (a *Activities) train(ctx context.Context, id experiment.StepID, c policy.Config) ([]artifact.Body, error) {
	step, state, ok, err := a.Steps.LatestPartial(ctx, id)
	if err != nil {
		return nil, err
	}
	if ok {
		activity.GetLogger(ctx).Info("training goes on from a checkpoint", "step", id.String(), "optimizer_step", step)
		c.Resume = state
	}
	c.Save = func(step int, state []byte) error { return a.Steps.SavePartial(ctx, id, step, state) }
	out, err := policy.Train(ctx, c)
	if err != nil {
		return nil, err
	}
	training, err := artifact.JSON(FileTraining, out.Training)
	return []artifact.Body{artifact.Bytes(FilePolicy, out.Model.Marshal()), training}, err
}

// policy reads a step's policy. Sum stands for it in the keys of later steps.
func (a *Activities) policy(ctx context.Context, id experiment.StepID) (model *policy.Model, sum string, err error) {
	m, err := need(ctx, a.Steps, id)
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
