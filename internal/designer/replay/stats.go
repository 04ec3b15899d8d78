package replay

import (
	"cmp"
	"math"
	"slices"

	"floe/internal/curriculum"
	"floe/internal/designer/behaviour"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Moments describe some numbers; all are 0 for none.
type Moments struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // of the sample, n-1; 0 for fewer than two
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

func momentsOf(values []float64) Moments {
	if len(values) == 0 {
		return Moments{}
	}
	m := Moments{Min: slices.Min(values), Max: slices.Max(values)}
	if m.Min == m.Max { // exactly no spread, whatever rounding would say
		m.Mean = m.Min
		return m
	}
	for _, v := range values {
		m.Mean += v / float64(len(values))
	}
	for _, v := range values {
		m.SD += (v - m.Mean) * (v - m.Mean) / float64(len(values)-1)
	}
	m.SD = math.Sqrt(m.SD)
	return m
}

func fields(space env.Space) []string {
	out := []string{curriculum.FieldShare}
	for _, k := range space.Knobs {
		out = append(out, k.Name)
	}
	return out
}

func value(c experiment.Curriculum, size, field string) float64 {
	row, _ := c.Row(size)
	if field == curriculum.FieldShare {
		return row.DataRatio
	}
	v, _ := row.Knob(field)
	return v
}

// counts lists counts, the largest first.
func counts(of map[string]int) []experiment.ClassCount {
	out := make([]experiment.ClassCount, 0, len(of))
	for name, n := range of {
		out = append(out, experiment.ClassCount{Class: name, Count: n})
	}
	slices.SortFunc(out, func(a, b experiment.ClassCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Verdicts on two cells.
const (
	VerdictIdentical = "identical"      // all proposals of both are one and the same
	VerdictDiffer    = "differ"         // P is below 0.05
	VerdictAlike     = "not told apart" // P is not: they may be the same or too few were asked
	VerdictTooFew    = "too few"        // fewer than 4 proposals on a side: no P can be that small
)

const (
	fewest       = 4 // proposals on a side from which on P can be below 0.05
	significant  = 0.05
	permutations = 999
)

// Pair compares the proposals of two cells.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	// Distance is the mean distance of a proposal of the one to one of the other;
	// Floor is the larger of their noise floors.
	Distance float64 `json:"distance"`
	Floor    float64 `json:"floor"`
	// P is the share of the ways to deal all proposals to two cells of these sizes
	// that tell the cells at least as far apart, by the energy distance (twice the
	// mean distance between the cells, less those inside them); 999 of the ways are
	// drawn, and the one that is counts. It is not adjusted for the number of
	// pairs. Nil for too few proposals.
	P       *float64 `json:"p,omitempty"`
	Verdict string   `json:"verdict"`
}

// agreement compares all pairs of cells that have proposals.
func agreement(cells []CellResult, space env.Space) []Pair {
	pairs := []Pair{}
	for i, a := range cells {
		for _, b := range cells[i+1:] {
			if a.Usable > 0 && b.Usable > 0 {
				pairs = append(pairs, compare(a, b, space))
			}
		}
	}
	return pairs
}

func compare(a, b CellResult, space env.Space) Pair {
	pooled := append(proposalsOf(a), proposalsOf(b)...)
	d := distances(pooled, space)
	order := make([]int, len(pooled))
	for i := range order {
		order[i] = i
	}
	pair := Pair{A: a.Name, B: b.Name, Distance: mean(d, order[:a.Usable], order[a.Usable:]), Floor: max(a.NoiseFloor, b.NoiseFloor)}
	switch {
	case mean(d, order, order) == 0:
		pair.Verdict = VerdictIdentical
		return pair
	case min(a.Usable, b.Usable) < fewest:
		pair.Verdict = VerdictTooFew
		return pair
	}
	p := chance(d, order, a.Usable, experiment.Rand("replay", "agreement", a.Name, b.Name).Shuffle)
	pair.P, pair.Verdict = &p, VerdictAlike
	if p < significant {
		pair.Verdict = VerdictDiffer
	}
	return pair
}

func proposalsOf(c CellResult) []experiment.Curriculum {
	var out []experiment.Curriculum
	for _, d := range c.Draws {
		if d.usable() {
			out = append(out, d.Asked)
		}
	}
	return out
}

func distances(of []experiment.Curriculum, space env.Space) [][]float64 {
	d := make([][]float64, len(of))
	for i := range d {
		d[i] = make([]float64, len(of))
	}
	for i, a := range of {
		for j := range i {
			d[i][j] = behaviour.Distance(a, of[j], space)
			d[j][i] = d[i][j]
		}
	}
	return d
}

// chance deals the proposals to two cells again and again. Distances that differ
// by rounding alone count as equal.
func chance(d [][]float64, order []int, n int, shuffle func(int, func(i, j int))) float64 {
	const rounding = 1e-9
	seen := energy(d, order[:n], order[n:])
	dealt, far := slices.Clone(order), 1
	for range permutations {
		shuffle(len(dealt), func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
		if energy(d, dealt[:n], dealt[n:]) >= seen-rounding {
			far++
		}
	}
	return float64(far) / (permutations + 1)
}

// energy is the energy distance of two samples.
func energy(d [][]float64, a, b []int) float64 {
	return 2*mean(d, a, b) - mean(d, a, a) - mean(d, b, b)
}

func mean(d [][]float64, a, b []int) float64 {
	sum := 0.0
	for _, i := range a {
		for _, j := range b {
			sum += d[i][j]
		}
	}
	return sum / float64(len(a)*len(b))
}
