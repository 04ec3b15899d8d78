package policy

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Result is a finished round.
type Result struct {
	Model    *Model
	Training experiment.Training
}

// Train runs one round. A training that was stopped at any save and resumed
// gives the same bytes as one that was not disturbed. When ctx ends, so does
// Train, inside the step under way, with an error that wraps ctx.Err(). A step
// whose gradient is not finite is an error, and nothing of it is saved.
func Train(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, fmt.Errorf("train policy: %w", err)
	}
	t, err := start(c)
	if err != nil {
		return Result{}, fmt.Errorf("train policy: %w", err)
	}
	for t.step < t.total {
		if err := t.advance(ctx); err != nil {
			return Result{}, fmt.Errorf("train policy, step %d of %d: %w", t.step+1, t.total, err)
		}
		if err := t.save(); err != nil {
			return Result{}, fmt.Errorf("train policy: save after step %d: %w", t.step, err)
		}
	}
	return t.result(), nil
}

// trainer is a round under way.
type trainer struct {
	Config
	state
	id       string
	perEpoch int   // steps
	total    int   // steps
	order    []int // of the tasks, in the epoch under way
	crew     *crew
	regulariser

	mu   sync.Mutex
	told Progress
}

// start begins a round, or goes on with a saved one.
func start(c Config) (*trainer, error) {
	id, err := c.identity()
	if err != nil {
		return nil, err
	}
	t := &trainer{Config: c, id: id, regulariser: regulariser{kl: c.Spec.KL, entropy: c.Spec.Entropy}}
	t.perEpoch = (len(c.Problems) + c.Spec.Batch - 1) / c.Spec.Batch
	t.total = t.perEpoch * c.Epochs
	t.state = newState(c.Init.clone())
	if c.Resume != nil {
		if t.state, err = loadState(c.Resume, id); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
		if t.step < 0 || t.step > t.total {
			return nil, fmt.Errorf("resume: step %d of %d", t.step, t.total)
		}
	}
	var anchor *Model
	if c.Spec.KL > 0 {
		anchor = c.Init
	}
	t.crew = newCrew(t.model, anchor, c.Spec.Temperature)
	t.told = Progress{Step: t.step, Total: t.total, Answers: t.answers, Epoch: t.epochs()}
	return t, nil
}

// advance makes one optimizer step.
func (t *trainer) advance(ctx context.Context) error {
	batch := t.batch()
	sum, err := t.crew.gather(ctx, len(batch), func(tree *tree, i int, g *layers) (tally, error) {
		part, err := t.compare(tree, t.Problems[batch[i]], i, g)
		t.tell(part)
		return part, err
	})
	if err != nil {
		return err
	}
	norm, err := t.crew.climb(ctx, t.opt, sum.decisions, t.Spec.ClipNorm, t.Spec.LearningRate)
	if err != nil {
		return err
	}
	t.record(sum, norm)
	return nil
}

// epochs is how many passes over the data are done.
func (t *trainer) epochs() float64 { return float64(t.step) / float64(t.perEpoch) }

// batch is the next step's tasks. An epoch's last one may be smaller.
func (t *trainer) batch() []int {
	epoch, place := t.step/t.perEpoch, t.step%t.perEpoch
	if t.order == nil || place == 0 {
		t.order = order(len(t.Problems), t.Seed, "order", epoch)
	}
	first := place * t.Spec.Batch
	return t.order[first:min(first+t.Spec.Batch, len(t.order))]
}

// compare is the lesson of GRPO: it samples a group of answers to a task, and
// adds the gradient that moves the policy from the worse to the better.
func (t *trainer) compare(tree *tree, task env.Problem, place int, g *layers) (tally, error) {
	if err := tree.plant(task); err != nil {
		return tally{}, err
	}
	rng := experiment.Rand(t.Seed, "rollouts", strconv.Itoa(t.step), strconv.Itoa(place))
	if err := tree.sample(t.Spec.Rollouts, rng); err != nil {
		return tally{}, err
	}
	part := tree.grade(t.Reward, t.model.reward)
	if part.spread > 0 || !t.none() {
		tree.differentiate(g, t.regulariser)
	}
	return part, nil
}

// record counts a finished step.
func (t *trainer) record(sum tally, norm float64) {
	t.step++
	t.answers += sum.answers
	t.decisions += sum.decisions
	accuracy, length := env.Weights(t.Reward, t.model.reward)
	t.model.reward = t.model.reward.Seen(sum.answers, sum.within)
	answers, decisions := float64(sum.answers), float64(max(sum.decisions, 1))
	point := experiment.TrainingPoint{
		Step:      t.step,
		Epoch:     t.epochs(),
		Reward:    sum.reward / answers,
		ValidRate: float64(sum.valid) / answers,
		Spread:    float64(sum.spread) / float64(sum.groups),
		Entropy:   sum.entropy / decisions,
		GradNorm:  norm,
		WeightAcc: accuracy,
		WeightLen: length,
	}
	t.curve.add(point, t.total)
	t.told = Progress{Step: t.step, Total: t.total, Answers: t.answers, Epoch: point.Epoch, Reward: point.Reward, ValidRate: point.ValidRate}
	t.tell(tally{})
}

// tell reports progress after another part of a step.
func (t *trainer) tell(part tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told.Answers += part.answers
	if t.Progress != nil {
		t.Progress(t.told)
	}
}

func (t *trainer) save() error {
	if t.Save == nil || t.step%t.Spec.SaveEvery != 0 {
		return nil
	}
	file, err := t.marshal(t.id)
	if err != nil {
		return err
	}
	return t.Save(t.step, file)
}

func (t *trainer) result() Result {
	return Result{Model: t.model, Training: experiment.Training{
		Trainer:   t.Spec.Kind,
		Samples:   len(t.Problems),
		Epochs:    t.Epochs,
		Steps:     t.total,
		Rollouts:  t.answers,
		Decisions: t.decisions,
		Curve:     t.curve.Points,
	}}
}
