package sweep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/internal/experiment"
	"floe/internal/sweep"
)

func setting(field, value string) sweep.Setting {
	return sweep.Setting{Setting: experiment.Setting{Field: field, Value: value}}
}

func names(arms []sweep.Arm) string {
	var out []string
	for _, a := range arms {
		out = append(out, fmt.Sprintf("%s%v", a.Name, a.Seeds))
	}
	return strings.Join(out, " ")
}

func TestArmsAreCrossedWithTheMatrix(t *testing.T) {
	d := sweep.Declaration{
		Seeds: []int64{1, 2},
		Arms:  []sweep.Arm{{Name: "base"}, {Name: "big", Settings: []sweep.Setting{setting("samples", "9")}}},
		Matrix: []sweep.Axis{
			{Field: "designer.context", Values: []sweep.Setting{setting("designer.context", "V1"), setting("designer.context", "V2")}},
			{Field: "trainer.learning_rate", Values: []sweep.Setting{setting("trainer.learning_rate", "0.01")}},
		},
		Exclude: []sweep.Filter{{Arm: "big-v1-learning-rate-0-01", Settings: []sweep.Setting{setting("samples", "9")}}},
	}
	arms, faults := d.Expand()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := "base-v1-learning-rate-0-01[1 2] base-v2-learning-rate-0-01[1 2] big-v2-learning-rate-0-01[1 2]"
	if got := names(arms); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestWordsNameValues(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"designer.context", "V3", "v3"},
		{"designer.model", "Qwen/Qwen3-4B", "qwen-qwen3-4b"},
		{"trainer.rollouts", "16", "rollouts-16"},
		{"trainer.learning_rate", "1e-3", "learning-rate-1e-3"},
		{"share", "true", "share-true"},
		{"designer.model", "...", "model"},
	} {
		if got := sweep.Word(c.field, c.value); got != c.want {
			t.Errorf("%s = %s is called %q; want %q", c.field, c.value, got, c.want)
		}
	}
}

func TestAMatrixBeyondAllBoundsIsNotMultipliedOut(t *testing.T) {
	var d sweep.Declaration
	d.Seeds = []int64{0}
	for i := range 40 {
		axis := sweep.Axis{Field: fmt.Sprint(i)}
		for j := range 10 {
			axis.Values = append(axis.Values, setting(axis.Field, fmt.Sprint(j)))
		}
		d.Matrix = append(d.Matrix, axis)
	}
	if _, faults := d.Expand(); len(faults) != 1 || !strings.Contains(faults[0].Message, "want fewer") {
		t.Errorf("faults %v; want one that says there are too many cells", faults)
	}
}

func TestTheSumAlwaysAddsUp(t *testing.T) {
	states := []string{
		sweep.Waiting, sweep.Running, sweep.Paused, sweep.Approval, sweep.Attention, sweep.Done, sweep.Failed, sweep.Stopped, sweep.Cancelled, "unheard of",
	}
	rng := experiment.Rand("sweep", "tally")
	for range 200 {
		cells := make([]sweep.Cell, rng.IntN(30))
		for i := range cells {
			cells[i].State = states[rng.IntN(len(states))]
		}
		n := sweep.Count(cells)
		if n.Wanted != len(cells) || n.Wanted != n.Done+n.Running+n.Waiting+n.Failed+n.Stopped {
			t.Fatalf("%d cells give %+v", len(cells), n)
		}
	}
}

func TestACellIsLiveEndedOrWaiting(t *testing.T) {
	for _, state := range []string{sweep.Waiting, sweep.Running, sweep.Paused, sweep.Approval, sweep.Attention, sweep.Done, sweep.Failed, sweep.Stopped, sweep.Cancelled} {
		c := sweep.Cell{State: state}
		kinds := []bool{c.Live(), c.Ended(), state == sweep.Waiting}
		if n := len(slices.DeleteFunc(kinds, func(b bool) bool { return !b })); n != 1 {
			t.Errorf("a cell that is %s is of %d kinds; want one", state, n)
		}
	}
}

