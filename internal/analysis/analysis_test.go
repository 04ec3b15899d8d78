package analysis_test

import (
	"fmt"
	"math"
	"testing"

	"floe/internal/analysis"
	"floe/internal/experiment"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestMcNemarIsTheBinomialOnDiscordantPairs(t *testing.T) {
	for _, c := range []struct {
		p    analysis.Pairs
		want float64
	}{
		{analysis.Pairs{Both: 10, Neither: 3}, 1},
		{analysis.Pairs{First: 1}, 1},
		{analysis.Pairs{First: 5}, 2.0 / 32},
		{analysis.Pairs{First: 2, Second: 8}, 2 * (1 + 10 + 45) / 1024.0},
		{analysis.Pairs{First: 4, Second: 4}, 1},
		{analysis.Pairs{Both: 7, First: 8, Second: 2, Neither: 9}, 2 * (1 + 10 + 45) / 1024.0},
	} {
		if got := c.p.McNemar(); !near(got, c.want, 1e-12) {
			t.Errorf("%+v: p = %v; want %v", c.p, got, c.want)
		}
	}
	if p := (analysis.Pairs{First: 3000, Second: 2500}).McNemar(); !(p > 0 && p < 1e-9) {
		t.Errorf("thousands of pairs: p = %v; want small and positive", p)
	}
}

func TestPairedIntervalsHoldTheirLaws(t *testing.T) {
	rng := experiment.Rand("analysis", "laws")
	for range 500 {
		p := analysis.Pairs{Both: rng.IntN(30), First: rng.IntN(30), Second: rng.IntN(30), Neither: 1 + rng.IntN(30)}
		lo, hi := p.Interval()
		if d := p.Difference(); !(lo >= -1 && hi <= 1 && lo < d+1e-12 && hi > d-1e-12 && lo < hi) {
			t.Fatalf("%+v: [%v, %v] around %v", p, lo, hi, d)
		}
		swapped := analysis.Pairs{Both: p.Both, First: p.Second, Second: p.First, Neither: p.Neither}
		if slo, shi := swapped.Interval(); !near(slo, -hi, 1e-12) || !near(shi, -lo, 1e-12) {
			t.Fatalf("%+v: swapped [%v, %v]; want [%v, %v]", p, slo, shi, -hi, -lo)
		}
		more := analysis.Pairs{Both: 4 * p.Both, First: 4 * p.First, Second: 4 * p.Second, Neither: 4 * p.Neither}
		if mlo, mhi := more.Interval(); mhi-mlo >= hi-lo {
			t.Fatalf("%+v: four times the pairs give [%v, %v], not narrower than [%v, %v]", p, mlo, mhi, lo, hi)
		}
	}
}

// TestPairedIntervalsCover draws pairs of known rates: about 95 % of the intervals
// must hold the true difference. 2000 draws have a standard error of half a percent.
func TestPairedIntervalsCover(t *testing.T) {
	rng := experiment.Rand("analysis", "coverage")
	for _, truth := range [][4]float64{{0.4, 0.2, 0.1, 0.3}, {0.05, 0.03, 0.02, 0.9}, {0.25, 0.25, 0.25, 0.25}} {
		covered := 0
		const draws = 2000
		for range draws {
			var n [4]int
			for range 100 {
				u, k := rng.Float64(), 0
				for k < 3 && u >= truth[k] {
					u -= truth[k]
					k++
				}
				n[k]++
			}
			lo, hi := (analysis.Pairs{Both: n[0], First: n[1], Second: n[2], Neither: n[3]}).Interval()
			if d := truth[1] - truth[2]; lo <= d && d <= hi {
				covered++
			}
		}
		if share := float64(covered) / draws; share < 0.93 || share > 0.99 {
			t.Errorf("rates %v: %.1f %% of intervals hold the truth; want about 95 %%", truth, 100*share)
		}
	}
}

func TestHolmAdjustsAndKeepsTheOrder(t *testing.T) {
	got := fmt.Sprint(analysis.Holm([]float64{0.01, 0.04, 0.03, 0.5}))
	if want := "[0.04 0.09 0.09 0.5]"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// outcomes has the first valid answers right, and the first half of those optimal.
func outcomes(n, valid int) []analysis.Outcome {
	var all []analysis.Outcome
	for i := range n {
		all = append(all, analysis.Outcome{ID: fmt.Sprint(i), Valid: i < valid, Optimal: i < valid/2})
	}
	return all
}

func TestArmsArePooledSpreadAndPaired(t *testing.T) {
	rows := analysis.Table([]string{"base", "better", "holes"}, []int{2, 2, 2}, 0, []analysis.Result{
		{Arm: 0, Seed: 1, Set: "v1", Outcomes: outcomes(100, 40)},
		{Arm: 0, Seed: 2, Set: "v2", Outcomes: outcomes(100, 50)},
		{Arm: 1, Seed: 1, Set: "v1", Outcomes: outcomes(100, 60)},
		{Arm: 1, Seed: 2, Set: "v2", Outcomes: outcomes(100, 70)},
		{Arm: 2, Seed: 2, Set: "another set", Outcomes: outcomes(100, 50)},
	})
	if len(rows) != 6 {
		t.Fatalf("%d rows; want three arms by two metrics", len(rows))
	}
	base, better, holes, optimal := rows[0], rows[1], rows[2], rows[4]
	if base.Versus != nil || base.N != 200 || base.K != 90 || base.Seeds.Min != 0.4 || base.Seeds.Max != 0.5 {
		t.Errorf("baseline %+v", base)
	}
	v := better.Versus
	if v == nil || v.Pairs != (analysis.Pairs{Both: 90, First: 40, Neither: 70}) || !near(v.Difference, 0.2, 1e-12) || v.Better != 2 || v.Baseline != "base" {
		t.Errorf("the better arm differs by %+v", v)
	}
	if v.PHolm != v.P || !near(v.Seeds.Mean, 0.2, 1e-12) || v.Seeds.SD == nil || !near(*v.Seeds.SD, 0, 1e-12) {
		t.Errorf("one comparison, equal in both seeds, gives %+v", v)
	}
	if holes.Cells != 1 || holes.Wanted != 2 || holes.Versus != nil || holes.Seeds.SD != nil {
		t.Errorf("an arm with a hole and another set: %+v", holes)
	}
	if optimal.Metric != "optimal" || optimal.K != 65 {
		t.Errorf("optimal %+v", optimal)
	}
}

// TestPairedIntervalIsThePublishedOne pins the example of the paper that gives the
// method: 36, 12, 2 and 0 pairs, interval 0.0569 to 0.3404.
func TestPairedIntervalIsThePublishedOne(t *testing.T) {
	lo, hi := (analysis.Pairs{Both: 36, First: 12, Second: 2}).Interval()
	if !near(lo, 0.0569, 5e-5) || !near(hi, 0.3404, 5e-5) {
		t.Errorf("got %.4f to %.4f; want 0.0569 to 0.3404", lo, hi)
	}
}
