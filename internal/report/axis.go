package report

import (
	"cmp"
	"math"
	"slices"
)

// axis is a scale with round ticks.
type axis struct{ lo, hi, step float64 }

// niceAxis covers [lo, hi] with about want steps of 1, 2 or 5 times a power of ten.
func niceAxis(lo, hi float64, want int) axis {
	if !finite(hi-lo) || hi < lo {
		lo, hi = 0, 1
	}
	if hi-lo < 1e-9*max(1, math.Abs(hi)) {
		hi = lo + max(1e-3, math.Abs(lo)*0.1)
	}
	step := niceStep((hi - lo) / float64(want))
	return axis{math.Floor(lo/step+1e-9) * step, math.Ceil(hi/step-1e-9) * step, step}
}

// percentAxis starts at 0 and ends at 100 at the latest.
func percentAxis(top float64) axis {
	a := niceAxis(0, min(max(top, 5), 100), 4)
	if a.hi > 100 {
		return axis{0, 100, 25}
	}
	return a
}

func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func (a axis) ticks() []float64 {
	n := int(math.Round((a.hi - a.lo) / a.step))
	list := make([]float64, 0, n+1)
	for i := range n + 1 {
		list = append(list, a.lo+float64(i)*a.step)
	}
	return list
}

// at maps a value to between from (for lo) and to (for hi).
func (a axis) at(v, from, to float64) float64 {
	return from + (v-a.lo)/(a.hi-a.lo)*(to-from)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// spread moves labels apart along a line until none is nearer than gap to the
// next, keeping their order and staying between lo and hi where they fit.
func spread(wanted []float64, gap, lo, hi float64) []float64 {
	order := make([]int, len(wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
	placed := slices.Clone(wanted)
	floor := lo
	for _, i := range order {
		placed[i] = max(placed[i], floor)
		floor = placed[i] + gap
	}
	ceiling := hi
	for _, i := range slices.Backward(order) {
		placed[i] = min(placed[i], ceiling)
		ceiling = placed[i] - gap
	}
	return placed
}

// thin keeps at most limit of n indices, evenly spaced, the first and the last
// among them.
func thin(n, limit int) []int {
	if n <= 0 {
		return nil
	}
	if n <= limit || limit < 2 {
		limit = n
	}
	if limit == 1 {
		return []int{0}
	}
	list := make([]int, limit)
	for i := range list {
		list[i] = i * (n - 1) / (limit - 1)
	}
	return list
}

// runningMean smooths values with a centred window of the given width, narrower
// at the ends. Values that are no numbers are left out.
func runningMean(values []float64, width int) []float64 {
	half := max(width, 1) / 2
	smooth := make([]float64, len(values))
	for i := range values {
		sum, n := 0.0, 0
		for _, v := range values[max(0, i-half):min(len(values), i+half+1)] {
			if finite(v) {
				sum, n = sum+v, n+1
			}
		}
		smooth[i] = math.NaN()
		if n > 0 {
			smooth[i] = sum / float64(n)
		}
	}
	return smooth
}
