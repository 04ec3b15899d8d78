package curriculum_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

func TestProjectSaysEveryRepair(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name    string
		asked   experiment.Curriculum
		least   float64
		used    experiment.Curriculum
		repairs string
	}{
		{
			"knobs out of range",
			of(row("3x3", 0.5, 0.8, -0.1, 12), row("4x4", 0.25, 0.2, 0.3, 3), row("5x5", 0.25, nan, 0.4, math.Inf(1))), 0,
			of(row("3x3", 0.5, 0.5, 0, 9), row("4x4", 0.25, 0.2, 0.3, 3), row("5x5", 0.25, 0.3, 0.4, 4)),
			`3x3 hole_ratio 0.80 -> 0.50: at most 0.5
3x3 wait_ratio -0.10 -> 0.00: at least 0
3x3 depth 12.00 -> 9.00: at most 9
5x5 hole_ratio NaN -> 0.30: not a number, the last value stays
5x5 depth +Inf -> 4.00: not a number, the last value stays`,
		},
		{
			"shares",
			of(row("3x3", -1, 0.1, 0.2, 2), row("4x4", 30, 0.2, 0.3, 3), row("5x5", 10, 0.3, 0.4, 4)), 0,
			of(row("3x3", 0, 0.1, 0.2, 2), row("4x4", 0.75, 0.2, 0.3, 3), row("5x5", 0.25, 0.3, 0.4, 4)),
			`3x3 data_ratio -1.00 -> 0.00: at least 0
data_ratio of all sizes divided by 40.00, their sum; want a sum of 1`,
		},
		{
			"no shares",
			of(row("3x3", 0, 0.1, 0.2, 2), row("4x4", 0, 0.2, 0.3, 3), row("5x5", 0, 0.3, 0.4, 4)), 0, even(),
			"data_ratio is 0 for all sizes: the last shares stay",
		},
		{
			"a share that is no number",
			of(row("3x3", nan, 0.1, 0.2, 2), row("4x4", 0.25, 0.2, 0.3, 3), row("5x5", 0.25, 0.3, 0.4, 4)), 0, even(),
			"3x3 data_ratio NaN -> 0.50: not a number, the last value stays",
		},
		{
			"a size and a knob missing",
			of(experiment.Row{Size: "3x3", DataRatio: 0.5, Knobs: row("", 0, 0.1, 0.2, 2).Knobs[:2]}, row("5x5", 0.25, 0.3, 0.4, 4)), 0, even(),
			"3x3 depth missing -> 2.00: the last value stays\n4x4 missing: its last settings stay",
		},
		{
			"the others take all",
			of(row("5x5", 0.4, 0.3, 0.4, 4), row("3x3", 0.6, 0.1, 0.2, 2)), 0,
			of(row("3x3", 0.6, 0.1, 0.2, 2), row("4x4", 0, 0.2, 0.3, 3), row("5x5", 0.4, 0.3, 0.4, 4)),
			"4x4 missing: no samples, since the others take them all; its last knobs stay",
		},
		{
			"strangers and doubles",
			of(append(append([]experiment.Row{row("9x9", 1, 0, 0, 1)}, even().Rows...), row("3x3", 1, 0, 0, 1))...), 0, even(),
			"\"9x9\" dropped: no such size\n3x3 given again: the first counts",
		},
		{
			"a least share",
			of(row("3x3", 0.96, 0.1, 0.2, 2), row("4x4", 0.04, 0.2, 0.3, 3), row("5x5", 0, 0.3, 0.4, 4)), 0.1,
			of(row("3x3", 0.8, 0.1, 0.2, 2), row("4x4", 0.1, 0.2, 0.3, 3), row("5x5", 0.1, 0.3, 0.4, 4)),
			`4x4 data_ratio 0.04 -> 0.10: at least min_share; the others give way
5x5 data_ratio 0.00 -> 0.10: at least min_share; the others give way`,
		},
		{
			"a share just above 1",
			of(row("3x3", 1+5e-7, 0.1, 0.2, 2), row("4x4", 0, 0.2, 0.3, 3), row("5x5", 0, 0.3, 0.4, 4)), 0,
			of(row("3x3", 1, 0.1, 0.2, 2), row("4x4", 0, 0.2, 0.3, 3), row("5x5", 0, 0.3, 0.4, 4)),
			"data_ratio of all sizes divided by 1.00, their sum; want a sum of 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			used, repairs := curriculum.Project(c.asked, even(), pond(), c.least)
			if !reflect.DeepEqual(used, c.used) {
				t.Errorf("used %v; want %v", used, c.used)
			}
			if got := strings.Join(repairs, "\n"); got != c.repairs {
				t.Errorf("repairs\n%s\nwant\n%s", got, c.repairs)
			}
		})
	}
}

