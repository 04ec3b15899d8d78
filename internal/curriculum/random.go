package curriculum

import (
	"math"
	"math/rand/v2"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Random draws round 0's curriculum. That it is random is the paper's; how, is
// ours: shares uniform over all ways to share out (Dirichlet with all weights
// 1), in hundredths that sum to exactly 1.00 (largest remainder), and every
// knob uniform between its ends, rounded to two decimals. The draws are made
// size by size, the share first, then the knobs in their order.
func Random(space env.Space, rng *rand.Rand) experiment.Curriculum {
	c := Uniform(space)
	for i := range c.Rows {
		c.Rows[i].DataRatio = rng.ExpFloat64()
		for j, k := range space.Knobs {
			v := k.Min + rng.Float64()*(k.Max-k.Min)
			c.Rows[i].Knobs[j].Value = clamp(hundredths(v), k)
		}
	}
	scale(c)
	round(c, 100)
	return c
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }

func clamp(v float64, k env.Knob) float64 { return max(k.Min, min(k.Max, v)) }

// scale divides shares by their sum, which must be positive. The largest goes
// first, so that no sum overflows.
func scale(c experiment.Curriculum) {
	for _, divisor := range []func(experiment.Curriculum) float64{largestShare, shareSum} {
		d := divisor(c)
		for i := range c.Rows {
			c.Rows[i].DataRatio /= d
		}
	}
}

func largestShare(c experiment.Curriculum) float64 {
	largest := 0.0
	for _, row := range c.Rows {
		largest = max(largest, row.DataRatio)
	}
	return largest
}

// round rounds shares that sum to 1 to multiples of 1/parts that sum to 1.
func round(c experiment.Curriculum, parts int) {
	shares := make([]float64, len(c.Rows))
	for i, row := range c.Rows {
		shares[i] = row.DataRatio
	}
	for i, n := range Apportion(shares, parts) {
		c.Rows[i].DataRatio = float64(n) / float64(parts)
	}
}
