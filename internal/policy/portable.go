package policy

import "math"

// Weights should not depend on the machine that trained them: a step's key names
// its result, whoever did the step. Two things would make them depend. Some
// architectures fuse a product and a sum into one operation with one rounding;
// Go allows that unless the product is converted explicitly, so this package
// writes float32(a*b) + c. And the standard library's exp and log differ in the
// last bit between architectures; the two below do not.

// Series of exp and of atanh(f)/f in f squared, last term first.
var (
	expSeries = [...]float64{
		1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1,
	}
	logSeries = [...]float64{1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1}
)

// exp is e to the x for x <= 0, to about 1e-13.
func exp(x float64) float64 {
	const (
		log2e  = 1.44269504088896338700
		ln2Hi  = 6.93147180369123816490e-01 // trailing bits are zero: k*ln2Hi is exact
		ln2Low = 1.90821492927058770002e-10
	)
	if x < -700 {
		return 0
	}
	k := math.Floor(float64(x*log2e) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Low) // in [-0.35, 0.35]
	p := 0.0
	for _, c := range expSeries {
		p = c + float64(r*p)
	}
	return float64(p * math.Float64frombits(uint64(int64(k)+1023)<<52))
}

// log is the natural logarithm for x >= 1, to about 1e-14.
func log(x float64) float64 {
	bits := math.Float64bits(x)
	k := float64(int64(bits>>52) - 1023)
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52) // in [1, 2)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	f := (m - 1) / (m + 1) // log m = 2 atanh f
	square := float64(f * f)
	p := 0.0
	for _, c := range logSeries {
		p = c + float64(square*p)
	}
	return float64(k*math.Ln2) + float64(2*f*p)
}
