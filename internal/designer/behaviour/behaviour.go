// Package behaviour measures how a designer behaves, in plain numbers. The paper
// describes behaviours in words (anchoring on old curricula, wide or narrow edits,
// a template of bigger and harder, self-correction, samples at the edge of what
// the policy can do); the formulas here are ours. All functions are pure.
package behaviour

import (
	"math"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Tolerance is how far a setting may move without counting as changed: half of
// the hundredth in which designers write.
const Tolerance = 0.005

// The frontier: sizes that the policy solves neither rarely nor nearly always.
const (
	FrontierLow  = 0.2
	FrontierHigh = 0.8
)

// Round is what one round trained on and what validation found after it.
type Round struct {
	Curriculum experiment.Curriculum
	Scorecard  experiment.Scorecard
}

// Measure describes a proposal that was made after rounds 0 to len(rounds)-1, of
// which there must be one. Curricula are complete: all sizes, all knobs.
func Measure(asked experiment.Curriculum, rounds []Round, space env.Space) experiment.Measures {
	last, first := rounds[len(rounds)-1], rounds[0]
	m := experiment.Measures{
		SizesChanged:   sizesChanged(last.Curriculum, asked, space),
		Frontier:       Frontier(asked, last.Scorecard),
		FrontierBefore: Frontier(last.Curriculum, last.Scorecard),
	}
	for _, f := range fields(space) {
		of := experiment.FieldMeasure{
			Field:     f.name,
			Changed:   f.changed(last.Curriculum, asked, space),
			FromLast:  f.distance(last.Curriculum, asked, space),
			FromFirst: f.distance(first.Curriculum, asked, space),
			Trend:     f.trend(asked, space),
		}
		m.FromLast += of.FromLast
		m.FromFirst += of.FromFirst
		m.Fields = append(m.Fields, of)
	}
	if len(rounds) > 1 {
		correction(&m, asked, rounds[len(rounds)-2], last, space)
	}
	return m
}

// Distance is the L1 distance of two complete curricula: over all sizes and
// settings, the sum of the absolute differences, each divided by the range of its
// setting (1 for data_ratio). Shares alone are at most 2 apart, a knob at most as
// many as there are sizes.
func Distance(a, b experiment.Curriculum, space env.Space) float64 {
	d := 0.0
	for _, f := range fields(space) {
		d += f.distance(a, b, space)
	}
	return d
}

// NoiseFloor is the mean distance between two of the proposals, over all pairs:
// how far a designer is from itself on the same evidence. A distance to the last
// curriculum within the floor is no sign of a decision. It is 0 for fewer than two.
func NoiseFloor(proposals []experiment.Curriculum, space env.Space) float64 {
	sum, pairs := 0.0, 0
	for i, a := range proposals {
		for _, b := range proposals[i+1:] {
			sum += Distance(a, b, space)
			pairs++
		}
	}
	return sum / float64(max(1, pairs))
}

// Frontier is the share of a curriculum's samples at sizes whose valid rate is
// FrontierLow to FrontierHigh. Sizes that were not validated do not count.
func Frontier(c experiment.Curriculum, card experiment.Scorecard) float64 {
	share := 0.0
	for _, row := range c.Rows {
		rates := card.Of(row.Size)
		if p := rates.ValidRate(); rates.N > 0 && p >= FrontierLow && p <= FrontierHigh {
			share += row.DataRatio
		}
	}
	return share
}

// field is one setting of a size.
type field struct {
	name string
	span float64 // between its ends
}

func fields(space env.Space) []field {
	out := []field{{curriculum.FieldShare, 1}}
	for _, k := range space.Knobs {
		out = append(out, field{k.Name, k.Max - k.Min})
	}
	return out
}

// of is the field's value at a size; what a curriculum does not have counts as 0.
func (f field) of(c experiment.Curriculum, size string) float64 {
	row, _ := c.Row(size)
	if f.name == curriculum.FieldShare {
		return row.DataRatio
	}
	v, _ := row.Knob(f.name)
	return v
}

func (f field) distance(a, b experiment.Curriculum, space env.Space) float64 {
	if !(f.span > 0) {
		return 0 // a knob that cannot be turned
	}
	d := 0.0
	for _, size := range space.Sizes {
		d += math.Abs(f.of(a, size)-f.of(b, size)) / f.span
	}
	return d
}

// move is the direction in which a field goes at a size: -1, 0 or 1.
func (f field) move(from, to experiment.Curriculum, size string) int {
	switch d := f.of(to, size) - f.of(from, size); {
	case d > Tolerance+1e-12:
		return 1
	case d < -Tolerance-1e-12:
		return -1
	}
	return 0
}

// changed is the share of the sizes on which a field moves.
func (f field) changed(from, to experiment.Curriculum, space env.Space) float64 {
	n := 0
	for _, size := range space.Sizes {
		if f.move(from, to, size) != 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(space.Sizes)))
}

// sizesChanged is the share of the sizes on which any field moves.
func sizesChanged(from, to experiment.Curriculum, space env.Space) float64 {
	n := 0
	for _, size := range space.Sizes {
		for _, f := range fields(space) {
			if f.move(from, to, size) != 0 {
				n++
				break
			}
		}
	}
	return float64(n) / float64(max(1, len(space.Sizes)))
}
