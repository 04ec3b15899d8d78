package policy

import "math"

// Adam's constants (arXiv:1412.6980).
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// adam climbs: it moves weights along the gradient.
type adam struct {
	m, v           []row
	power1, power2 float64 // beta1 and beta2 to the number of steps
}

func newAdam(rows int) *adam {
	return &adam{m: make([]row, rows), v: make([]row, rows), power1: 1, power2: 1}
}

// resumeAdam goes on after steps, by the same products that led there.
func resumeAdam(m, v []row, steps int) *adam {
	a := &adam{m: m, v: v, power1: 1, power2: 1}
	for range steps {
		a.count()
	}
	return a
}

func (a *adam) count() {
	a.power1 = float64(a.power1 * beta1)
	a.power2 = float64(a.power2 * beta2)
}

// next begins a step by scale times the gradient. The step is made by calling
// what it returns for all rows, in parts and in any order.
func (a *adam) next(scale, rate float64) func(weights, gradient []row, from, to int) {
	a.count()
	size := float32(rate * math.Sqrt(1-a.power2) / (1 - a.power1))
	floor := float32(epsilon * math.Sqrt(1-a.power2))
	return func(weights, gradient []row, from, to int) {
		for i := from; i < to; i++ {
			move(&weights[i], &gradient[i], &a.m[i], &a.v[i], float32(scale), size, floor)
		}
	}
}

func move(w, g, m, v *row, scale, size, floor float32) {
	for j := range w {
		x := float32(g[j] * scale)
		m1 := float32(m[j]*beta1) + float32(x*(1-beta1))
		v1 := float32(v[j]*beta2) + float32(float32(x*x)*(1-beta2))
		m[j], v[j] = m1, v1
		w[j] += float32(size*m1) / (float32(math.Sqrt(float64(v1))) + floor)
	}
}

func squares(rows []row) float64 {
	sum := 0.0
	for i := range rows {
		for _, x := range &rows[i] {
			sum += float64(float64(x) * float64(x))
		}
	}
	return sum
}

// clip is the factor that brings a gradient of length n down to limit; a limit
// of 0 lets every gradient pass.
func clip(n, limit float64) float64 {
	if limit > 0 && n > limit {
		return limit / n
	}
	return 1
}
