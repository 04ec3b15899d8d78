package policy

import (
	"math"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

// maze is a task of this test alone: five decisions, each shown as three
// features of the way so far.
type maze struct{}

func (maze) Task() env.Task                { return env.Task{ID: "maze"} }
func (maze) Judge(string) env.Verdict      { return env.Verdict{} }
func (maze) Demonstration() ([]int, error) { return nil, nil }
func (maze) Episode() env.Episode          { return &mazeEpisode{} }

const (
	mazeFeatures = 40
	mazeActions  = 3
	mazeSteps    = 5
)

type mazeEpisode struct {
	way   []int
	state int
}

func (e *mazeEpisode) Done() bool     { return len(e.way) == mazeSteps }
func (e *mazeEpisode) Answer() string { return "" }

func (e *mazeEpisode) Act(action int) {
	e.way = append(e.way, action)
	e.state = (e.state*7 + action + 1) % 31
}

func (e *mazeEpisode) Observe(dst []int32) []int32 {
	return append(dst, int32(e.state), int32(31+e.state%4), int32(35+e.state%5))
}

// mazeModel is random with weights that matter in every layer.
func mazeModel(seed string) *Model {
	m, err := New(mazeFeatures, mazeActions, seed)
	if err != nil {
		panic(err)
	}
	rng := experiment.Rand(seed, "scale up")
	for i := m.second(); i < len(m.rows); i++ {
		for j := range m.rows[i] {
			m.rows[i][j] += float32(rng.Float64()-0.5) / 2
		}
	}
	return m
}

// reference computes the objective one rollout at a time, in float64, with
// nothing of what is tested but the weights.
type reference struct {
	temperature float64
	regulariser
}

func (r reference) logP(m *Model, w [][]float64, features []int32) []float64 {
	layer := func(bias []float64, sum func(j int) float64) []float64 {
		h := make([]float64, hidden)
		for j := range h {
			h[j] = max(0, bias[j]+sum(j))
		}
		return h
	}
	h1 := layer(w[m.features], func(j int) (s float64) {
		for _, f := range features {
			s += w[f][j]
		}
		return s
	})
	h2 := layer(w[m.second()+hidden], func(j int) (s float64) {
		for i, h := range h1 {
			if h != 0 { // half are, and the race detector is slow
				s += h * w[m.second()+i][j]
			}
		}
		return s
	})
	logP, sum := make([]float64, m.actions), 0.0
	for a := range logP {
		z := w[m.third()+m.actions][a]
		for j := range h2 {
			z += h2[j] * w[m.third()+a][j]
		}
		logP[a] = z / r.temperature
		sum += math.Exp(logP[a])
	}
	for a := range logP {
		logP[a] -= math.Log(sum)
	}
	return logP
}

func (r reference) objective(m *Model, w, anchor [][]float64, ways [][]int, advantage []float64) float64 {
	total := 0.0
	for i, way := range ways {
		e := maze{}.Episode()
		for _, action := range way {
			features := e.Observe(nil)
			logP := r.logP(m, w, features)
			logQ := logP
			if r.kl != 0 {
				logQ = r.logP(m, anchor, features)
			}
			total += advantage[i] * logP[action]
			for a := range logP {
				p := math.Exp(logP[a])
				total -= r.entropy * p * logP[a]
				total -= r.kl * p * (logP[a] - logQ[a])
			}
			e.Act(action)
		}
	}
	return total
}

func float64s(m *Model) [][]float64 {
	w := make([][]float64, len(m.rows))
	for i := range w {
		for _, x := range m.rows[i] {
			w[i] = append(w[i], float64(x))
		}
	}
	return w
}

func (t *tree) way(end int32) []int {
	if end == 0 {
		return nil
	}
	return append(t.way(t.nodes[end].parent), int(t.nodes[end].action))
}

func TestGradientIsTheSlopeOfTheObjective(t *testing.T) {
	for _, c := range []struct {
		name string
		ref  reference
	}{
		{"advantage", reference{0.6, regulariser{}}},
		{"kl", reference{1.5, regulariser{kl: 0.3}}},
		{"entropy", reference{0.8, regulariser{entropy: 0.2}}},
	} {
		t.Run(c.name, func(t *testing.T) { checkGradient(t, c.ref) })
	}
}

func checkGradient(t *testing.T, ref reference) {
	m, anchor := mazeModel("gradient"), mazeModel("anchor")
	tr := newTree(m, anchor, ref.temperature)
	if err := tr.plant(maze{}); err != nil {
		t.Fatal(err)
	}
	if err := tr.sample(5, experiment.Rand("gradient")); err != nil {
		t.Fatal(err)
	}
	var ways [][]int
	for _, end := range tr.ends {
		ways = append(ways, tr.way(end))
	}
	advantage := []float64{1.5, -0.5, 0.25, -1, 2}
	tr.credit(advantage)
	rows := make([]row, len(m.rows))
	g := m.layers(rows)
	tr.differentiate(&g, ref.regulariser)

	w, q := float64s(m), float64s(anchor)
	slope := func(i, j int) float64 {
		const step = 1e-6
		at := w[i][j]
		defer func() { w[i][j] = at }()
		w[i][j] = at + step
		up := ref.objective(m, w, q, ways, advantage)
		w[i][j] = at - step
		return (up - ref.objective(m, w, q, ways, advantage)) / (2 * step)
	}
	for i := range rows {
		j := i * 5 % hidden // one of every row is enough
		if i == len(rows)-1 {
			j = 1 // the row of output biases is short
		}
		want, got := slope(i, j), float64(rows[i][j])
		if math.Abs(got-want) > 2e-4*(1+math.Abs(want)) {
			t.Errorf("weight %d,%d: gradient %v; slope %v", i, j, got, want)
		}
	}
}

func TestAdvantages(t *testing.T) {
	for _, c := range []struct {
		rewards, want []float64
		spread        bool
	}{
		{[]float64{0, 1}, []float64{-0.70701, 0.70701}, true}, // std is sqrt(1/2)
		{[]float64{1, 1, 1, 5}, []float64{-0.499975, -0.499975, -0.499975, 1.499925}, true},
		{[]float64{0.3, 0.3, 0.3}, []float64{0, 0, 0}, false},
		{[]float64{0, 0}, []float64{0, 0}, false},
		{nil, nil, false},
	} {
		got := make([]float64, len(c.rewards))
		if spread := advantages(got, c.rewards); spread != c.spread {
			t.Errorf("%v has spread: %v; want %v", c.rewards, spread, c.spread)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-5 {
				t.Errorf("advantages of %v are %v; want %v", c.rewards, got, c.want)
				break
			}
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct{ norm, limit, want float64 }{{4, 1, 0.25}, {0.5, 1, 1}, {0, 1, 1}, {4, 0, 1}} {
		if got := clip(c.norm, c.limit); got != c.want {
			t.Errorf("a gradient of %v is scaled by %v for the limit %v; want %v", c.norm, got, c.limit, c.want)
		}
	}
}

func TestExpAndLogAreThoseOfTheLibrary(t *testing.T) {
	for x := 0.0; x < 690; x += 0.0371 {
		if got, want := exp(-x), math.Exp(-x); math.Abs(got-want) > 1e-12*want {
			t.Errorf("exp(%v) = %v; want %v", -x, got, want)
		}
		if got, want := log(1+x), math.Log(1+x); math.Abs(got-want) > 1e-13*(1+want) {
			t.Errorf("log(%v) = %v; want %v", 1+x, got, want)
		}
	}
	if got := exp(-1e9); got != 0 {
		t.Errorf("exp(-1e9) = %v; want 0", got)
	}
}

func TestDrawsFollowTheProbabilities(t *testing.T) {
	tr := newTree(mazeModel("draw"), nil, 1)
	if err := tr.plant(maze{}); err != nil {
		t.Fatal(err)
	}
	const n = 20000
	var counts [mazeActions]int
	rng := experiment.Rand("draw")
	for range n {
		counts[tr.draw(0, rng)]++
	}
	for a, k := range counts {
		if got, want := float64(k)/n, float64(tr.p[a]); math.Abs(got-want) > 0.02 {
			t.Errorf("action %d drawn with %.3f; want %.3f", a, got, want)
		}
	}
}
