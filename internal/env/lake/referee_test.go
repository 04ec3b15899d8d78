package lake

import (
	"slices"
	"strings"
	"testing"
)

// best is an optimal plan for crossing.
var best = Plan{{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {2, 2}}, {{2, 0}, {1, 0}, {0, 0}}}

func TestEveryCheckIsFoundAlone(t *testing.T) {
	for name, c := range map[string]struct{ answer, check, sentence string }{
		"unreadable":        {"right", "parse", "cannot read the answer, no path: no path of an agent found"},
		"cut off":           {line0 + "\nAgent 1: (2, 0) ->", "parse", "cannot read the answer, cut off: the text breaks off: agent 1: the text ends inside its path"},
		"a jump":            {"Agent 0: (0, 0) -> (0, 2) -> (1, 2) -> (2, 2)\n" + line1, "legal_moves", "agent 0 jumps (0, 0)-(0, 2) at step 1"},
		"a diagonal":        {"Agent 0: (0, 0) -> (0, 1) -> (1, 2) -> (2, 2)\n" + line1, "legal_moves", "agent 0 jumps (0, 1)-(1, 2) at step 2"},
		"a swap on the way": {"Agent 0: (0, 0) -> (1, 0) -> (2, 0) -> (2, 1) -> (2, 2)\nAgent 1: (2, 0) -> (2, 0) -> (2, 1) -> (2, 0) -> (1, 0) -> (0, 0)", "no_collision", "agents 0 and 1 swap (2, 0)-(2, 1) at step 3"},
		"a swap":            {"Agent 0: (0, 0) -> (0, 0) -> (1, 0) -> (2, 0) -> (2, 1) -> (2, 2)\nAgent 1: (2, 0) -> (1, 0) -> (0, 0)", "no_collision", "agents 0 and 1 swap (0, 0)-(1, 0) at step 2"},
		"into one at home": {
			line0 + " -> (2, 1) -> (2, 0) -> (1, 0) -> (0, 0) -> (1, 0) -> (2, 0) -> (2, 1) -> (2, 2)\n" + line1, "no_collision",
			"agents 0 and 1 are both at (0, 0) at step 9",
		},
		"not home":       {line0 + "\nAgent 1: (2, 0) -> (1, 0)", "reaches_goal", "agent 1 ends at (1, 0); its goal is (0, 0)"},
		"home and away":  {line0 + "\n" + line1 + " -> (1, 0)", "reaches_goal", "agent 1 ends at (1, 0); its goal is (0, 0)"},
		"from elsewhere": {line0 + "\nAgent 1: (1, 0) -> (1, 0) -> (0, 0)", "starts_at_start", "agent 1 starts at (1, 0); its start is (2, 0)"},
		"one missing":    {line0, "agent_count", "agent 1 has no path"},
		"one too many":   {canonical + "Agent 2: (0, 1)", "agent_count", "there are paths of agents that the task does not have; it has 2"},
		"through a hole": {"Agent 0: (0, 0) -> (0, 1) -> (1, 1) -> (2, 1) -> (2, 2)\n" + line1, "no_hole", "agent 0 is in the hole (1, 1) at step 2"},
		"off the map":    {line0 + "\nAgent 1: (2, 0) -> (2, -1) -> (1, -1) -> (1, 0) -> (0, 0)", "in_bounds", "agent 1 is off the map at (2, -1) at step 1"},
	} {
		t.Run(name, func(t *testing.T) {
			v := opened(t, crossing(), objectiveSum, 6).Judge(c.answer)
			if v.Valid || v.Optimal || v.Cost != 0 || !slices.Equal(v.Failed, []string{c.check}) {
				t.Errorf("verdict %+v; want only %s failed", v, c.check)
			}
			if len(v.Faults) == 0 || v.Faults[0] != c.sentence {
				t.Errorf("faults %q; want %q", v.Faults, c.sentence)
			}
			if v.Truncated != (name == "cut off") {
				t.Errorf("truncated = %v", v.Truncated)
			}
		})
	}
}

