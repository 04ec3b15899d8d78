package designer_test

import (
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// pond is a made-up environment with the words of a small one.
func pond() env.Space {
	return env.Space{
		Sizes: []string{"3x3", "4x4", "10x10"},
		Knobs: []env.Knob{
			{Name: "hole_ratio", Doc: "Share of cells that are holes.", Min: 0, Max: 0.5, Default: 0.25, Easy: 0.1, Hard: 0.2, Tests: "valid"},
			{Name: "wait_ratio", Doc: "Share of tasks that need a wait.", Min: 0, Max: 1, Default: 0.25, Easy: 0.05, Hard: 0.2, Tests: "optimal"},
		},
	}
}

func row(size string, share, holes, waits float64) experiment.Row {
	return experiment.Row{Size: size, DataRatio: share, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: holes}, {Name: "wait_ratio", Value: waits}}}
}

func mix(rows ...experiment.Row) experiment.Curriculum { return experiment.Curriculum{Rows: rows} }

// The numbers of every round are found in no other round, so that a leak shows.
func rounds() []designer.RoundEvidence {
	return []designer.RoundEvidence{
		{
			Round:      0,
			Curriculum: mix(row("3x3", 0.6113, 0.4217, 0.8319), row("4x4", 0.2719, 0.3713, 0.6173), row("10x10", 0.1168, 0.0917, 0.0419)),
			Scorecard:  card("round 0", 97, 31, 17, 13, 7, 3, 2, 1),
			Training:   trained(0.1117, 0.1511, 0.71, 0.73),
			Rationale:  "Round zero failed mostly on 10x10.\nSo it gets easier.",
		},
		{
			Round:      1,
			Curriculum: mix(row("3x3", 0.25, 0.15, 0.2), row("4x4", 0.35, 0.1, 0.2), row("10x10", 0.4, 0.05, 0.1)),
			Scorecard:  card("round 1", 96, 60, 45, 44, 28, 12, 9, 6),
			Training:   trained(0.2229, 0.4443, 0.81, 0.62),
			Rationale:  "4x4 is at even odds, so it gets more.",
		},
		{
			Round:      2,
			Curriculum: mix(row("3x3", 0.15, 0.22, 0.3), row("4x4", 0.45, 0.12, 0.25), row("10x10", 0.4, 0.08, 0.15)),
			Scorecard:  card("round 2", 95, 83, 69, 64, 48, 23, 15, 11),
			Training:   trained(0.5553, 0.6661, 0.41, 0.38),
		},
	}
}

func trained(from, to, spreadFrom, spreadTo float64) experiment.Training {
	return experiment.Training{
		Trainer: "embedded", Samples: 4000, Epochs: 2, Steps: 250, Rollouts: 64000,
		Curve: []experiment.TrainingPoint{{Step: 1, Reward: from, Spread: spreadFrom}, {Step: 250, Reward: to, Spread: spreadTo}},
	}
}

// card takes valid and optimal counts of the three sizes from the arguments.
func card(policy string, n, v3, o3, v4, o4, v10, o10, truncated int) experiment.Scorecard {
	s := experiment.Scorecard{Policy: policy, Set: "validation", Checks: []string{"parse", "no_hole"}}
	for i, size := range []string{"3x3", "4x4", "10x10"} {
		valid, optimal := []int{v3, v4, v10}[i], []int{o3, o4, o10}[i]
		calm := n / 2
		s.Cells = append(s.Cells,
			experiment.Cell{
				Size: size, Group: "calm", N: calm, Valid: min(valid, calm), Optimal: min(optimal, calm), Truncated: truncated,
				Errors: []int{truncated, calm - min(valid, calm)}, Tokens: int64(n * (i + 1) * 37),
			},
			experiment.Cell{
				Size: size, Group: "busy", N: n - calm, Valid: valid - min(valid, calm), Optimal: optimal - min(optimal, calm),
				Errors: []int{0, n - calm - valid + min(valid, calm)}, Tokens: int64(n * (i + 1) * 41),
			},
		)
	}
	return s
}

// evidence is what is known after a round.
func evidence(round int) designer.Evidence {
	base := card("base", 94, 10, 8, 5, 4, 0, 0, 19)
	e := designer.Evidence{
		Space: pond(), Groups: []string{"calm", "busy"},
		Checks: []env.Check{{Name: "parse", Doc: "The answer can be read."}, {Name: "no_hole", Doc: "Nobody is in a hole."}},
		Round:  round, Rounds: 3, Epochs: 2, Samples: 4000,
		Trainer: experiment.TrainerSpec{Kind: "embedded", Rollouts: 8, Batch: 32, LearningRate: 0.002, ClipNorm: 1, Temperature: 1},
		Reward:  experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
		Base:    &base,
		History: rounds()[:round+1],
	}
	e.History[round].Rationale = ""
	return e
}
