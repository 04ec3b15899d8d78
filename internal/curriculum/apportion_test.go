package curriculum_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"floe/internal/curriculum"
)

func TestApportionGivesLargestRemainders(t *testing.T) {
	eighth := slices.Repeat([]float64{0.125}, 8)
	for name, c := range map[string]struct {
		shares []float64
		total  int
		want   []int
	}{
		"even":              {eighth, 4000, slices.Repeat([]int{500}, 8)},
		"ties to the first": {eighth, 4, []int{1, 1, 1, 1, 0, 0, 0, 0}},
		"largest remainder": {[]float64{0.5, 0.3, 0.2}, 7, []int{4, 2, 1}}, // 3.5, 2.1, 1.4
		"exact decimals":    {[]float64{0.29, 0.71}, 100, []int{29, 71}},
		"decimal ties":      {[]float64{0.1, 0.1, 0.1, 0.3, 0.4}, 5, []int{1, 1, 0, 1, 2}}, // 0.5 0.5 0.5 1.5 2
		"weights":           {[]float64{3, 1}, 8, []int{6, 2}},
		"no shares":         {nil, 5, []int{}},
		"nothing to give":   {[]float64{1, 1}, 0, []int{0, 0}},
		"negative total":    {[]float64{1, 1}, -3, []int{0, 0}},
		"all zero":          {[]float64{0, 0}, 5, []int{0, 0}},
		"no numbers":        {[]float64{math.NaN(), -1, math.Inf(1), 1}, 5, []int{0, 0, 0, 5}},
		"extreme weights":   {[]float64{math.MaxFloat64, math.MaxFloat64, 5e-324}, 3, []int{2, 1, 0}},
	} {
		if got := curriculum.Apportion(c.shares, c.total); !slices.Equal(got, c.want) {
			t.Errorf("%s: Apportion(%v, %d) = %v; want %v", name, c.shares, c.total, got, c.want)
		}
	}
}

func TestApportionedPartsSumToTheTotalAndStayWithinOneOfTheirQuota(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		shares := make([]float64, 1+rng.IntN(12))
		sum := 0.0
		for i := range shares {
			shares[i] = rng.Float64()
			sum += shares[i]
		}
		total, got := rng.IntN(5000), 0
		for i, part := range curriculum.Apportion(shares, total) {
			got += part
			if quota := shares[i] / sum * float64(total); math.Abs(float64(part)-quota) >= 1+1e-6 {
				t.Errorf("part %d of %v is %d; want within one of %v", i, shares, part, quota)
			}
		}
		if got != total {
			t.Errorf("parts of %v sum to %d; want %d", shares, got, total)
		}
	}
}
