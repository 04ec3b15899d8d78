package curriculum

import (
	"fmt"
	"math"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
)

// fitSteps is in how many steps Fit walks a row's knobs to their easy ends.
const fitSteps = 4

// Feasible is the hook for Fit that asks an environment whether it can draw
// tasks from a row. Of the order, all but the curriculum counts.
func Feasible(e env.Environment, order env.Order) func(experiment.Row) error {
	return func(row experiment.Row) error {
		row.DataRatio = 1
		order.Curriculum = experiment.Curriculum{Rows: []experiment.Row{row}}
		return e.Validate(order)
	}
}

// Fit makes a legal curriculum one that can be drawn. A legal row may still be
// impossible for an order: half of a 3x3 map as holes leaves no room for four
// agents. Such a row's knobs move toward their easy ends until it is feasible;
// a row that never is gives its samples to the others in proportion. Each
// repair is a sentence. Fit fails if no row with samples can be drawn.
func Fit(c experiment.Curriculum, space env.Space, feasible func(experiment.Row) error) (experiment.Curriculum, []string, error) {
	fitted := c.Clone()
	var repairs, causes []string
	freed := false
	for i, row := range fitted.Rows {
		if row.DataRatio == 0 {
			continue
		}
		eased, err := ease(row, space, feasible)
		if err != nil {
			cause := fmt.Sprintf("%s gets no samples: %s", row.Size, oneLine(err))
			causes, freed = append(causes, cause), true
			repairs = append(repairs, cause)
			fitted.Rows[i].DataRatio = 0
			continue
		}
		repairs = append(repairs, easings(row, eased)...)
		fitted.Rows[i] = eased
	}
	if !(largestShare(fitted) > 0) {
		return experiment.Curriculum{}, nil, fmt.Errorf("no size of the curriculum can be drawn: %s", strings.Join(causes, "; "))
	}
	if freed {
		scale(fitted)
		tidy(fitted, 0)
	}
	return fitted, repairs, nil
}

// ease returns the row, or the nearest on the way to its easy ends that is
// feasible. The error is that of the row as it was.
func ease(row experiment.Row, space env.Space, feasible func(experiment.Row) error) (experiment.Row, error) {
	first := feasible(row)
	if first == nil {
		return row, nil
	}
	for step := 1; step <= fitSteps; step++ {
		eased := row
		eased.Knobs = append([]experiment.Knob(nil), row.Knobs...)
		for j := range eased.Knobs {
			k := space.Knobs[j]
			v := row.Knobs[j].Value + (k.Easy-row.Knobs[j].Value)*float64(step)/fitSteps
			eased.Knobs[j].Value = clamp(hundredths(v), k)
		}
		if feasible(eased) == nil {
			return eased, nil
		}
	}
	return row, first
}

func easings(from, to experiment.Row) (repairs []string) {
	for j, k := range to.Knobs {
		if was := from.Knobs[j].Value; math.Abs(was-k.Value) > 0 {
			repairs = append(repairs, fmt.Sprintf("%s %s %s -> %s: easier, since no task can be drawn otherwise", to.Size, k.Name, show(was), show(k.Value)))
		}
	}
	return repairs
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
