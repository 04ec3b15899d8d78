package behaviour_test

import (
	"math"
	"testing"

	"floe/internal/designer/behaviour"
	"floe/internal/env"
	"floe/internal/experiment"
)

func pond() env.Space {
	return env.Space{
		Sizes: []string{"3x3", "4x4", "5x5", "6x6"},
		Knobs: []env.Knob{{Name: "holes", Min: 0, Max: 0.5}, {Name: "waits", Min: 0, Max: 1}},
	}
}

// mix takes share, holes and waits size by size.
func mix(v ...float64) experiment.Curriculum {
	var c experiment.Curriculum
	for i, size := range pond().Sizes {
		c.Rows = append(c.Rows, experiment.Row{Size: size, DataRatio: v[3*i], Knobs: []experiment.Knob{{Name: "holes", Value: v[3*i+1]}, {Name: "waits", Value: v[3*i+2]}}})
	}
	return c
}

// card takes valid counts of 50, size by size.
func card(valid ...int) experiment.Scorecard {
	var s experiment.Scorecard
	for i, n := range valid {
		s.Cells = append(s.Cells, experiment.Cell{Size: pond().Sizes[i], Group: "all", N: 50, Valid: n})
	}
	return s
}

var flat = mix(0.25, 0.2, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestDistanceAddsDifferencesInUnitsOfTheRange(t *testing.T) {
	moved := mix(0.35, 0.2, 0.5, 0.15, 0.3, 0.5, 0.25, 0.2, 0.1, 0.25, 0.2, 0.5)
	// Shares 0.1 + 0.1; holes 0.1 of a range of 0.5; waits 0.4 of 1.
	if got := behaviour.Distance(flat, moved, pond()); !near(got, 0.2+0.2+0.4) {
		t.Errorf("distance %v; want 0.8", got)
	}
	if a, b := behaviour.Distance(flat, moved, pond()), behaviour.Distance(moved, flat, pond()); a != b {
		t.Errorf("there %v, back %v", a, b)
	}
	if got := behaviour.Distance(flat, flat, pond()); got != 0 {
		t.Errorf("to itself %v", got)
	}
}

func TestAKnobThatCannotBeTurnedHasNoDistance(t *testing.T) {
	space := pond()
	space.Knobs[0].Max = 0
	if got := behaviour.Distance(flat, mix(0.25, 0.3, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5), space); got != 0 {
		t.Errorf("distance %v", got)
	}
}

func TestTheNoiseFloorIsTheMeanOverPairs(t *testing.T) {
	at := func(waits float64) experiment.Curriculum {
		return mix(0.25, 0.2, waits, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5)
	}
	// Distances 0.1, 0.4 and 0.3.
	if got := behaviour.NoiseFloor([]experiment.Curriculum{at(0.5), at(0.6), at(0.9)}, pond()); !near(got, 0.8/3) {
		t.Errorf("floor %v; want %v", got, 0.8/3)
	}
	for _, few := range [][]experiment.Curriculum{nil, {flat}} {
		if got := behaviour.NoiseFloor(few, pond()); got != 0 {
			t.Errorf("floor of %d is %v", len(few), got)
		}
	}
}

func TestEditBreadthCountsSizesAndSettings(t *testing.T) {
	m := behaviour.Measure(
		mix(0.35, 0.2, 0.5, 0.15, 0.3, 0.5, 0.253, 0.204, 0.5, 0.25, 0.2, 0.5),
		[]behaviour.Round{{Curriculum: flat, Scorecard: card(1, 1, 1, 1)}}, pond())
	if m.SizesChanged != 0.5 || m.Fields[0].Changed != 0.5 || m.Fields[1].Changed != 0.25 || m.Fields[2].Changed != 0 {
		t.Errorf("measures %+v; want half of the sizes: what moves by less than half a hundredth stays", m)
	}
	if m.Fields[0].Field != "data_ratio" || m.Fields[1].Field != "holes" || m.Fields[2].Field != "waits" {
		t.Errorf("fields %+v", m.Fields)
	}
}

func TestDistancesAreToTheLastAndToTheFirst(t *testing.T) {
	first := mix(0.25, 0, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5)
	rounds := []behaviour.Round{{first, card(1, 1, 1, 1)}, {flat, card(1, 1, 1, 1)}, {flat, card(1, 1, 1, 1)}}
	m := behaviour.Measure(mix(0.25, 0.1, 0.5, 0.25, 0.2, 0.7, 0.25, 0.2, 0.5, 0.25, 0.2, 0.5), rounds, pond())
	if !near(m.FromLast, 0.2+0.2) || !near(m.FromFirst, 0.2+0.2) || !near(m.Fields[1].FromFirst, 0.2) || !near(m.Fields[2].FromLast, 0.2) {
		t.Errorf("measures %+v", m)
	}
	if back := behaviour.Measure(first, rounds, pond()); back.FromFirst != 0 || !near(back.FromLast, 0.4) {
		t.Errorf("anchored on round 0, yet %+v", back)
	}
}

func TestTrendIsKendallsTau(t *testing.T) {
	for _, c := range []struct {
		name  string
		holes [4]float64
		tau   float64
	}{
		{"bigger and harder", [4]float64{0.1, 0.2, 0.3, 0.4}, 1},
		{"bigger and easier", [4]float64{0.4, 0.3, 0.2, 0.1}, -1},
		{"one pair the wrong way", [4]float64{0.1, 0.3, 0.2, 0.4}, 4.0 / 6},
		{"up and down", [4]float64{0.1, 0.3, 0.3, 0.1}, 0},
		{"a tie", [4]float64{0.1, 0.1, 0.2, 0.3}, 5 / math.Sqrt(5*6)},
	} {
		m := behaviour.Measure(mix(0.25, c.holes[0], 0.5, 0.25, c.holes[1], 0.5, 0.25, c.holes[2], 0.5, 0.25, c.holes[3], 0.5),
			[]behaviour.Round{{flat, card(1, 1, 1, 1)}}, pond())
		if got := m.Fields[1].Trend; got == nil || !near(*got, c.tau) {
			t.Errorf("%s: %v; want %v", c.name, got, c.tau)
		}
		if m.Fields[0].Trend != nil || m.Fields[2].Trend != nil {
			t.Errorf("%s: a trend in what is the same on all sizes", c.name)
		}
	}
}

func TestKnobsOfSizesWithoutSamplesHaveNoTrend(t *testing.T) {
	m := behaviour.Measure(mix(0.5, 0.1, 0.5, 0.5, 0.2, 0.5, 0, 0.1, 0.5, 0, 0, 0.5), []behaviour.Round{{flat, card(1, 1, 1, 1)}}, pond())
	if got := m.Fields[1].Trend; got == nil || *got != 1 {
		t.Errorf("trend %v; want 1", got)
	}
	if got := m.Fields[0].Trend; got == nil || *got >= 0 {
		t.Errorf("trend of the shares %v; want them to fall", got)
	}
}

func TestTheFrontierHoldsItsEnds(t *testing.T) {
	c := mix(0.1, 0, 0, 0.2, 0, 0, 0.3, 0, 0, 0.4, 0, 0)
	if got := behaviour.Frontier(c, card(9, 10, 40, 41)); !near(got, 0.5) {
		t.Errorf("frontier %v; want 0.5: sizes at 20 and 80 %%", got)
	}
	if got := behaviour.Frontier(c, card(25)); !near(got, 0.1) {
		t.Errorf("frontier %v; want 0.1: what was not validated does not count", got)
	}
	m := behaviour.Measure(c, []behaviour.Round{{flat, card(9, 10, 40, 41)}}, pond())
	if !near(m.Frontier, 0.5) || !near(m.FrontierBefore, 0.5) {
		t.Errorf("measures %+v", m)
	}
}

func TestSelfCorrectionIsTakingBackWhatValidationContradicts(t *testing.T) {
	before := flat
	// The last design moved the holes of all sizes up, and the waits of 3x3 down.
	last := mix(0.25, 0.3, 0.3, 0.25, 0.3, 0.5, 0.25, 0.3, 0.5, 0.25, 0.3, 0.5)
	// 3x3 falls from 40 to 20, 4x4 by less than noise, 5x5 rises, 6x6 falls.
	rounds := []behaviour.Round{{before, card(40, 30, 20, 30)}, {last, card(20, 29, 40, 10)}}
	for _, c := range []struct {
		name                                   string
		asked                                  experiment.Curriculum
		contradicted, reversed, upheld, undone int
	}{
		{"nothing taken back", last, 3, 0, 2, 0},
		{"all taken back", before, 3, 3, 2, 2},
		{"what fell, taken back", mix(0.25, 0.2, 0.5, 0.25, 0.3, 0.5, 0.25, 0.3, 0.5, 0.25, 0.25, 0.5), 3, 3, 2, 0},
		{"what fell, driven on", mix(0.25, 0.4, 0.1, 0.25, 0.3, 0.5, 0.25, 0.3, 0.5, 0.25, 0.4, 0.5), 3, 0, 2, 0},
		{"what rose, taken back", mix(0.25, 0.3, 0.3, 0.25, 0.3, 0.5, 0.25, 0.1, 0.5, 0.25, 0.3, 0.5), 3, 0, 2, 1},
	} {
		m := behaviour.Measure(c.asked, rounds, pond())
		if m.Contradicted != c.contradicted || m.Reversed != c.reversed || m.Upheld != c.upheld || m.Undone != c.undone {
			t.Errorf("%s: %d of %d contradicted, %d of %d others; want %d of %d, %d of %d", c.name,
				m.Reversed, m.Contradicted, m.Undone, m.Upheld, c.reversed, c.contradicted, c.undone, c.upheld)
		}
	}
}

func TestAfterRoundZeroThereIsNothingToCorrect(t *testing.T) {
	m := behaviour.Measure(flat, []behaviour.Round{{flat, card(1, 2, 3, 4)}}, pond())
	if m.Contradicted+m.Reversed+m.Upheld+m.Undone != 0 {
		t.Errorf("measures %+v", m)
	}
	m = behaviour.Measure(flat, []behaviour.Round{{mix(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), card(50)}, {flat, card(0)}}, pond())
	if m.Upheld != 0 || m.Contradicted != 3 {
		t.Errorf("measures %+v; want only 3x3, which was validated, to count", m)
	}
}
