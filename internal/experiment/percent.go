package experiment

import (
	"math"
	"math/big"
	"strconv"
)

// Percent writes a share in percent with one decimal, "47.3 %". It is the one
// place that rounds shares for people, so 378 of 800 reads the same everywhere.
func Percent(share float64) string { return Tenths(share) + " %" }

// Tenths is Percent without the sign, for columns and intervals.
func Tenths(share float64) string { return rounded(share, 100, 1) }

// Points writes a difference of shares in percentage points with its sign, "+1.5".
func Points(difference float64) string {
	s := Tenths(difference)
	if difference > 0 && s != "0.0" {
		return "+" + s
	}
	return s
}

// Decimals writes a number with a fixed number of decimals, halves away from zero.
func Decimals(x float64, places int) string { return rounded(x, 1, places) }

// rounded rounds the decimal fraction that a float stands for. The only halves
// among ratios of counts are short decimal fractions, and a float's shortest form
// is exactly that fraction: the float itself may lie on either side of it.
func rounded(x float64, scale int64, places int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	s := exact.Mul(exact, big.NewRat(scale, 1)).FloatString(places) // halves away from zero
	if zero, _ := strconv.ParseFloat(s, 64); zero == 0 {
		return new(big.Rat).FloatString(places) // no "-0.0"
	}
	return s
}
