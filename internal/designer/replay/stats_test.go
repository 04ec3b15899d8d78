package replay

import (
	"math"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

var pond = env.Space{Sizes: []string{"low", "high"}, Knobs: []env.Knob{{Name: "knob", Max: 0.5}}}

// split is a curriculum that gives the low size this share.
func split(low, knob float64) experiment.Curriculum {
	k := []experiment.Knob{{Name: "knob", Value: knob}}
	return experiment.Curriculum{Rows: []experiment.Row{{Size: "low", DataRatio: low, Knobs: k}, {Size: "high", DataRatio: 1 - low, Knobs: k}}}
}

// cellOf has these proposals.
func cellOf(name string, of ...experiment.Curriculum) CellResult {
	c := CellResult{Cell: Cell{Name: name}, Usable: len(of)}
	for _, p := range of {
		c.Draws = append(c.Draws, Draw{Outcome: "ok", Asked: p})
	}
	return c
}

func times(n int, c experiment.Curriculum) []experiment.Curriculum {
	out := make([]experiment.Curriculum, n)
	for i := range out {
		out[i] = c
	}
	return out
}

func TestMomentsAreThoseOfTheSample(t *testing.T) {
	m := momentsOf([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if m.Mean != 5 || math.Abs(m.SD-math.Sqrt(32.0/7)) > 1e-12 || m.Min != 2 || m.Max != 9 {
		t.Errorf("moments %+v", m)
	}
	if got := momentsOf([]float64{0.1, 0.1, 0.1}); got.SD != 0 || got.Mean != 0.1 {
		t.Errorf("equal numbers have moments %+v", got)
	}
	if got := momentsOf(nil); got != (Moments{}) {
		t.Errorf("no numbers have moments %+v", got)
	}
}

func TestCellsThatProposeTheSameAreIdentical(t *testing.T) {
	p := compare(cellOf("a", times(1, split(0.3, 0.1))...), cellOf("b", times(5, split(0.3, 0.1))...), pond)
	if p.Verdict != VerdictIdentical || p.Distance != 0 || p.P != nil {
		t.Errorf("pair %+v", p)
	}
}

func TestCellsFarApartDifferAndCellsFromOneSourceDoNot(t *testing.T) {
	low := []experiment.Curriculum{split(0.10, 0.1), split(0.12, 0.1), split(0.14, 0.1), split(0.11, 0.1)}
	high := []experiment.Curriculum{split(0.80, 0.1), split(0.82, 0.1), split(0.84, 0.1), split(0.81, 0.1)}
	if p := compare(cellOf("a", low...), cellOf("b", high...), pond); p.Verdict != VerdictDiffer || p.P == nil || *p.P >= 0.05 || math.Abs(p.Distance-1.4) > 1e-9 {
		t.Errorf("pair %+v", p)
	}
	differ := 0
	for i := range 60 {
		rng := experiment.Rand("one source", string(rune('a'+i%26)), string(rune('a'+i/26)))
		draw := func() (out []experiment.Curriculum) {
			for range 8 {
				out = append(out, split(rng.Float64(), rng.Float64()/2))
			}
			return out
		}
		if compare(cellOf("a", draw()...), cellOf("b", draw()...), pond).Verdict == VerdictDiffer {
			differ++
		}
	}
	if differ > 10 { // 3 expected of 60 at 5 %; more than 10 come about once in 5000 times
		t.Errorf("%d of 60 pairs from one source are told apart", differ)
	}
}

func TestTooFewProposalsAreNotJudged(t *testing.T) {
	p := compare(cellOf("a", times(3, split(0.1, 0))...), cellOf("b", times(8, split(0.9, 0))...), pond)
	if p.Verdict != VerdictTooFew || p.P != nil {
		t.Errorf("pair %+v", p)
	}
}

func TestEveryPairOfCellsWithProposalsIsCompared(t *testing.T) {
	pairs := agreement([]CellResult{cellOf("a", split(0.1, 0)), cellOf("none"), cellOf("b", split(0.2, 0))}, pond)
	if len(pairs) != 1 || pairs[0].A != "a" || pairs[0].B != "b" {
		t.Errorf("pairs %+v", pairs)
	}
}

func TestEqualProposalsHaveEqualLetters(t *testing.T) {
	l := letters{}
	got := l.of(split(0.1, 0)) + l.of(split(0.2, 0)) + l.of(split(0.1, 0))
	if got != "ABA" {
		t.Errorf("letters %s; want ABA", got)
	}
	for n, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		if got := letter(n); got != want {
			t.Errorf("letter %d is %s; want %s", n, got, want)
		}
	}
}