func TestAnArmIsGivenUpByItsMean(t *testing.T) {
	cells := []sweep.Cell{
		{Arm: 0, Round: 1, Start: new(0.4), Rate: new(0.3)},
		{Arm: 0, Round: 1, Start: new(0.4), Rate: new(0.45)},
		{Arm: 0, Round: 0, Start: new(0.4), Rate: new(0.1)},
		{Arm: 1, Round: 1, Start: new(0.4), Rate: new(0.1)},
		{Arm: 0, Round: -1, Start: new(0.4), Rate: new(0.4)},
	}
	for _, c := range []struct {
		rule experiment.SweepStop
		arm  int
		want bool
	}{
		{experiment.SweepStop{BelowStart: true, AfterRound: 1, Cells: 1}, 0, true},
		{experiment.SweepStop{BelowStart: true, AfterRound: 1, Cells: 1, Margin: 0.05}, 0, false},
		{experiment.SweepStop{BelowStart: true, AfterRound: 1, Cells: 3}, 0, false},
		{experiment.SweepStop{BelowStart: false, AfterRound: 1, Cells: 1}, 1, false},
		{experiment.SweepStop{BelowStart: true, AfterRound: 2, Cells: 1}, 1, false},
		{experiment.SweepStop{BelowStart: true, AfterRound: 0, Cells: 3, Margin: 0.1}, 0, true},
	} {
		if why := sweep.GivesUp(c.rule, sweep.Rates(cells, 2, c.rule.AfterRound)[c.arm]); (why != "") != c.want {
			t.Errorf("%+v, arm %d: %q; want given up: %t", c.rule, c.arm, why, c.want)
		}
	}
}

func TestLimitsCountJobsCallsAndCost(t *testing.T) {
	use := sweep.Need{Jobs: 4, Calls: 10}
	for _, c := range []struct {
		limits experiment.SweepLimits
		want   string
	}{
		{experiment.SweepLimits{}, ""},
		{experiment.SweepLimits{Jobs: 4, ModelCalls: 10}, ""},
		{experiment.SweepLimits{Jobs: 3}, "jobs: 4 of 3"},
		{experiment.SweepLimits{ModelCalls: 9}, "model calls: 10 of 9"},
		{experiment.SweepLimits{Cost: 8.9, PriceJob: 2, PriceCall: 0.1}, "cost: 9.00 of 8.90"},
		{experiment.SweepLimits{Cost: 9, PriceJob: 2, PriceCall: 0.1}, ""},
	} {
		if got := sweep.Exceeds(c.limits, use); got != c.want {
			t.Errorf("%+v: %q; want %q", c.limits, got, c.want)
		}
	}
}

func TestWhatACellNeedsAtMost(t *testing.T) {
	spec := experiment.Spec{Rounds: 3, Limits: experiment.LimitsSpec{ModelCalls: 100}}
	spec.Designer = experiment.DesignerSpec{Kind: "openai", Repairs: 2}
	if got, want := sweep.NeedOf(spec), (sweep.Need{Jobs: 4, Calls: 9}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	spec.Trainer.Kind = experiment.TrainerTRL
	if got := sweep.NeedOf(spec).Jobs; got != 3 {
		t.Errorf("%d trainings of a language model; want one a round, and no warm start", got)
	}
	spec.Limits.ModelCalls = 5
	if got := sweep.NeedOf(spec).Calls; got != 5 {
		t.Errorf("%d calls; want the experiment's own limit, 5", got)
	}
	spec.Designer.Kind = "fixed"
	if got := sweep.NeedOf(spec).Calls; got != 0 {
		t.Errorf("%d calls of a rule; want none", got)
	}
}

func TestEqualSpecsHaveEqualDigests(t *testing.T) {
	a := experiment.Spec{Name: "a", Seed: 1, Rounds: 3}
	b := experiment.Spec{Name: "b", Seed: 2, Rounds: 3}
	if sweep.Digest(a, 7) != sweep.Digest(b, 7) {
		t.Error("name and own seed count; want only the given seed and the rest")
	}
	if sweep.Digest(a, 7) == sweep.Digest(a, 8) {
		t.Error("the seed does not count")
	}
	b.Rounds++
	if sweep.Digest(a, 7) == sweep.Digest(b, 7) {
		t.Error("the rounds do not count")
	}
}
