package report

import (
	"floe/internal/experiment"
	"floe/internal/scorecard"
)

// z95 is the normal quantile of a two-sided 95 % interval.
const z95 = 1.959963984540054

// rate is a share that was counted: K of N. Everything shown about it is
// computed from the two counts, so a figure never parts from its n.
type rate struct{ K, N int }

func validRate(r experiment.Rates) rate   { return rate{r.Valid, r.N} }
func optimalRate(r experiment.Rates) rate { return rate{r.Optimal, r.N} }

// Known says whether there is a share at all.
func (r rate) Known() bool { return r.N > 0 && r.K >= 0 && r.K <= r.N }

// Value is the share in percent; 0 when unknown.
func (r rate) Value() float64 {
	if !r.Known() {
		return 0
	}
	return 100 * float64(r.K) / float64(r.N)
}

// Bounds is the Wilson 95 % interval in percent.
func (r rate) Bounds() (lo, hi float64) {
	if !r.Known() {
		return 0, 0
	}
	lo, hi = scorecard.Wilson(r.K, r.N, z95)
	return 100 * lo, 100 * hi
}

// Figure is the share in percent without the sign, "62.3".
func (r rate) Figure() string {
	if !r.Known() {
		return unknown
	}
	return tenths(r.Value())
}

// Percent is the share with its sign, "62.3 %".
func (r rate) Percent() string {
	if !r.Known() {
		return unknown
	}
	return r.Figure() + percentSign
}

// Interval is the Wilson 95 % interval, "57.4–66.9".
func (r rate) Interval() string {
	if !r.Known() {
		return unknown
	}
	lo, hi := r.Bounds()
	return tenths(lo) + "–" + tenths(hi)
}

// Count is "249 of 400".
func (r rate) Count() string {
	return count(r.K) + " of " + count(r.N)
}

// Sentence is all that is known of the rate, for tooltips and descriptions.
func (r rate) Sentence() string {
	if !r.Known() {
		return "not measured"
	}
	return r.Percent() + " (95 % interval " + r.Interval() + ", " + r.Count() + ")"
}

// gain is the difference of two rates in points, "+47.8", or unknown.
func gain(from, to rate) string {
	if !from.Known() || !to.Known() {
		return unknown
	}
	return signed(to.Value() - from.Value())
}
