package designer

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/curriculum"
	"floe/internal/experiment"
)

var decimal = regexp.MustCompile(`^([+-]?)((?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?([ ]?%)?$`)

// parseNumber reads a plain decimal number, quoted or not, with or without a
// percent sign. It is stricter than YAML, which would take 010 for 8, 1_000 for
// 1000 and .nan for a number.
func parseNumber(n *yaml.Node) (value float64, percent, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 {
		return 0, false, false
	}
	m := decimal.FindStringSubmatch(strings.TrimSpace(n.Value))
	if m == nil {
		return 0, false, false
	}
	v, err := strconv.ParseFloat(m[1]+m[2]+m[3], 64)
	if err != nil {
		return 0, false, false
	}
	return v + 0, m[4] != "", true
}

// judge turns the numbers of an answer into a curriculum, if they can be meant.
func (r Reader) judge(a *answer) Reading {
	normalised := a.scalePercent()
	normalised = r.scaleHundred(a) || normalised
	r.checkMissing(a)
	r.checkRanges(a)
	if len(a.faults) > 0 {
		return a.reading()
	}
	asked, scaled := r.sum(a)
	if len(a.faults) > 0 {
		return a.reading()
	}
	reading := Reading{Class: ClassOK, Rationale: a.rationale, Asked: asked, Notes: a.notes}
	if normalised || scaled {
		reading.Class = ClassNormalised
	}
	return reading
}

// scalePercent takes percent signs as such if all numbers carry one; zero is the
// same with and without.
func (a *answer) scalePercent() bool {
	with, without := 0, 0
	for _, c := range a.cells {
		switch {
		case c.percent:
			with++
		case c.value != 0:
			without++
		}
	}
	if with == 0 {
		return false
	}
	if without > 0 {
		a.fault(ClassAmbiguous, "%d numbers have a percent sign and %d have none; write all as decimals", with, without)
		return false
	}
	for i := range a.cells {
		a.cells[i].value /= 100
	}
	a.note("percent signs were read as hundredths")
	return true
}

// scaleHundred takes shares that sum to about 100 as percentages: as shares they
// could not be meant.
func (r Reader) scaleHundred(a *answer) bool {
	given, _ := r.shares(a)
	if !(math.Abs(given/100-1) <= sumTolerance) {
		return false
	}
	for i, c := range a.cells {
		if c.field == dataRatio {
			a.cells[i].value /= 100
		}
	}
	a.note("data_ratio summed to about 100 and was read in hundredths")
	return true
}

// checkRanges refuses ratios that are none. A ratio that the environment does not
// reach, such as 0.7 where 0.5 is the most, is legal in form and left to the
// projection.
func (r Reader) checkRanges(a *answer) {
	for _, c := range a.cells {
		lo, hi := 0.0, 1.0
		if k, ok := r.knob(c.field); ok {
			lo, hi = min(0, k.Min), max(1, k.Max)
		}
		if !(c.value >= lo && c.value <= hi) {
			a.fault(ClassOutOfRange, "%s of %s is %s; want %s to %s", c.field, c.size, number(c.value), number(lo), number(hi))
		}
	}
}

// shares sums the given data ratios, and the present ones of sizes without.
func (r Reader) shares(a *answer) (given, kept float64) {
	for _, size := range r.space.Sizes {
		if v, ok := a.value(size, dataRatio); ok {
			given += v
		} else {
			kept += standing(r.previous, size).DataRatio
		}
	}
	return given, kept
}

func (a *answer) value(size, field string) (float64, bool) {
	i := slices.IndexFunc(a.cells, func(c cell) bool { return c.size == size && c.field == field })
	if i < 0 {
		return 0, false
	}
	return a.cells[i].value, true
}

