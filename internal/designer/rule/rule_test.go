package rule_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/designer/rule"
	"floe/internal/env"
	"floe/internal/experiment"
)

func pond() env.Space {
	return env.Space{
		Sizes: []string{"3x3", "4x4", "5x5", "6x6"},
		Knobs: []env.Knob{
			{Name: "hole_ratio", Min: 0, Max: 0.5, Default: 0.25, Easy: 0.1, Hard: 0.2, Tests: "valid"},
			{Name: "wait_ratio", Min: 0, Max: 1, Default: 0.25, Easy: 0.05, Hard: 0.2, Tests: "optimal"},
		},
	}
}

// result is a size's valid and optimal count of n.
type result struct {
	size              string
	n, valid, optimal int
}

func card(results ...result) experiment.Scorecard {
	var s experiment.Scorecard
	for _, r := range results {
		s.Cells = append(s.Cells, experiment.Cell{Size: r.size, Group: "all", N: r.n, Valid: r.valid, Optimal: r.optimal})
	}
	return s
}

func design(t *testing.T, kind string, spec experiment.DesignerSpec, s experiment.Scorecard, seed string) (experiment.Transcript, error) {
	t.Helper()
	d, err := rule.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	spec.Kind, spec.Details = kind, "bookkeeping"
	if spec.Context == "" {
		spec.Context = "V1"
	}
	return designer.Design(t.Context(), d, spec, designer.Evidence{
		Space: pond(), Groups: []string{"all"}, Rounds: 3, Epochs: 2,
		History: []designer.RoundEvidence{{Curriculum: curriculum.Uniform(pond()), Scorecard: s}},
	}, designer.Limits{Seed: seed})
}

