package curriculum

import (
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Apportion divides total among shares by the largest remainder (Hamilton's
// method): everyone gets the whole part of its quota, and what is left goes one
// each to the largest remainders, of equal ones to the first. The parts sum to
// total and stay within one of their quotas. Shares need not sum to 1; those
// that are no positive number count as 0, and if none is positive, no one gets
// anything.
//
// It computes with the decimals that were written, not with their binary
// neighbours: three times 0.1 ties with 0.3.
func Apportion(shares []float64, total int) []int {
	parts := make([]int, len(shares))
	weights := make([]*big.Rat, len(shares))
	sum := new(big.Rat)
	for i, s := range shares {
		weights[i] = decimal(s)
		sum.Add(sum, weights[i])
	}
	if sum.Sign() == 0 || total <= 0 {
		return parts
	}
	left := total
	remainders := make([]*big.Rat, len(shares))
	for i, w := range weights {
		parts[i], remainders[i] = quota(w, sum, total)
		left -= parts[i]
	}
	for _, i := range byRemainder(remainders)[:left] {
		parts[i]++
	}
	return parts
}

// decimal is the number whose shortest notation the float has.
func decimal(s float64) *big.Rat {
	r := new(big.Rat)
	if s > 0 && !math.IsInf(s, 1) {
		r.SetString(strconv.FormatFloat(s, 'g', -1, 64))
	}
	return r
}

// quota splits weight/sum*total into its whole part and the remainder.
func quota(weight, sum *big.Rat, total int) (whole int, remainder *big.Rat) {
	q := new(big.Rat).Quo(weight, sum)
	q.Mul(q, new(big.Rat).SetInt64(int64(total)))
	floor := new(big.Int).Quo(q.Num(), q.Denom())
	return int(floor.Int64()), q.Sub(q, new(big.Rat).SetInt(floor))
}

func byRemainder(remainders []*big.Rat) []int {
	order := make([]int, len(remainders))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return remainders[b].Cmp(remainders[a])
	})
	return order
}
