package curriculum_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/experiment"
)

func TestRandomIsLegalInHundredthsAndNamedByItsSeed(t *testing.T) {
	for seed := range uint64(500) {
		c := random(t, seed)
		if err := legal(c, pond()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total := 0
		for _, r := range c.Rows {
			total += int(math.Round(r.DataRatio * 100))
			if !hundredth(r.DataRatio) || !hundredth(r.Knobs[0].Value) {
				t.Fatalf("seed %d: %+v is not in hundredths", seed, r)
			}
		}
		if total != 100 {
			t.Fatalf("seed %d: shares sum to %d hundredths; want 100", seed, total)
		}
		if again := random(t, seed); !reflect.DeepEqual(again, c) {
			t.Fatalf("seed %d drew %v, then %v", seed, c, again)
		}
	}
}

func hundredth(v float64) bool { return v == math.Round(v*100)/100 }

// A Dirichlet share with all weights 1 over three sizes has mean 1/3 and
// variance 1/18; a uniform knob has the mean of its ends.
func TestRandomSpreadsOverTheWholeSpace(t *testing.T) {
	const draws = 4000
	var sum, squares, holes, depth float64
	for seed := range uint64(draws) {
		r := random(t, seed).Rows[1]
		sum += r.DataRatio
		squares += r.DataRatio * r.DataRatio
		holes += r.Knobs[0].Value
		depth += r.Knobs[2].Value
	}
	mean := sum / draws
	for _, c := range []struct {
		what                 string
		got, want, tolerance float64
	}{
		{"mean share", mean, 1.0 / 3, 0.015},
		{"variance of the share", squares/draws - mean*mean, 1.0 / 18, 0.005},
		{"mean hole_ratio", holes / draws, 0.25, 0.01},
		{"mean depth", depth / draws, 5, 0.15},
	} {
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("%s = %.4f; want %.4f", c.what, c.got, c.want)
		}
	}
}

func TestUniformIsLegal(t *testing.T) {
	if err := legal(curriculum.Uniform(pond()), pond()); err != nil {
		t.Error(err)
	}
}

func TestDiffListsWhatChanged(t *testing.T) {
	from, to := even(), even()
	to.Rows[0].DataRatio = 0.4
	to.Rows[2].DataRatio = 0.35
	to.Rows[2].Knobs[0].Value = 0.5
	want := []experiment.Change{
		{Size: "3x3", Field: "data_ratio", From: 0.5, To: 0.4},
		{Size: "5x5", Field: "data_ratio", From: 0.25, To: 0.35},
		{Size: "5x5", Field: "hole_ratio", From: 0.3, To: 0.5},
	}
	if got := curriculum.Diff(from, to); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
	if got := curriculum.Diff(from, from); got != nil {
		t.Errorf("a curriculum differs from itself: %v", got)
	}
}

func TestDiffCountsWhatIsMissingAsZero(t *testing.T) {
	got := curriculum.Diff(of(row("3x3", 1, 0.1, 0, 0)), of(row("4x4", 1, 0, 0, 2)))
	want := []experiment.Change{
		{Size: "4x4", Field: "data_ratio", From: 0, To: 1},
		{Size: "4x4", Field: "depth", From: 0, To: 2},
		{Size: "3x3", Field: "data_ratio", From: 1, To: 0},
		{Size: "3x3", Field: "hole_ratio", From: 0.1, To: 0},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
}

func TestDiffLeavesItsInputsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := wild(rng), wild(rng)
		keepA, keepB := a.Clone(), b.Clone()
		curriculum.Diff(a, b)
		if !same(a, keepA) || !same(b, keepB) {
			t.Fatalf("Diff changed its input: %v %v", a, b)
		}
	}
}

// same compares like reflect.DeepEqual, with NaN equal to itself.
func same(a, b experiment.Curriculum) bool {
	if len(a.Rows) != len(b.Rows) {
		return false
	}
	for i, r := range a.Rows {
		s := b.Rows[i]
		if r.Size != s.Size || !sameValue(r.DataRatio, s.DataRatio) || len(r.Knobs) != len(s.Knobs) {
			return false
		}
		for j, k := range r.Knobs {
			if k.Name != s.Knobs[j].Name || !sameValue(k.Value, s.Knobs[j].Value) {
				return false
			}
		}
	}
	return true
}

func sameValue(a, b float64) bool { return a == b || (math.IsNaN(a) && math.IsNaN(b)) }