// checkMissing refuses sizes without a data_ratio if the experiment wants that. A
// size that was named, with knobs alone, is refused as well where left out means
// no samples: who sets its knobs hardly means that.
func (r Reader) checkMissing(a *answer) {
	if r.missing != MissingZero && r.missing != MissingRefuse {
		return
	}
	var missing []string
	for _, size := range r.space.Sizes {
		_, given := a.value(size, dataRatio)
		if !given && (r.missing == MissingRefuse || slices.Contains(a.rows, size)) {
			missing = append(missing, size)
		}
	}
	if len(missing) > 0 {
		a.fault(ClassMissing, "no data_ratio was given for %s; want one for every size, 0 for no samples", strings.Join(missing, ", "))
	}
}

// sum completes the answer with what stands and brings its shares to 1. Where
// sizes that were left out keep their rows, they keep their samples too if that
// comes nearer to a sum of 1 than leaving them none.
func (r Reader) sum(a *answer) (asked experiment.Curriculum, scaled bool) {
	given, kept := r.shares(a)
	total, keep := given, false
	if whole := given + kept; r.missing != MissingZero && math.Abs(whole-1) <= math.Abs(given-1) {
		total, keep = whole, true
	}
	if !(math.Abs(total-1) <= sumTolerance) {
		a.fault(ClassBadSum, "%s", r.sumFault(given, kept))
		return experiment.Curriculum{}, false
	}
	asked = r.assemble(a, keep)
	if math.Abs(total-1) <= sumExact {
		a.trace.say("data_ratio sums to 1.")
		return asked, false
	}
	normalise(asked, total)
	a.note("data_ratio summed to %s and was brought to 1", number(total))
	return asked, true
}

// normalise divides shares by their sum, in ten-thousandths: a number to read.
func normalise(c experiment.Curriculum, total float64) {
	const parts = 10000
	shares := make([]float64, len(c.Rows))
	for i, row := range c.Rows {
		shares[i] = row.DataRatio / total
	}
	for i, n := range curriculum.Apportion(shares, parts) {
		c.Rows[i].DataRatio = float64(n) / parts
	}
}

func (r Reader) sumFault(given, kept float64) string {
	switch {
	case kept == 0:
		return fmt.Sprintf("data_ratio sums to %s over all sizes; want 1", number(given))
	case r.missing == MissingZero:
		return fmt.Sprintf("data_ratio sums to %s over the sizes given, and the others get no samples; want 1", number(given))
	}
	return fmt.Sprintf("data_ratio sums to %s over the sizes given, and the sizes left out have %s now; want a data_ratio for every size, 1 in all", number(given), number(kept))
}

// assemble lists all sizes: what was given, and what stands for the rest. keep
// says whether sizes without a data_ratio keep their samples.
func (r Reader) assemble(a *answer, keep bool) experiment.Curriculum {
	var given experiment.Curriculum
	var kept, emptied []string
	for _, size := range r.space.Sizes {
		share, ok := a.value(size, dataRatio)
		switch stands := standing(r.previous, size).DataRatio; {
		case ok:
		case keep:
			share = stands
			kept = append(kept, size+" "+number(share))
		default:
			emptied = append(emptied, size)
		}
		given.Rows = append(given.Rows, experiment.Row{Size: size, DataRatio: share, Knobs: r.knobs(a, size)})
	}
	if len(kept) > 0 {
		a.note("given no data_ratio, these keep theirs: %s", strings.Join(kept, ", "))
	}
	if len(emptied) > 0 {
		a.note("given no data_ratio, these get no samples: %s", strings.Join(emptied, ", "))
	}
	return complete(given, r.previous, r.space)
}

// knobs are those that were given for a size.
func (r Reader) knobs(a *answer, size string) (given []experiment.Knob) {
	for _, k := range r.space.Knobs {
		if v, ok := a.value(size, k.Name); ok {
			given = append(given, experiment.Knob{Name: k.Name, Value: v})
		} else if slices.Contains(a.rows, size) {
			a.note("%s was given no %s and keeps its own", size, k.Name)
		}
	}
	return given
}