func TestChecksDoNotHideEachOther(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	v := p.Judge("Agent 0: (1, 1) -> (-1, 5) -> (2, 0)\nAgent 1: (0, 1) -> (2, 0)\nAgent 2: (0, 0)")
	want := []string{"legal_moves", "no_collision", "reaches_goal", "starts_at_start", "agent_count", "no_hole", "in_bounds"}
	if !slices.Equal(v.Failed, want) {
		t.Errorf("failed %q; want %q", v.Failed, want)
	}
}

func TestSentencesAreFewHoweverManyFaults(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	jumps := strings.Repeat(" -> (9, 9) -> (1, 1)", 1000)
	v := p.Judge("Agent 0: (1, 1)" + jumps + "\nAgent 1: (1, 1)" + jumps)
	if len(v.Failed) != 6 || len(v.Faults) > 6*sentencesPerCheck {
		t.Errorf("%d checks failed with %d sentences", len(v.Failed), len(v.Faults))
	}
}

func TestFollowingAndRotationAreLegal(t *testing.T) {
	in := Instance{
		N: 3, Grid: []string{"FFF", "FFF", "FFF"},
		Starts: []Cell{{0, 0}, {0, 1}, {1, 1}, {1, 0}},
		Goals:  []Cell{{0, 1}, {1, 1}, {1, 0}, {0, 0}},
	}
	v := opened(t, in, objectiveSum, 4).Judge(renderPlan(Plan{
		{{0, 0}, {0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}, {1, 0}}, {{1, 0}, {0, 0}},
	}))
	if !v.Valid || !v.Optimal || v.Cost != 4 {
		t.Errorf("verdict %+v; want an optimal rotation", v)
	}
}

func TestCostCountsUntilTheLastArrival(t *testing.T) {
	const rest = " -> (0, 0) -> (0, 0)"
	for name, c := range map[string]struct {
		answer        string
		sum, makespan int
	}{
		"optimal":                  {renderPlan(best), 6, 4},
		"a wait on the way":        {canonical, 7, 5},
		"rest on the goal is free": {line0 + "\n" + line1 + rest + rest, 7, 5},
		"leaving costs the rest":   {line0 + "\n" + line1 + rest + " -> (1, 0) -> (0, 0)" + rest, 11, 6},
	} {
		t.Run(name, func(t *testing.T) {
			sum := opened(t, crossing(), objectiveSum, 6).Judge(c.answer)
			makespan := opened(t, crossing(), objectiveMakespan, 4).Judge(c.answer)
			if !sum.Valid || sum.Cost != c.sum || makespan.Cost != c.makespan {
				t.Errorf("costs %d and %d (%v); want %d and %d", sum.Cost, makespan.Cost, sum.Faults, c.sum, c.makespan)
			}
			if sum.Optimal != (c.sum == 6) || makespan.Optimal != (c.makespan == 4) {
				t.Errorf("optimal = %v and %v", sum.Optimal, makespan.Optimal)
			}
		})
	}
}

func TestAPlanCheaperThanTheOptimumExposesTheTask(t *testing.T) {
	v := opened(t, crossing(), objectiveSum, 7).Judge(renderPlan(best))
	if !v.Valid || v.Optimal || len(v.Failed) > 0 {
		t.Errorf("verdict %+v; want valid, not optimal", v)
	}
	if len(v.Faults) != 1 || !strings.Contains(v.Faults[0], "the task is wrong") {
		t.Errorf("faults %q; want the task's", v.Faults)
	}
}

func TestTokensAreEstimatedByPieces(t *testing.T) {
	for text, want := range map[string]int{
		"":                           0,
		"(1, 2) -> ":                 7,
		"Agent 0: (1, 2)\n":          11,
		"a synchronous step":         4,
		"->->":                       1,
		"\n\n":                       1,
		"12 345":                     6,
		"é→":                         2,
		strings.Repeat("word ", 100): 100,
	} {
		if got := EstimateTokens(text); got != want {
			t.Errorf("%q has %d tokens; want %d", text, got, want)
		}
	}
}
