package policy

import (
	"testing"

	"floe/internal/experiment"
)

// benchFeatures is what an observation of lake is like: 32 of 1185.
func benchFeatures() (features int, active []int32) {
	rng := experiment.Rand("bench")
	for _, f := range rng.Perm(1185)[:32] {
		active = append(active, int32(f))
	}
	return 1185, active
}

func BenchmarkForward(b *testing.B) {
	n, active := benchFeatures()
	m, err := New(n, 5, "bench")
	if err != nil {
		b.Fatal(err)
	}
	l := m.layers(m.rows)
	var h1, h2 row
	logits, p, logP := make([]float32, 5), make([]float32, 5), make([]float32, 5)
	for b.Loop() {
		l.forward(active, &h1, &h2, logits)
		softmax(logits, 1, p, logP)
	}
}

func BenchmarkBackward(b *testing.B) {
	n, active := benchFeatures()
	m, err := New(n, 5, "bench")
	if err != nil {
		b.Fatal(err)
	}
	l, g := m.layers(m.rows), m.layers(make([]row, len(m.rows)))
	var h1, h2 row
	logits := make([]float32, 5)
	l.forward(active, &h1, &h2, logits)
	for b.Loop() {
		l.backward(&g, active, &h1, &h2, logits)
	}
}

func BenchmarkUpdate(b *testing.B) {
	m, err := New(1185, 5, "bench")
	if err != nil {
		b.Fatal(err)
	}
	c, opt := newCrew(m, nil, 1), newAdam(len(m.rows))
	for b.Loop() {
		if err := c.sum(b.Context(), shards); err != nil {
			b.Fatal(err)
		}
		if _, err := c.climb(b.Context(), opt, 1, 1, 1e-3); err != nil {
			b.Fatal(err)
		}
	}
}