func must(t *testing.T, kind string, s experiment.Scorecard, seed string) experiment.Transcript {
	t.Helper()
	got, err := design(t, kind, experiment.DesignerSpec{}, s, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, repairs := curriculum.Project(got.Used, got.Used, pond(), 0); len(repairs) > 0 {
		t.Errorf("used is not legal: %q", repairs)
	}
	if got.Outcome != designer.OutcomeOK || !reflect.DeepEqual(got.Asked, got.Used) {
		t.Errorf("outcome %s, repairs %q", got.Outcome, got.Repairs)
	}
	return got
}

var steep = card(result{"3x3", 50, 46, 40}, result{"4x4", 50, 35, 20}, result{"5x5", 50, 24, 15}, result{"6x6", 50, 2, 2})

func TestLearnabilityGoesToEvenOdds(t *testing.T) {
	got := must(t, "learnability", steep, "s").Used
	// p(1-p)+0.03 = 0.1036, 0.24, 0.2796, 0.0684; their sum is 0.6916.
	for i, want := range []float64{0.150, 0.347, 0.404, 0.099} {
		if math.Abs(got.Rows[i].DataRatio-want) > 1e-12 {
			t.Errorf("%s gets %v of the samples; want %v", got.Rows[i].Size, got.Rows[i].DataRatio, want)
		}
	}
}

func TestLearnabilityRaisesDifficultyWithSuccess(t *testing.T) {
	rest := result{"6x6", 50, 0, 0}
	for _, c := range []struct {
		name  string
		size  result
		holes float64
		waits float64
	}{
		{"nothing solved", result{"3x3", 50, 0, 0}, 0.1, 0.05},
		{"just below both", result{"3x3", 50, 29, 20}, 0.1, 0.05},
		{"solved, not well", result{"3x3", 50, 30, 20}, 0.2, 0.05},
		{"seldom solved, but well", result{"3x3", 50, 20, 14}, 0.1, 0.2},
		{"solved well", result{"3x3", 50, 40, 28}, 0.2, 0.2},
		{"mastered, not well", result{"3x3", 50, 45, 31}, 0.275, 0.05},
		{"mastered", result{"3x3", 50, 50, 50}, 0.275, 0.4},
		{"too few valid to judge, all optimal", result{"3x3", 50, 9, 9}, 0.1, 0.2},
		{"too few valid to judge, none optimal", result{"3x3", 50, 9, 0}, 0.1, 0.05},
	} {
		row := must(t, "learnability", card(c.size, rest), "s").Used.Rows[0]
		holes, _ := row.Knob("hole_ratio")
		waits, _ := row.Knob("wait_ratio")
		if math.Abs(holes-c.holes) > 1e-12 || math.Abs(waits-c.waits) > 1e-12 {
			t.Errorf("%s: hole_ratio %v, wait_ratio %v; want %v, %v", c.name, holes, waits, c.holes, c.waits)
		}
	}
}

func TestLearnabilitySaysWhichNumbersMovedIt(t *testing.T) {
	for name, c := range map[string]struct {
		card experiment.Scorecard
		want string
	}{
		"a ladder": {steep, "5x5 has 48 % valid (24 of 50), nearest to even odds, so it gets the most samples (40.4 %); 6x6 has 4 % valid (2 of 50) and gets the fewest (9.9 %). " +
			"hole_ratio is 0.1 on 5x5 and 6x6, where fewer than 60 % of answers are valid (4 % to 48 %); 0.2 on 4x4, where at least 60 % of answers are valid (70 %); 0.275 on 3x3, where at least 90 % of answers are valid and the size is mastered. " +
			"wait_ratio is 0.05 on 4x4 and 5x5, where fewer than 70 % of valid answers are optimal (57.1 % to 62.5 %); 0.2 on 6x6, where at least 70 % of valid answers are optimal (72 %, over all sizes where fewer than 10 are valid); 0.4 on 3x3, where at least 90 % of answers are valid and the size is mastered."},
		"nothing solved": {
			card(result{"3x3", 50, 0, 0}, result{"4x4", 50, 0, 0}, result{"5x5", 50, 0, 0}, result{"6x6", 50, 0, 0}),
			"All sizes are equally far from even odds (0 % valid (0 of 50)), so they share the samples evenly. " +
				"hole_ratio is 0.1 on 3x3 to 6x6, where fewer than 60 % of answers are valid (0 %). " +
				"wait_ratio is 0.05 on 3x3 to 6x6, where fewer than 70 % of valid answers are optimal (0 %, over all sizes where fewer than 10 are valid).",
		},
	} {
		if got := must(t, "learnability", c.card, "s").Rationale; got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestASizeThatWasNotValidatedIsLikeItsNeighbour(t *testing.T) {
	got := must(t, "learnability", card(result{"3x3", 50, 50, 50}, result{"6x6", 50, 25, 25}), "s")
	rows := got.Used.Rows
	if rows[1].DataRatio != rows[0].DataRatio || rows[2].DataRatio != rows[3].DataRatio || rows[0].DataRatio >= rows[3].DataRatio {
		t.Errorf("shares %+v", rows)
	}
	if !strings.Contains(got.Rationale, "4x4 was not validated and is treated as 3x3. 5x5 was not validated and is treated as 6x6.") {
		t.Errorf("rationale %q", got.Rationale)
	}
}

func TestLearnabilityRefusesEvidenceWithoutAnswers(t *testing.T) {
	for _, s := range []experiment.Scorecard{card(result{"3x3", 0, 0, 0}), card(result{"9x9", 5, 0, 0})} {
		if _, err := design(t, "learnability", experiment.DesignerSpec{}, s, "s"); err == nil {
			t.Errorf("no error for %+v", s)
		}
	}
	d, err := rule.New("learnability")
	if err != nil {
		t.Fatal(err)
	}
	var final *designer.FinalError
	if _, err := d.Propose(t.Context(), designer.Request{Space: pond()}); !errors.As(err, &final) {
		t.Errorf("error %v for a context without results", err)
	}
}

func TestFixedChangesNothing(t *testing.T) {
	got := must(t, "fixed", steep, "s")
	if len(got.Changes) != 0 || !reflect.DeepEqual(got.Used, curriculum.Uniform(pond())) || got.Rationale == "" {
		t.Errorf("transcript %+v", got)
	}
}

func TestRandomIsNamedByItsSeed(t *testing.T) {
	a, again, b := must(t, "random", steep, "a"), must(t, "random", steep, "a"), must(t, "random", steep, "b")
	if !reflect.DeepEqual(a, again) {
		t.Error("the same seed draws twice differently")
	}
	if reflect.DeepEqual(a.Used, b.Used) {
		t.Error("two seeds draw the same")
	}
}

func TestRulesGiveTheSameAnswerAgain(t *testing.T) {
	for _, kind := range []string{"fixed", "random", "uniform", "learnability", "regret"} {
		if a, b := must(t, kind, steep, "s"), must(t, kind, steep, "s"); !reflect.DeepEqual(a, b) || a.Prompt != "" || len(a.Sections) == 0 {
			t.Errorf("%s: %+v, then %+v", kind, a, b)
		}
	}
}

func TestRulesStopWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := rule.New("fixed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Propose(ctx, designer.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAnUnknownRuleNamesTheKnownOnes(t *testing.T) {
	if _, err := rule.New("magic"); err == nil || err.Error() != `designer "magic"; want one of fixed, random, uniform, linear, learnability, regret, replay` {
		t.Errorf("error %v", err)
	}
}
