package rule_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/designer/rule"
	"floe/internal/experiment"
)

// after designs by a rule under a context, after rounds with these cards. Round i
// trained on a curriculum in which 3x3 has (i+1)/10 of the samples.
func after(t *testing.T, kind, context string, rounds int, cards ...experiment.Scorecard) (experiment.Transcript, error) {
	t.Helper()
	d, err := rule.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	e := designer.Evidence{Space: pond(), Groups: []string{"all"}, Round: len(cards) - 1, Rounds: rounds, Epochs: 2}
	for i, c := range cards {
		e.History = append(e.History, designer.RoundEvidence{Round: i, Curriculum: past(i), Scorecard: c})
	}
	spec := experiment.DesignerSpec{Kind: kind, Context: context, Details: "bookkeeping"}
	return designer.Design(t.Context(), d, spec, e, designer.Limits{Seed: "s"})
}

func past(round int) experiment.Curriculum {
	c := curriculum.Uniform(pond())
	first := float64(round+1) / 10
	for i := range c.Rows {
		c.Rows[i].DataRatio = (1 - first) / 3
	}
	c.Rows[0].DataRatio = first
	return c
}

func shares(c experiment.Curriculum) []float64 {
	var out []float64
	for _, r := range c.Rows {
		out = append(out, r.DataRatio)
	}
	return out
}

func closeTo(got, want []float64, by float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= by) {
			return false
		}
	}
	return true
}

func TestUniformSharesEvenlyAtTheDefaults(t *testing.T) {
	got, err := after(t, "uniform", "V1", 3, steep)
	if err != nil || !reflect.DeepEqual(got.Used, curriculum.Uniform(pond())) || len(got.Repairs) != 0 {
		t.Errorf("used %+v, repairs %q, error %v", got.Used, got.Repairs, err)
	}
}

func TestLinearOpensTheLadderRoundByRound(t *testing.T) {
	cards := []experiment.Scorecard{steep, steep, steep, steep}
	for _, c := range []struct {
		done, rounds int
		shares       []float64
		holes, waits float64
	}{
		{1, 4, []float64{0.5, 0.5, 0, 0}, 0.133, 0.1},                        // t = 1/3, two of four sizes
		{2, 4, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3, 0}, 0.167, 0.15},         // t = 2/3
		{3, 4, []float64{0.25, 0.25, 0.25, 0.25}, 0.2, 0.2},                  // t = 1
		{1, 3, []float64{0.4, 0.4, 0.2, 0}, 0.15, 0.125},                     // t = 1/2, two and a half sizes
		{1, 1, []float64{0.25, 0.25, 0.25, 0.25}, 0.2, 0.2},                  // nothing follows
		{1, 100, []float64{1 / 1.0303, 0.0303 / 1.0303, 0, 0}, 0.101, 0.052}, // t = 1/99
	} {
		got, err := after(t, "linear", "V6", c.rounds, cards[:c.done]...)
		if err != nil {
			t.Fatal(err)
		}
		if !closeTo(shares(got.Used), c.shares, 0.001) || got.Outcome != designer.OutcomeOK {
			t.Errorf("after %d of %d: shares %v; want %v (%s)", c.done, c.rounds, shares(got.Used), c.shares, got.Outcome)
		}
		holes, _ := got.Used.Rows[0].Knob("hole_ratio")
		waits, _ := got.Used.Rows[3].Knob("wait_ratio")
		if holes != c.holes || waits != c.waits {
			t.Errorf("after %d of %d: holes %v, waits %v; want %v, %v", c.done, c.rounds, holes, waits, c.holes, c.waits)
		}
	}
}

func TestLinearSaysHowFarItIs(t *testing.T) {
	got, err := after(t, "linear", "V6", 3, steep)
	const want = "The next round is 50 % of the way from easy to hard: sizes up to 5x5 share the samples, hole_ratio is 0.15 on its way from 0.1 to 0.2, wait_ratio is 0.125 on its way from 0.05 to 0.2, whatever validation finds."
	if err != nil || got.Rationale != want {
		t.Errorf("rationale %q, error %v", got.Rationale, err)
	}
}

// costly adds to a card what its valid answers cost and could have cost.
func costly(c experiment.Scorecard, cost, optimum int64) experiment.Scorecard {
	for i := range c.Cells {
		c.Cells[i].Cost, c.Cells[i].Optimum = cost, optimum
	}
	return c
}

