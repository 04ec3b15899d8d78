package policy_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"floe/internal/policy"
)

func TestResumedTrainingIsTheUndisturbedOne(t *testing.T) {
	c := config(t, 2)
	c.Spec.KL = 0.01
	states := map[int][]byte{}
	c.Save = func(step int, state []byte) error {
		states[step] = bytes.Clone(state)
		return nil
	}
	whole := train(t, c)
	if len(states) != 14 {
		t.Fatalf("%d saves; want one for each of 14 steps", len(states))
	}
	for _, step := range []int{1, 7, 10} {
		c.Resume = states[step]
		again := train(t, c)
		if !bytes.Equal(again.Model.Marshal(), whole.Model.Marshal()) {
			t.Errorf("resumed after step %d: other weights", step)
		}
		if !reflect.DeepEqual(again.Training, whole.Training) {
			t.Errorf("resumed after step %d: training %+v; want %+v", step, again.Training, whole.Training)
		}
	}
}

func TestStateIsRefusedByAnotherTraining(t *testing.T) {
	saved := config(t, 1)
	saved.Spec.SaveEvery = 3
	var state []byte
	saved.Save = func(_ int, s []byte) error { state = s; return nil }
	train(t, saved)
	for name, change := range map[string]func(*policy.Config){
		"another seed":     func(c *policy.Config) { c.Seed = "other" },
		"another rate":     func(c *policy.Config) { c.Spec.LearningRate = 0.001 },
		"another reward":   func(c *policy.Config) { c.Reward.Floor = 0.2 },
		"other tasks":      func(c *policy.Config) { c.Problems = corridors(t, 100, "other") },
		"another start":    func(c *policy.Config) { c.Init = train(t, config(t, 1)).Model },
		"more epochs":      func(c *policy.Config) { c.Epochs = 2 },
		"a damaged state":  func(c *policy.Config) { c.Resume = flip(state, len(state)/2) },
		"half a state":     func(c *policy.Config) { c.Resume = state[:len(state)/2] },
		"an empty state":   func(c *policy.Config) { c.Resume = []byte{} },
		"a policy instead": func(c *policy.Config) { c.Resume = c.Init.Marshal() },
	} {
		c := config(t, 1)
		c.Resume = state
		change(&c)
		if _, err := policy.Train(t.Context(), c); err == nil || !strings.Contains(err.Error(), "resume: ") {
			t.Errorf("%s: error %v; want one about resuming", name, err)
		}
	}
	saved.Spec.SaveEvery, saved.Resume = 5, state
	train(t, saved) // saving more or less often is the same training
}

func flip(file []byte, at int) []byte {
	file = bytes.Clone(file)
	file[at] ^= 0x10
	return file
}
