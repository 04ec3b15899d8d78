package env

import (
	"math"
	"testing"

	"floe/internal/experiment"
)

// paper is the reward with the paper's numbers.
func paper() experiment.RewardSpec {
	return experiment.RewardSpec{
		Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid",
	}
}

func TestAccuracyIsOptimumOverCostAboveAFloor(t *testing.T) {
	for name, c := range map[string]struct {
		optimum, cost int
		want          float64
	}{
		"optimal":                      {10, 10, 1},
		"a step more":                  {9, 10, 0.9},
		"twice the cost":               {10, 20, 0.5},
		"just above the floor":         {31, 100, 0.31},
		"at the floor":                 {3, 10, 0.3},
		"far below":                    {1, 1000, 0.3},
		"at home from the start":       {0, 0, 1},
		"moved though at home":         {0, 4, 0.3},
		"cheaper than a wrong optimum": {10, 8, 1},
	} {
		r := Score(paper(), RewardState{}, Verdict{Valid: true, Optimum: c.optimum, Cost: c.cost})
		if !near(r.Accuracy, c.want) {
			t.Errorf("%s: accuracy %v; want %v", name, r.Accuracy, c.want)
		}
	}
}

func TestLengthIsFreeThenFallsInAStraightLine(t *testing.T) {
	for tokens, want := range map[int]float64{
		0: 1, 1499: 1, 1500: 1,
		1501: 2595.0 / 2596, 2149: 0.75, 2798: 0.5, 3447: 0.25, 4095: 1.0 / 2596,
		4096: 0, 4097: 0, 7464: 0,
	} {
		r := Score(paper(), RewardState{}, Verdict{Valid: true, Optimum: 5, Cost: 5, Tokens: tokens})
		if !near(r.Length, want) {
			t.Errorf("%d tokens: length reward %v; want %v", tokens, r.Length, want)
		}
	}
}

func TestWithoutARoomBetweenTheLimitsThePenaltyIsAStep(t *testing.T) {
	spec := paper()
	spec.FreeTokens, spec.FullTokens = 100, 100
	for tokens, want := range map[int]float64{100: 1, 101: 0} {
		if r := Score(spec, RewardState{}, Verdict{Valid: true, Tokens: tokens}); r.Length != want {
			t.Errorf("%d tokens: length reward %v; want %v", tokens, r.Length, want)
		}
	}
}

func TestWeightsMoveFromLowToTopWithTheShareOfShortAnswers(t *testing.T) {
	for _, c := range []struct {
		state    RewardState
		accuracy float64
	}{
		{RewardState{}, 0.5},
		{RewardState{Answers: 8}, 0.5},
		{RewardState{Answers: 8, Within: 2}, 0.575},
		{RewardState{Answers: 8, Within: 4}, 0.65},
		{RewardState{Answers: 8, Within: 8}, 0.8},
		{RewardState{}.Seen(4, 1).Seen(4, 3), 0.65},
	} {
		accuracy, length := Weights(paper(), c.state)
		if !near(accuracy, c.accuracy) || !near(length, 1-c.accuracy) {
			t.Errorf("%+v: weights %v and %v; want %v and the rest", c.state, accuracy, length, c.accuracy)
		}
	}
}

func TestRewardIsTheWeightedSum(t *testing.T) {
	all := paper()
	all.LengthOf = "all"
	long := Verdict{Valid: true, Optimum: 5, Cost: 10, Tokens: 2798}
	failed := Verdict{Failed: []string{"parse"}, Optimum: 5, Tokens: 100}
	for name, c := range map[string]struct {
		spec  experiment.RewardSpec
		state RewardState
		v     Verdict
		want  Reward
	}{
		"best, at the start":           {paper(), RewardState{}, Verdict{Valid: true, Optimum: 5, Cost: 5}, Reward{1, 1, 1}},
		"best, in the end":             {paper(), RewardState{4, 4}, Verdict{Valid: true, Optimum: 5, Cost: 5}, Reward{1, 1, 1}},
		"worse and long, at the start": {paper(), RewardState{}, long, Reward{0.5, 0.5, 0.5}},
		"worse and short":              {paper(), RewardState{4, 4}, Verdict{Valid: true, Optimum: 5, Cost: 10}, Reward{0.6, 0.5, 1}},
		"dear and too long":            {paper(), RewardState{4, 4}, Verdict{Valid: true, Optimum: 1, Cost: 10, Tokens: 5000}, Reward{0.24, 0.3, 0}},
		"invalid earns nothing":        {paper(), RewardState{4, 4}, failed, Reward{}},
		"unless length is of all":      {all, RewardState{4, 4}, failed, Reward{0.2, 0, 1}},
		"valid, length of all":         {all, RewardState{}, long, Reward{0.5, 0.5, 0.5}},
	} {
		got := Score(c.spec, c.state, c.v)
		if !near(got.Total, c.want.Total) || !near(got.Accuracy, c.want.Accuracy) || !near(got.Length, c.want.Length) {
			t.Errorf("%s: %+v; want %+v", name, got, c.want)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
