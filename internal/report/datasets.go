package report

import (
	"fmt"
	"html/template"
	"math"

	"floe/internal/experiment"
)

var datasetsPanel = panel{
	ID:    "datasets",
	Title: "Datasets",
	Lead:  "How far each round's samples are what the curriculum ordered. A gap is realised minus requested.",
	Model: datasetsModel,
	Empty: "No dataset has been generated yet.",
	Template: `{{template "table" .Summary}}
{{range .Rounds}}{{template "numbers" .}}{{end}}`,
}

type datasetsData struct {
	Summary table
	Rounds  []table
}

func datasetsModel(r experiment.Results) any {
	var d datasetsData
	var rows []experiment.ConformanceRow
	for _, round := range r.Rounds {
		if round.Conformance != nil {
			rows = append(rows, round.Conformance.Rows...)
			d.Rounds = append(d.Rounds, conformanceTable(round))
		}
	}
	if len(d.Rounds) == 0 {
		return nil
	}
	knobs := realisedKnobs(rows)
	d.Summary = table{
		Caption: "Datasets, round by round",
		Cols:    append([]heading{leftHeading("round")}, headings("requested", "realised", "repeats")...),
	}
	for _, k := range knobs {
		d.Summary.Cols = append(d.Summary.Cols, heading{Text: "largest gap in " + k})
	}
	for _, round := range r.Rounds {
		if round.Conformance != nil {
			d.Summary.Rows = append(d.Summary.Rows, conformanceRow(round, knobs))
		}
	}
	return d
}

func realisedKnobs(rows []experiment.ConformanceRow) []string {
	var names []string
	for _, row := range rows {
		for _, k := range row.Knobs {
			names = union(names, []string{k.Name})
		}
	}
	return names
}

func conformanceRow(round experiment.RoundResult, knobs []string) []cell {
	c := round.Conformance
	row := []cell{rowHead(roundLabel(round.Round)), plain(count(c.Requested)), plain(count(c.Realised)), plain(count(c.Repeats))}
	for _, name := range knobs {
		gap, size := largestGap(c.Rows, name)
		text := number(gap)
		if gap > 0 {
			text = "+" + text
		}
		if size != "" {
			text += " at " + size
		}
		row = append(row, plain(text))
	}
	return row
}

// largestGap finds the size whose knob was missed most; "" if none was. A size
// without samples has realised nothing, so it has no gap.
func largestGap(rows []experiment.ConformanceRow, name string) (gap float64, size string) {
	for _, row := range rows {
		if k, ok := realised(row, name); ok && row.Realised > 0 && math.Abs(k.Realised-k.Requested) > math.Abs(gap)+1e-12 {
			gap, size = k.Realised-k.Requested, row.Size
		}
	}
	return gap, size
}

func realised(row experiment.ConformanceRow, name string) (experiment.Realised, bool) {
	for _, k := range row.Knobs {
		if k.Name == name {
			return k, true
		}
	}
	return experiment.Realised{}, false
}

func conformanceTable(round experiment.RoundResult) table {
	c := round.Conformance
	knobs := realisedKnobs(c.Rows)
	t := table{
		Caption: fmt.Sprintf("Round %d, %s by size", round.Round, plural(c.Realised, "sample")),
		Groups:  []heading{{Left: true}, {Text: "samples", Span: 3}},
		Cols:    append([]heading{leftHeading("size")}, headings("requested", "realised", "repeats")...),
	}
	for _, k := range knobs {
		t.Groups = append(t.Groups, heading{Text: k, Span: 2})
		t.Cols = append(t.Cols, headings("requested", "realised")...)
	}
	t.Groups = append(t.Groups, heading{Text: "optimal cost", Span: 2})
	t.Cols = append(t.Cols, heading{Text: "mean"}, leftHeading("distribution"))
	lo, hi := costRange(c.Rows)
	for _, row := range c.Rows {
		cells := []cell{rowHead(row.Size), {Text: count(row.Requested), Class: "first soft"}, plain(count(row.Realised)), plain(count(row.Repeats))}
		for _, name := range knobs {
			cells = append(cells, knobCells(row, name, knobColumn(c.Rows, name))...)
		}
		mean, least, most := optima(row.Optima)
		t.Rows = append(t.Rows, append(cells,
			cell{Text: mean, Class: "first"},
			cell{Text: " " + least + "–" + most, Art: optimaBars(row.Optima, lo, hi), Class: "left art"}))
	}
	return t
}

func knobCells(row experiment.ConformanceRow, name string, write func(float64) string) []cell {
	k, ok := realised(row, name)
	if !ok {
		return []cell{{Text: unknown, Class: "first"}, plain(unknown)}
	}
	got := unknown
	if row.Realised > 0 {
		got = write(k.Realised)
	}
	return []cell{{Text: write(k.Requested), Class: "first soft"}, plain(got)}
}

func knobColumn(rows []experiment.ConformanceRow, name string) func(float64) string {
	var values []float64
	for _, row := range rows {
		k, ok := realised(row, name)
		if ok {
			values = append(values, k.Requested)
		}
		if ok && row.Realised > 0 {
			values = append(values, k.Realised)
		}
	}
	return column(values)
}

// costRange is the least and the most optimal cost of all sizes, so that their
// histograms share a scale.
func costRange(rows []experiment.ConformanceRow) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		for _, c := range row.Optima {
			lo, hi = min(lo, float64(c.Cost)), max(hi, float64(c.Cost))
		}
	}
	return lo, hi
}

// optima is the mean optimal cost, the least and the most.
func optima(counts []experiment.CostCount) (mean, least, most string) {
	sum, n, lo, hi := 0.0, 0, math.MaxInt, math.MinInt
	for _, c := range counts {
		if c.Count <= 0 {
			continue
		}
		sum += float64(c.Cost) * float64(c.Count)
		n += c.Count
		lo, hi = min(lo, c.Cost), max(hi, c.Cost)
	}
	if n == 0 {
		return unknown, unknown, unknown
	}
	return tenths(sum / float64(n)), count(lo), count(hi)
}

// optimaBars is a small histogram of optimal costs between lo and hi. It only
// illustrates the figures beside it.
func optimaBars(counts []experiment.CostCount, lo, hi float64) template.HTML {
	const w, h = 128.0, 18.0
	most := 0
	for _, c := range counts {
		most = max(most, c.Count)
	}
	if most == 0 {
		return ""
	}
	cv := &canvas{w: w, h: h}
	slot := w / (hi - lo + 1)
	for _, c := range counts {
		height := (h - 1) * float64(c.Count) / float64(most)
		cv.rect("bar between", xy{(float64(c.Cost) - lo) * slot, h - height}, max(slot-0.6, 0.6), height, "")
	}
	return cv.decoration()
}
