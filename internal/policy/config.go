package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Config is one round of training.
type Config struct {
	Env      env.Playable
	Problems []env.Problem
	Init     *Model // where the round starts; it is not changed
	Spec     experiment.TrainerSpec
	Reward   experiment.RewardSpec
	Epochs   int
	Seed     string // name of all random draws

	// Resume is what Save was given, to go on from there; nil starts anew. The
	// rest of the configuration must be what it was.
	Resume []byte
	// Save keeps the training's state every Spec.SaveEvery steps; nil keeps none.
	// Training waits for it, and ends with its error.
	Save func(step int, state []byte) error
	// Progress is called after every task of a batch, from one goroutine at a
	// time; nil is told nothing. It should return at once.
	Progress func(Progress)
}

// Progress says how far a training is. Reward and ValidRate are those of the
// latest finished step, 0 before the first.
type Progress struct {
	Step, Total int   // optimizer steps finished, and of the whole round
	Answers     int64 // sampled so far; grows inside a step too
	Epoch       float64
	Reward      float64 // mean over the step's answers
	ValidRate   float64
}

// check says everything that makes a training impossible.
func (c *Config) check() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(len(c.Problems) == 0, "no problems to train on")
	bad(c.Epochs < 1, "%d epochs; want 1 or more", c.Epochs)
	bad(c.Spec.Rollouts < 2, "%d rollouts; want 2 or more, as an answer is compared with its group", c.Spec.Rollouts)
	bad(c.Spec.Batch < 1, "batch of %d instances; want 1 or more", c.Spec.Batch)
	bad(c.Save != nil && c.Spec.SaveEvery < 1, "save every %d steps; want 1 or more", c.Spec.SaveEvery)
	bad(!amount(c.Spec.Temperature) || c.Spec.Temperature == 0, "temperature %v; want more than 0", c.Spec.Temperature)
	for _, s := range []struct {
		name  string
		value float64
	}{
		{"learning rate", c.Spec.LearningRate}, {"clip norm", c.Spec.ClipNorm}, {"kl", c.Spec.KL}, {"entropy", c.Spec.Entropy},
	} {
		bad(!amount(s.value), "%s %v; want 0 or more", s.name, s.value)
	}
	return errors.Join(append(errs, c.checkShapes())...)
}

func amount(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

func (c *Config) checkShapes() error {
	if c.Env == nil || c.Init == nil {
		return errors.New("no environment or no policy to start from")
	}
	if c.Init.features != c.Env.Features() || c.Init.actions != c.Env.Actions() {
		return fmt.Errorf("the policy has %d features and %d actions; environment %s has %d and %d",
			c.Init.features, c.Init.actions, c.Env.Name(), c.Env.Features(), c.Env.Actions())
	}
	return nil
}

// identity digests all that determines the weights, so that a saved state is
// resumed only by the training that saved it.
func (c *Config) identity() (string, error) {
	h := sha256.New()
	spec := c.Spec
	spec.SaveEvery = 0 // changes nothing
	out := json.NewEncoder(h)
	err := out.Encode([]any{Version, c.Env.Name(), c.Env.Version(), spec, c.Reward, c.Epochs, c.Seed, sha256.Sum256(c.Init.Marshal())})
	for _, p := range c.Problems {
		if err == nil {
			err = out.Encode(p.Task())
		}
	}
	if err != nil {
		return "", fmt.Errorf("digest the configuration: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
