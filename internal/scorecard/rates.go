package scorecard

import (
	"math"

	"floe/internal/experiment"
)

// Z95 is the normal quantile of a two-sided 95 % interval.
const Z95 = 1.959963984540054

// Wilson is the score interval for k successes in n trials at normal quantile z
// (Wilson 1927, J. Am. Stat. Assoc. 22:209-212, without continuity correction):
//
//	(p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n),  p = k/n
//
// Unlike p ± z·se it stays in [0, 1] and has width at k = 0 and k = n. Without
// trials nothing is known: [0, 1].
func Wilson(k, n int, z float64) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	trials := float64(n)
	p := min(1, max(0, float64(k)/trials))
	z2 := z * z / trials
	middle := p + z2/2
	half := math.Abs(z) * math.Sqrt((p*(1-p)+z2/4)/trials)
	return max(0, (middle-half)/(1+z2)), min(1, (middle+half)/(1+z2))
}

// Row is one line of a scorecard's table: the rates of a size, of one group in
// it, or of everything, with 95 % intervals.
type Row struct {
	Size  string // "" for the total
	Group string // "" for all groups together
	experiment.Rates
	ValidLow, ValidHigh     float64
	OptimalLow, OptimalHigh float64
	Truncated               int
	MeanTokens              float64 // tokens per answer; 0 when nothing was scored
	CostRatio               float64 // cost over optimal cost of valid answers; 1 is perfect, 0 when there are none
	Errors                  []ErrorShare
}

// ErrorShare is how many answers failed one check.
type ErrorShare struct {
	Check string
	Count int
	Share float64 // of the answers, in [0, 1]; shares can sum to more than 1
}

// BySize are the rows of a card's sizes in order, and last the total.
func BySize(s experiment.Scorecard) []Row {
	var rows []Row
	for _, size := range s.Sizes() {
		rows = append(rows, row(s, size, "", func(c experiment.Cell) bool { return c.Size == size }))
	}
	return append(rows, Total(s))
}

// ByGroup are the rows of a card's cells in order: each size's groups apart.
func ByGroup(s experiment.Scorecard) []Row {
	var rows []Row
	for _, of := range s.Cells {
		rows = append(rows, row(s, of.Size, of.Group, func(c experiment.Cell) bool { return c.Size == of.Size && c.Group == of.Group }))
	}
	return rows
}

// Total is the row of all cells together.
func Total(s experiment.Scorecard) Row {
	return row(s, "", "", func(experiment.Cell) bool { return true })
}

func row(s experiment.Scorecard, size, group string, in func(experiment.Cell) bool) Row {
	var sum experiment.Cell
	for _, c := range s.Cells {
		if in(c) {
			sum = plus(sum, c)
		}
	}
	r := Row{
		Size: size, Group: group,
		Rates:      experiment.Rates{N: sum.N, Valid: sum.Valid, Optimal: sum.Optimal},
		Truncated:  sum.Truncated,
		MeanTokens: ratio(float64(sum.Tokens), float64(sum.N)),
		CostRatio:  ratio(float64(sum.Cost), float64(sum.Optimum)),
	}
	r.ValidLow, r.ValidHigh = Wilson(sum.Valid, sum.N, Z95)
	r.OptimalLow, r.OptimalHigh = Wilson(sum.Optimal, sum.N, Z95)
	for i, check := range s.Checks {
		n := at(sum.Errors, i)
		r.Errors = append(r.Errors, ErrorShare{check, n, ratio(float64(n), float64(sum.N))})
	}
	return r
}

// plus adds the counts of b to a, keeping a's name.
func plus(a, b experiment.Cell) experiment.Cell {
	failed := make([]int, max(len(a.Errors), len(b.Errors)))
	for i := range failed {
		failed[i] = at(a.Errors, i) + at(b.Errors, i)
	}
	return experiment.Cell{
		Size: a.Size, Group: a.Group,
		N: a.N + b.N, Valid: a.Valid + b.Valid, Optimal: a.Optimal + b.Optimal, Truncated: a.Truncated + b.Truncated,
		Errors: failed,
		Tokens: a.Tokens + b.Tokens, Cost: a.Cost + b.Cost, Optimum: a.Optimum + b.Optimum,
	}
}

func at(counts []int, i int) int {
	if i < len(counts) {
		return counts[i]
	}
	return 0
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
