package curriculum_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"floe/internal/config/strict"
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// pond is a small space with lake's knobs and one more whose range does not
// begin at 0.
func pond() env.Space {
	return env.Space{
		Sizes: []string{"3x3", "4x4", "5x5"},
		Knobs: []env.Knob{
			{Name: "hole_ratio", Min: 0, Max: 0.5, Default: 0.3, Easy: 0, Hard: 0.5},
			{Name: "wait_ratio", Min: 0, Max: 1, Default: 0.5, Easy: 0, Hard: 1},
			{Name: "depth", Min: 1, Max: 9, Default: 2, Easy: 1, Hard: 9},
		},
	}
}

func row(size string, share, holes, wait, depth float64) experiment.Row {
	return experiment.Row{Size: size, DataRatio: share, Knobs: []experiment.Knob{
		{Name: "hole_ratio", Value: holes}, {Name: "wait_ratio", Value: wait}, {Name: "depth", Value: depth},
	}}
}

func of(rows ...experiment.Row) experiment.Curriculum { return experiment.Curriculum{Rows: rows} }

// even is a legal curriculum.
func even() experiment.Curriculum {
	return of(row("3x3", 0.5, 0.1, 0.2, 2), row("4x4", 0.25, 0.2, 0.3, 3), row("5x5", 0.25, 0.3, 0.4, 4))
}

func random(t *testing.T, seed uint64) experiment.Curriculum {
	t.Helper()
	return curriculum.Random(pond(), rand.New(rand.NewPCG(seed, 1)))
}

// wild draws a curriculum that may be anything: sizes missing, unknown, twice,
// out of order; values out of range or no numbers.
func wild(rng *rand.Rand) experiment.Curriculum {
	var c experiment.Curriculum
	sizes := []string{"3x3", "4x4", "5x5", "5x5", "99x99", ""}
	knobs := []string{"hole_ratio", "wait_ratio", "depth", "depth", "salt"}
	for _, i := range rng.Perm(len(sizes))[:rng.IntN(len(sizes)+1)] {
		r := experiment.Row{Size: sizes[i], DataRatio: wildValue(rng)}
		for _, j := range rng.Perm(len(knobs))[:rng.IntN(len(knobs)+1)] {
			r.Knobs = append(r.Knobs, experiment.Knob{Name: knobs[j], Value: wildValue(rng)})
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

func wildValue(rng *rand.Rand) float64 {
	odd := []float64{
		0, 1, -1, 0.5, 100, 1e-9, math.Copysign(0, -1), math.SmallestNonzeroFloat64,
		math.MaxFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 1 + 5e-7,
	}
	if rng.IntN(2) == 0 {
		return odd[rng.IntN(len(odd))]
	}
	return rng.Float64()
}

// parse reads a text as an experiment's file is read: all faults, a line each.
func parse(src []byte, space env.Space) (experiment.Curriculum, error) {
	root, faults := strict.Parse(src)
	var c experiment.Curriculum
	if root != nil {
		var more []curriculum.Fault
		c, more = curriculum.FromNode(root, space)
		faults = append(faults, more...)
	}
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = fmt.Errorf("curriculum:%s", f)
	}
	return c, errors.Join(errs...)
}

// legal says what keeps a curriculum out of the space: a legal one is read as it was written.
func legal(c experiment.Curriculum, space env.Space) error {
	read, err := parse([]byte(curriculum.Format(c)), space)
	if err == nil && !reflect.DeepEqual(read, c) {
		err = fmt.Errorf("%v is read as %v", c, read)
	}
	return err
}
