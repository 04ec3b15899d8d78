package lake

import (
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
)

// record gathers what was drawn, per row of the curriculum.
type record struct {
	rows   []experiment.ConformanceRow
	waits  []int
	optima []map[int]int
}

func newRecord(o env.Order) *record {
	n := len(o.Curriculum.Rows)
	return &record{make([]experiment.ConformanceRow, n), make([]int, n), make([]map[int]int, n)}
}

// add counts the instances of a cell; beyond those found they repeat.
func (r *record) add(c cell, found []candidate, objective string) {
	row := &r.rows[c.row]
	row.Realised += c.want
	row.Repeats += max(0, c.want-len(found))
	if c.group == groupWait {
		r.waits[c.row] += c.want
	}
	if r.optima[c.row] == nil {
		r.optima[c.row] = map[int]int{}
	}
	for i := range c.want {
		r.optima[c.row][found[i%len(found)].optimum(objective)]++
	}
}

// conformance compares with what was ordered.
func (r *record) conformance(o env.Order) experiment.Conformance {
	all := experiment.Conformance{Requested: o.Samples}
	for i, ordered := range o.Curriculum.Rows {
		row := r.rows[i]
		row.Size, row.Requested = ordered.Size, row.Realised
		holes, waits := knobsOf(ordered)
		n := mustSize(ordered.Size)
		row.Knobs = []experiment.Realised{
			{Name: knobHoles, Requested: holes, Realised: float64(holeCount(holes, n)) / float64(n*n)},
			{Name: knobWaits, Requested: waits, Realised: float64(r.waits[i]) / float64(max(1, row.Realised))},
		}
		row.Optima = sorted(r.optima[i])
		all.Realised += row.Realised
		all.Repeats += row.Repeats
		all.Rows = append(all.Rows, row)
	}
	return all
}

func sorted(counts map[int]int) []experiment.CostCount {
	list := []experiment.CostCount{}
	for cost, count := range counts {
		list = append(list, experiment.CostCount{Cost: cost, Count: count})
	}
	slices.SortFunc(list, func(a, b experiment.CostCount) int { return a.Cost - b.Cost })
	return list
}
