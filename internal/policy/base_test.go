package policy_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/policy"
)

var warm = experiment.TrainerSpec{WarmStart: 60, WarmEpochs: 20}

func TestWarmStartImitatesTheSolver(t *testing.T) {
	problems := corridors(t, 100, "train")
	var done, total int
	m, err := policy.Base(t.Context(), corridor{}, problems, warm, "test", func(d, n int) { done, total = d, n })
	if err != nil {
		t.Fatal(err)
	}
	if cold, base := rate(t, newModel(t), 1, optimal), rate(t, m, 1, optimal); base < cold+0.1 {
		t.Errorf("optimal answers %.2f without and %.2f with a warm start; want more", cold, base)
	}
	if done != 1260 || total != 1260 {
		t.Errorf("progress ended at %d of %d; want 1260 of 1260: 60 plans solved and imitated 20 times", done, total)
	}
}

func TestBaseFollowsFromItsArguments(t *testing.T) {
	base := func(spec experiment.TrainerSpec, seed string) []byte {
		m, err := policy.Base(t.Context(), corridor{}, corridors(t, 100, "train"), spec, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.Marshal()
	}
	warm := experiment.TrainerSpec{WarmStart: 20, WarmEpochs: 2}
	first := base(warm, "a")
	if !bytes.Equal(first, base(warm, "a")) {
		t.Error("the same arguments gave another policy")
	}
	if bytes.Equal(first, base(warm, "b")) {
		t.Error("another seed gave the same policy")
	}
	tuned := warm
	tuned.LearningRate, tuned.Batch = 0.1, 7
	if !bytes.Equal(first, base(tuned, "a")) {
		t.Error("settings of GRPO changed the base policy")
	}
	if bytes.Equal(first, base(experiment.TrainerSpec{}, "a")) {
		t.Error("the warm start changed nothing")
	}
}

// misled has a demonstration that does not fit its task.
type misled struct {
	env.Problem
	actions []int
	err     error
}

func (m misled) Demonstration() ([]int, error) { return m.actions, m.err }

func TestBadDemonstrationsAreErrors(t *testing.T) {
	lost := errors.New("no way")
	for want, p := range map[string]misled{
		"ended after":           {actions: nil},
		"40 actions":            {actions: make([]int, 40)},
		"action 3; want one be": {actions: []int{3}},
		"no way":                {err: lost},
	} {
		p.Problem = corridors(t, 1, "train")[0]
		_, err := policy.Base(t.Context(), corridor{}, []env.Problem{p}, warm, "test", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "train-0") {
			t.Errorf("%+v: error %v; want the task's name and %q", p, err, want)
		}
	}
	if _, err := policy.Base(t.Context(), corridor{}, nil, warm, "test", nil); err == nil {
		t.Error("a warm start without problems went well; want an error")
	}
}

func TestCancelledBaseStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := policy.Base(ctx, corridor{}, corridors(t, 100, "train"), warm, "test", func(done, _ int) {
		if done == 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}