func TestRegretGoesWhereMostIsLost(t *testing.T) {
	s := costly(card(result{"3x3", 50, 50, 40}, result{"4x4", 50, 40, 20}, result{"5x5", 50, 25, 15}, result{"6x6", 50, 0, 0}), 100, 80)
	s.Cells[0].Cost = 80
	s.Cells[3].Cost, s.Cells[3].Optimum = 0, 0
	got, err := after(t, "regret", "V1", 3, s)
	if err != nil {
		t.Fatal(err)
	}
	// 1 - 1*1, 1 - 0.8*0.8, 1 - 0.5*0.8, 1 - 0, each plus 0.03; their sum is 2.08.
	want := []float64{0.03 / 2.08, 0.39 / 2.08, 0.63 / 2.08, 1.03 / 2.08}
	if !closeTo(shares(got.Used), want, 0.001) {
		t.Errorf("shares %v; want %v", shares(got.Used), want)
	}
	const told = "6x6 has a regret of 1 at 0 % valid (0 of 50), farthest from the optimum, so it gets the most samples (49.5 %); 3x3 has a regret of 0 at 100 % valid (50 of 50) and gets the fewest (1.4 %)."
	if !strings.HasPrefix(got.Rationale, told) {
		t.Errorf("rationale %q; want it to begin %q", got.Rationale, told)
	}
}

func TestRegretAndLearnabilityDifferInSharesAlone(t *testing.T) {
	a, errA := after(t, "regret", "V1", 3, steep)
	b, errB := after(t, "learnability", "V1", 3, steep)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	for i := range a.Used.Rows {
		if !reflect.DeepEqual(a.Used.Rows[i].Knobs, b.Used.Rows[i].Knobs) {
			t.Errorf("knobs of %s: %+v and %+v", a.Used.Rows[i].Size, a.Used.Rows[i].Knobs, b.Used.Rows[i].Knobs)
		}
	}
	if reflect.DeepEqual(shares(a.Used), shares(b.Used)) {
		t.Errorf("both share %v", shares(a.Used))
	}
}

func TestReplayGoesBackToTheBestRound(t *testing.T) {
	of := func(valid, optimal int) experiment.Scorecard { return card(result{"3x3", 50, valid, optimal}) }
	for _, c := range []struct {
		name, context string
		cards         []experiment.Scorecard
		round         int
		says          string
	}{
		{"gaining", "V3", []experiment.Scorecard{of(10, 5), of(20, 5), of(30, 5)}, 2, "Of rounds 0 to 2, round 2 validated best (60 % valid, 10 % optimal): its curriculum stays."},
		{"lost", "V3", []experiment.Scorecard{of(10, 5), of(30, 5), of(20, 5)}, 1, "round 1 validated best (60 % valid, 10 % optimal): back to its curriculum."},
		{"as valid, less optimal", "V3", []experiment.Scorecard{of(30, 8), of(30, 5)}, 0, "back to"},
		{"as good", "V3", []experiment.Scorecard{of(30, 5), of(30, 5)}, 1, "stays"},
		{"round 0 was best, but is not shown", "V4", []experiment.Scorecard{of(40, 5), of(30, 5), of(20, 5)}, 1, "Of rounds 1 to 2, round 1"},
		{"one to compare", "V4", []experiment.Scorecard{of(40, 5), of(30, 5)}, 1, "Round 1 is the only one to compare: its curriculum stays."},
		{"nothing designed yet", "V4", []experiment.Scorecard{of(40, 5)}, 0, "No round has trained on a designed curriculum yet"},
	} {
		got, err := after(t, "replay", c.context, 5, c.cards...)
		if err != nil {
			t.Fatal(err)
		}
		if !closeTo(shares(got.Used), shares(past(c.round)), 1e-9) || !strings.Contains(got.Rationale, c.says) || got.Outcome != designer.OutcomeOK {
			t.Errorf("%s: used %v, %s: %q; want round %d, %q", c.name, shares(got.Used), got.Outcome, got.Rationale, c.round, c.says)
		}
	}
}

// What a kind needs and what its rule reads are said in two packages.
func TestRulesRefuseContextsThatHideWhatTheyRead(t *testing.T) {
	for _, k := range designer.Kinds {
		if !k.Rule {
			if _, err := rule.New(k.Name); err == nil {
				t.Errorf("there is a rule %s", k.Name)
			}
			continue
		}
		for _, section := range designer.Sections() {
			d, err := rule.New(k.Name)
			if err != nil {
				t.Fatal(err)
			}
			spec := experiment.DesignerSpec{Kind: k.Name, Context: "custom", Details: "bookkeeping", Sections: []string{section}}
			context, err := designer.ContextOf(spec)
			if err != nil {
				t.Fatal(err)
			}
			_, err = designer.Design(t.Context(), d, spec, designer.Evidence{
				Space: pond(), Groups: []string{"all"}, Rounds: 3, Epochs: 2,
				History: []designer.RoundEvidence{{Curriculum: past(0), Scorecard: steep}},
			}, designer.Limits{Seed: "s"})
			var final *designer.FinalError
			if works := len(k.Needs) == 0 || context.Shows(k.Needs...); works != (err == nil) || (!works && !errors.As(err, &final)) {
				t.Errorf("%s under %s: error %v", k.Name, section, err)
			} else if !works && !strings.Contains(err.Error(), "section "+strings.Join(k.Needs, " or ")) {
				t.Errorf("%s under %s: error %v; want it to name %q", k.Name, section, err, k.Needs)
			}
		}
	}
}