func TestProjectLeavesALegalCurriculumAlone(t *testing.T) {
	for seed := range uint64(300) {
		c := random(t, seed)
		used, repairs := curriculum.Project(c, even(), pond(), 0)
		if !reflect.DeepEqual(used, c) || len(repairs) > 0 {
			t.Fatalf("seed %d: %v became %v: %v", seed, c, used, repairs)
		}
	}
}

func TestProjectionOfAnythingIsLegalAndStays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		asked, previous := wild(rng), wild(rng)
		checkProjection(t, asked, previous, pond(), []float64{0, 0.05, 0.2, 1.0 / 3, 7, math.NaN(), -1}[rng.IntN(7)])
	}
}

func checkProjection(t *testing.T, asked, previous experiment.Curriculum, space env.Space, least float64) {
	t.Helper()
	before := asked.Clone()
	used, repairs := curriculum.Project(asked, previous, space, least)
	if err := legal(used, space); err != nil {
		t.Fatalf("%+v after %+v, least %v became %+v: %v", asked, previous, least, used, err)
	}
	for _, r := range used.Rows {
		if least > 0 && r.DataRatio < min(least, 1/float64(len(space.Sizes)))-1e-9 {
			t.Fatalf("share %v of %s is under %v", r.DataRatio, r.Size, least)
		}
	}
	again, more := curriculum.Project(used, previous, space, least)
	if !reflect.DeepEqual(again, used) || len(more) > 0 {
		t.Fatalf("%+v projected again became %+v: %v", used, again, more)
	}
	if !same(asked, before) {
		t.Fatalf("Project changed its input")
	}
	if len(repairs) == 0 && legal(sorted(asked, space), space) != nil {
		t.Fatalf("%+v is illegal and was repaired without a word into %+v", asked, used)
	}
}

// sorted puts rows and knobs in the space's order, which needs no repair.
func sorted(c experiment.Curriculum, space env.Space) experiment.Curriculum {
	c = c.Clone()
	slices.SortStableFunc(c.Rows, func(a, b experiment.Row) int {
		return slices.Index(space.Sizes, a.Size) - slices.Index(space.Sizes, b.Size)
	})
	at := func(k experiment.Knob) int {
		return slices.IndexFunc(space.Knobs, func(s env.Knob) bool { return s.Name == k.Name })
	}
	for _, r := range c.Rows {
		slices.SortStableFunc(r.Knobs, func(a, b experiment.Knob) int { return at(a) - at(b) })
	}
	return c
}

func FuzzProject(f *testing.F) {
	f.Add(0.5, 0.5, 0.1, 0.05, "3x3", "hole_ratio")
	f.Add(math.MaxFloat64, math.MaxFloat64, math.NaN(), 0.125, "", "depth")
	f.Add(math.SmallestNonzeroFloat64, 0.0, -1.0, 0.3, "5x5", "")
	f.Fuzz(func(t *testing.T, a, b, knob, least float64, size, name string) {
		asked := of(row("4x4", a, knob, a, b), experiment.Row{Size: size, DataRatio: b, Knobs: []experiment.Knob{{Name: name, Value: knob}}})
		checkProjection(t, asked, of(row("3x3", knob, b, a, a)), pond(), least)
	})
}
