// Package curriculum is what floe knows about curricula: reading and writing
// them, drawing round 0's, saying what is wrong with one, and bringing a
// designer's proposal back into the legal space.
//
// A legal curriculum has one row per size of the environment's space, in its
// order, every row with all knobs in the space's order and inside their ranges,
// and shares in [0, 1] that sum to 1.
package curriculum

import (
	"floe/internal/env"
	"floe/internal/experiment"
)

// FieldShare names a row's share of the samples, in files and in changes.
const FieldShare = "data_ratio"

// sumTolerance is how far shares may sum from 1: more than floating point adds,
// less than any typing error.
const sumTolerance = 1e-6

// Uniform gives every size the same share, with the knobs at their defaults.
func Uniform(space env.Space) experiment.Curriculum {
	c := experiment.Curriculum{Rows: make([]experiment.Row, len(space.Sizes))}
	for i, size := range space.Sizes {
		c.Rows[i] = defaultRow(size, space)
		c.Rows[i].DataRatio = 1 / float64(len(space.Sizes))
	}
	return c
}

// defaultRow has no samples and the knobs at their defaults.
func defaultRow(size string, space env.Space) experiment.Row {
	row := experiment.Row{Size: size, Knobs: make([]experiment.Knob, len(space.Knobs))}
	for i, k := range space.Knobs {
		row.Knobs[i] = experiment.Knob{Name: k.Name, Value: k.Default}
	}
	return row
}

func shareSum(c experiment.Curriculum) float64 {
	sum := 0.0
	for _, row := range c.Rows {
		sum += row.DataRatio
	}
	return sum
}

// Diff lists what changed between two curricula, in the order of to. A row or
// knob that one of them lacks counts as 0 there.
func Diff(from, to experiment.Curriculum) []experiment.Change {
	var changes []experiment.Change
	for _, row := range joined(to, from).Rows {
		before, _ := from.Row(row.Size)
		after, _ := to.Row(row.Size)
		if before.DataRatio != after.DataRatio {
			changes = append(changes, experiment.Change{Size: row.Size, Field: FieldShare, From: before.DataRatio, To: after.DataRatio})
		}
		for _, k := range row.Knobs {
			a, _ := before.Knob(k.Name)
			b, _ := after.Knob(k.Name)
			if a != b {
				changes = append(changes, experiment.Change{Size: row.Size, Field: k.Name, From: a, To: b})
			}
		}
	}
	return changes
}

// joined has every row and every knob that a or b has, a's first.
func joined(a, b experiment.Curriculum) experiment.Curriculum {
	all := a.Clone()
	for _, row := range b.Clone().Rows {
		i := rowIndex(all, row.Size)
		if i < 0 {
			all.Rows = append(all.Rows, row)
			continue
		}
		for _, k := range row.Knobs {
			if _, ok := all.Rows[i].Knob(k.Name); !ok {
				all.Rows[i].Knobs = append(all.Rows[i].Knobs, k)
			}
		}
	}
	return all
}

func rowIndex(c experiment.Curriculum, size string) int {
	for i, row := range c.Rows {
		if row.Size == size {
			return i
		}
	}
	return -1
}
