// Package analysis compares arms of a sweep: counts pooled over seeds, the spread
// between seeds, and differences to a baseline on the same instances.
//
// Rates are counts over counts, so figures never part from their n. The choices of
// method are ours; the paper gives neither seeds nor intervals.
package analysis

import (
	"math"
	"slices"

	"floe/internal/scorecard"
)

// Pairs counts instances that two policies answered: right by both, by the first
// only, by the second only, by neither.
type Pairs struct {
	Both    int `json:"both"`
	First   int `json:"first"`
	Second  int `json:"second"`
	Neither int `json:"neither"`
}

// Plus pools pairs, as over seeds.
func (p Pairs) Plus(q Pairs) Pairs {
	return Pairs{p.Both + q.Both, p.First + q.First, p.Second + q.Second, p.Neither + q.Neither}
}

// N is how many instances were paired.
func (p Pairs) N() int { return p.Both + p.First + p.Second + p.Neither }

// Difference is the first's rate less the second's; NaN without pairs.
func (p Pairs) Difference() float64 { return float64(p.First-p.Second) / float64(p.N()) }

// Interval is a 95 % interval of the difference of two rates on the same
// instances (Newcombe 1998, Stat. Med. 17:2635-2650, method 10: from the two
// Wilson intervals and the correlation of the pairs). Unlike difference ± z·se it
// stays in [-1, 1] and has width where no pair is discordant.
func (p Pairs) Interval() (lo, hi float64) {
	n := float64(p.N())
	if n == 0 {
		return -1, 1
	}
	a, b, c, d := float64(p.Both), float64(p.First), float64(p.Second), float64(p.Neither)
	p1, p2 := (a+b)/n, (a+c)/n
	l1, u1 := scorecard.Wilson(p.Both+p.First, p.N(), scorecard.Z95)
	l2, u2 := scorecard.Wilson(p.Both+p.Second, p.N(), scorecard.Z95)
	phi := correlation(a, b, c, d)
	below := math.Sqrt(sq(p1-l1) - 2*phi*(p1-l1)*(u2-p2) + sq(u2-p2))
	above := math.Sqrt(sq(u1-p1) - 2*phi*(u1-p1)*(p2-l2) + sq(p2-l2))
	diff := p.Difference()
	return max(-1, diff-below), min(1, diff+above)
}

// correlation is the pairs' phi; a positive one is taken half an instance
// smaller, as in the method.
func correlation(a, b, c, d float64) float64 {
	scale := math.Sqrt((a + b) * (c + d) * (a + c) * (b + d))
	if scale == 0 {
		return 0
	}
	cross := a*d - b*c
	if cross > 0 {
		cross = max(0, cross-(a+b+c+d)/2)
	}
	return cross / scale
}

func sq(x float64) float64 { return x * x }

// McNemar is the exact two-sided p value that the two rates are the same
// (McNemar 1947; binomial on the discordant pairs). 1 where there are none.
func (p Pairs) McNemar() float64 {
	n, k := p.First+p.Second, min(p.First, p.Second)
	if n == 0 {
		return 1
	}
	logHalf := float64(n) * math.Log(0.5)
	tail := 0.0
	for i := range k + 1 {
		tail += math.Exp(logChoose(n, i) + logHalf)
	}
	return min(1, 2*tail)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Holm adjusts p values for being several (Holm 1979): an adjusted value below
// 0.05 means that the family errs in at most 5 % of cases.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
