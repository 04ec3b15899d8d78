package scorecard_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/scorecard"
)

// ladder is an environment reduced to what a scorecard asks of it.
type ladder struct{ env.Environment }

func (ladder) Space() env.Space { return env.Space{Sizes: []string{"low", "mid", "high"}} }
func (ladder) Groups() []string { return []string{"calm", "busy"} }
func (ladder) Checks() []env.Check {
	return []env.Check{{Name: "parse"}, {Name: "crash"}}
}

func task(size, group string) env.Task {
	return env.Task{ID: size + "-" + group, Size: size, Group: group, Optimum: 4}
}

func solved(cost int) env.Verdict {
	return env.Verdict{Valid: true, Optimal: cost == 4, Cost: cost, Optimum: 4, Tokens: 10}
}

func failed(checks ...string) env.Verdict {
	return env.Verdict{Failed: checks, Optimum: 4, Tokens: 30}
}

func build(t *testing.T, tasks []env.Task, verdicts []env.Verdict) experiment.Scorecard {
	t.Helper()
	card, err := scorecard.Build("round 1", "validation", ladder{}, tasks, verdicts)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

func TestCellsStandInTheEnvironmentsOrder(t *testing.T) {
	tasks := []env.Task{task("high", "busy"), task("low", "busy"), task("low", "calm"), task("high", "busy")}
	card := build(t, tasks, []env.Verdict{solved(6), failed("crash", "parse", "crash"), solved(4), {Truncated: true, Failed: []string{"parse"}, Tokens: 50}})
	want := []experiment.Cell{
		{Size: "low", Group: "calm", N: 1, Valid: 1, Optimal: 1, Errors: []int{0, 0}, Tokens: 10, Cost: 4, Optimum: 4},
		{Size: "low", Group: "busy", N: 1, Errors: []int{1, 1}, Tokens: 30},
		{Size: "high", Group: "calm", Errors: []int{0, 0}},
		{Size: "high", Group: "busy", N: 2, Valid: 1, Truncated: 1, Errors: []int{1, 0}, Tokens: 60, Cost: 6, Optimum: 4},
	}
	if !slices.EqualFunc(card.Cells, want, equal) {
		t.Errorf("cells\n%+v; want\n%+v", card.Cells, want)
	}
	if got := card.Total(); got != (experiment.Rates{N: 4, Valid: 2, Optimal: 1}) {
		t.Errorf("total %+v", got)
	}
	if err := scorecard.Validate(card); err != nil {
		t.Error(err)
	}
}

func equal(a, b experiment.Cell) bool {
	sameErrors := slices.Equal(a.Errors, b.Errors)
	a.Errors, b.Errors = nil, nil
	return sameErrors && a.Size == b.Size && a.Group == b.Group && a.N == b.N && a.Valid == b.Valid && a.Optimal == b.Optimal &&
		a.Truncated == b.Truncated && a.Tokens == b.Tokens && a.Cost == b.Cost && a.Optimum == b.Optimum
}

func TestBuildNamesEveryContradiction(t *testing.T) {
	cases := map[string]env.Verdict{
		`valid, yet failed ["crash"]`:          {Valid: true, Failed: []string{"crash"}, Cost: 4, Optimum: 4},
		"invalid, yet no check failed":         {},
		"optimal, yet invalid":                 {Optimal: true, Failed: []string{"crash"}},
		"-1 tokens":                            {Failed: []string{"crash"}, Tokens: -1},
		"judged against optimum 5; the task":   {Valid: true, Cost: 5, Optimum: 5, Optimal: true},
		"cost 3 is below the optimum 4":        {Valid: true, Cost: 3, Optimum: 4},
		"optimal is false at cost 4 and optim": {Valid: true, Cost: 4, Optimum: 4},
		`failed check "sink"; want one of`:     failed("sink"),
	}
	var tasks []env.Task
	var verdicts []env.Verdict
	for _, v := range cases {
		tasks, verdicts = append(tasks, task("low", "calm")), append(verdicts, v)
	}
	tasks, verdicts = append(tasks, task("huge", "calm")), append(verdicts, solved(4))
	_, err := scorecard.Build("round 1", "validation", ladder{}, tasks, verdicts)
	if err == nil {
		t.Fatal("no error")
	}
	for want := range cases {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
	if !strings.Contains(err.Error(), `size "huge"`) {
		t.Errorf("error does not name the size:\n%v", err)
	}
}

func TestBuildRefusesAnotherNumberOfVerdicts(t *testing.T) {
	_, err := scorecard.Build("base", "validation", ladder{}, []env.Task{task("low", "calm")}, nil)
	if err == nil || !strings.Contains(err.Error(), "0 verdicts for 1 tasks") {
		t.Errorf("error %v", err)
	}
}

func TestBuildBoundsItsComplaints(t *testing.T) {
	tasks, verdicts := slices.Repeat([]env.Task{task("low", "calm")}, 500), slices.Repeat([]env.Verdict{{}}, 500)
	_, err := scorecard.Build("base", "validation", ladder{}, tasks, verdicts)
	if err == nil || !strings.Contains(err.Error(), "and 490 more") || len(err.Error()) > 2000 {
		t.Errorf("error %v", err)
	}
}

// Values from Newcombe 1998, Stat. Med. 17:857-872, table I, method 3.
func TestWilsonAgreesWithPublishedIntervals(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		lo, hi := scorecard.Wilson(c.k, c.n, scorecard.Z95)
		if math.Abs(lo-c.lo) > 5e-5 || math.Abs(hi-c.hi) > 5e-5 {
			t.Errorf("Wilson(%d, %d) = %.4f, %.4f; want %.4f, %.4f", c.k, c.n, lo, hi, c.lo, c.hi)
		}
	}
}

func TestWilsonHoldsTheRateAndIsSymmetric(t *testing.T) {
	if lo, hi := scorecard.Wilson(0, 0, scorecard.Z95); lo != 0 || hi != 1 {
		t.Errorf("no trials: %v, %v; want 0, 1", lo, hi)
	}
	for n := 1; n <= 60; n++ {
		for k := range n + 1 {
			lo, hi := scorecard.Wilson(k, n, scorecard.Z95)
			mirrorLo, mirrorHi := scorecard.Wilson(n-k, n, scorecard.Z95)
			p := float64(k) / float64(n)
			if !(0 <= lo && lo <= p+1e-12 && p <= hi+1e-12 && hi <= 1 && lo < hi) {
				t.Errorf("Wilson(%d, %d) = %v, %v around %v", k, n, lo, hi, p)
			}
			if math.Abs(lo+mirrorHi-1) > 1e-12 || math.Abs(hi+mirrorLo-1) > 1e-12 {
				t.Errorf("Wilson(%d, %d) is not the mirror of %d", k, n, n-k)
			}
		}
	}
}

func TestMergingIsCountingTogether(t *testing.T) {
	a, b := []env.Task{task("high", "busy"), task("low", "calm")}, []env.Task{task("mid", "calm"), task("low", "calm")}
	va, vb := []env.Verdict{solved(5), failed("crash")}, []env.Verdict{solved(4), failed("parse")}
	got, err := scorecard.Merge("round 1", "validation", ladder{}, build(t, a, va), build(t, b, vb))
	if err != nil {
		t.Fatal(err)
	}
	want := build(t, append(a, b...), append(va, vb...))
	if !slices.EqualFunc(got.Cells, want.Cells, equal) {
		t.Errorf("merged\n%+v; want\n%+v", got.Cells, want.Cells)
	}
}

func TestMergeRefusesStrangersAndNonsense(t *testing.T) {
	_, err := scorecard.Merge("all", "validation", ladder{},
		experiment.Scorecard{Policy: "p1", Checks: []string{"parse"}},
		experiment.Scorecard{Policy: "p2", Checks: []string{"parse", "crash"}, Cells: []experiment.Cell{{Size: "deep", Group: "calm", Errors: []int{0, 0}}}},
		experiment.Scorecard{Policy: "p3", Checks: []string{"parse", "crash"}, Cells: []experiment.Cell{{Size: "low", Group: "calm", N: 1, Valid: 2, Errors: []int{1}}}},
	)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"p1 on", `"deep"`, "1 answers, 2 valid", "1 error counts for 2 checks"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestRowsEndWithTheTotal(t *testing.T) {
	card := build(t,
		[]env.Task{task("low", "calm"), task("low", "busy"), task("high", "calm"), task("high", "calm")},
		[]env.Verdict{solved(4), solved(6), failed("crash"), failed("crash", "parse")})
	rows := scorecard.BySize(card)
	if len(rows) != 3 || rows[0].Size != "low" || rows[1].Size != "high" || rows[2].Size != "" {
		t.Fatalf("rows %+v", rows)
	}
	low, high, total := rows[0], rows[1], rows[2]
	if low.Valid != 2 || low.Optimal != 1 || low.CostRatio != 1.25 || low.MeanTokens != 10 {
		t.Errorf("low %+v", low)
	}
	if want := []scorecard.ErrorShare{{"parse", 1, 0.5}, {"crash", 2, 1}}; !slices.Equal(high.Errors, want) {
		t.Errorf("errors of high %+v; want %+v", high.Errors, want)
	}
	if total.N != 4 || total.MeanTokens != 20 || total.ValidLow >= 0.5 || total.ValidHigh <= 0.5 {
		t.Errorf("total %+v", total)
	}
	if got := total.Errors; got[1] != (scorecard.ErrorShare{Check: "crash", Count: 2, Share: 0.5}) {
		t.Errorf("errors of all %+v", got)
	}
	if groups := scorecard.ByGroup(card); len(groups) != 4 || groups[1].Group != "busy" || groups[1].Valid != 1 {
		t.Errorf("groups %+v", groups)
	}
}

func TestRowsOfNothingAreEmptyNotWrong(t *testing.T) {
	total := scorecard.Total(experiment.Scorecard{Checks: []string{"parse"}})
	if total.N != 0 || total.MeanTokens != 0 || total.CostRatio != 0 || total.ValidHigh != 1 || len(total.Errors) != 1 {
		t.Errorf("total %+v", total)
	}
}
