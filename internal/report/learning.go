package report

import (
	"fmt"
	"math"
	"strings"

	"floe/internal/experiment"
)

var learningPanel = panel{
	ID:    "learning",
	Title: "Learning curves",
	Lead:  "The policy on the validation set, before training (base) and after each round (R0, R1, …). Shaded: 95 % intervals. Thin lines: the sizes one by one.",
	Model: learningModel,
	Empty: "Nothing has been validated yet.",
	Template: `
<div class="pair">{{range .Totals}}{{template "figure" .}}{{end}}</div>
<h3>By size</h3>
<p class="legend"><span class="key valid">valid</span><span class="key optimal">optimal</span><span class="quiet">last figure printed; n per point: {{.PerSize}}</span></p>
<div class="multiples">{{range .Sizes}}{{template "figure" .}}{{end}}</div>
{{template "numbers" .Table}}
{{template "numbers" .Detail}}`,
}

type learningData struct {
	Totals  []figure
	Sizes   []figure
	PerSize string
	Table   table
	Detail  table
}

func learningModel(r experiment.Results) any {
	list := measurements(r)
	done := scored(list)
	if len(done) == 0 {
		return nil
	}
	sizes := validationSizes(r)
	y := curvesAxis(list, sizes)
	d := learningData{
		Totals: []figure{
			totalFigure("valid", "Valid answers, %", list, sizes, y, validRate),
			totalFigure("optimal", "Optimal answers, %", list, sizes, y, optimalRate),
		},
		PerSize: sizeCounts(done, sizes),
		Table:   learningTable(list, sizes),
		Detail:  detailTable(done[len(done)-1]),
	}
	for i, size := range sizes {
		d.Sizes = append(d.Sizes, sizeFigure(fmt.Sprintf("learning-size-%d", i), size, list, y))
	}
	return d
}

func newCurve(name, class string, list []measurement, size string, of func(experiment.Rates) rate) curve {
	cu := curve{Name: name, Class: class}
	for i, m := range list {
		cu.Points = append(cu.Points, ratePoint{i, of(m.Of(size)), m.Label})
	}
	return cu
}

// totalFigure draws the total over thin lines of the sizes.
func totalFigure(class, title string, list []measurement, sizes []string, y axis, of func(experiment.Rates) rate) figure {
	var curves []curve
	for _, size := range sizes {
		curves = append(curves, newCurve(size, "size", list, size, of))
	}
	total := newCurve("all", class, list, "", of)
	total.Band, total.Strong, total.Diamond = true, true, class == "optimal"
	curves = append(curves, total)
	chart := rateChart{
		id: "learning-" + class, title: title, desc: curveSentence(total),
		w: 460, h: 270, ticks: shorts(list), y: y, curves: curves, endLabels: true,
	}
	return figure{SVG: chart.draw(), Title: title}
}

// sizeFigure draws one size.
func sizeFigure(id, size string, list []measurement, y axis) figure {
	valid := newCurve(size+" valid", "valid", list, size, validRate)
	optimal := newCurve(size+" optimal", "optimal", list, size, optimalRate)
	valid.Band, optimal.Band, optimal.Diamond = true, true, true
	chart := rateChart{
		id: id, title: "Size " + size, desc: "Valid: " + curveSentence(valid) + " Optimal: " + curveSentence(optimal),
		w: 216, h: 150, ticks: shorts(list), y: y, curves: []curve{valid, optimal}, values: true,
	}
	return figure{SVG: chart.draw(), Title: size}
}

// curvesAxis is the scale that all curves share, so that they compare at sight.
func curvesAxis(list []measurement, sizes []string) axis {
	most := 0.0
	for _, m := range list {
		for _, size := range append([]string{""}, sizes...) {
			_, hi := validRate(m.Of(size)).Bounds()
			most = math.Max(most, hi)
		}
	}
	return percentAxis(most)
}

func shorts(list []measurement) []string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Short
	}
	return names
}

func curveSentence(cu curve) string {
	var s strings.Builder
	for _, p := range cu.Points {
		s.WriteString(p.Label + " " + p.Rate.Percent() + "; ")
	}
	return s.String()
}

// sizeCounts is "50", or the range when sizes or rounds differ.
func sizeCounts(list []measurement, sizes []string) string {
	least, most := math.MaxInt, 0
	for _, m := range list {
		for _, size := range sizes {
			if n := m.Of(size).N; n > 0 {
				least, most = min(least, n), max(most, n)
			}
		}
	}
	if least >= most {
		return count(most)
	}
	return count(least) + " to " + count(most)
}

// learningTable has a row of valid and a row of optimal rates per measurement,
// and a column for all sizes and for each.
func learningTable(list []measurement, sizes []string) table {
	t := table{
		Caption: "Numbers of the curves: valid and optimal answers in %",
		Cols:    append([]heading{leftHeading(""), leftHeading(""), {Text: "all"}}, headings(sizes...)...),
	}
	columns := append([]string{""}, sizes...)
	done := scored(list)
	steady := sameCounts(done, columns)
	if steady && len(done) > 0 {
		t.Rows = append(t.Rows, countRow("", done[0], columns))
	}
	for _, m := range list {
		label := m.Label
		if !steady {
			t.Rows = append(t.Rows, countRow(label, m, columns))
			label = ""
		}
		t.Rows = append(t.Rows,
			rateRow(label, "valid", m, columns, validRate),
			rateRow("", "optimal", m, columns, optimalRate))
	}
	return t
}

// sameCounts says whether every measurement rests on the same numbers of answers,
// so that they need saying only once.
func sameCounts(list []measurement, columns []string) bool {
	for _, m := range list {
		for _, size := range columns {
			if m.Of(size).N != list[0].Of(size).N {
				return false
			}
		}
	}
	return true
}

func countRow(label string, m measurement, columns []string) []cell {
	row := []cell{rowHead(label), {Text: "n", Class: "left soft"}}
	for _, size := range columns {
		row = append(row, cell{Text: counted(m.Of(size).N), Class: "soft"})
	}
	return row
}

func rateRow(label, name string, m measurement, columns []string, of func(experiment.Rates) rate) []cell {
	row := []cell{rowHead(label), {Text: name, Class: "left " + name}}
	for _, size := range columns {
		row = append(row, rateCell(of(m.Of(size))))
	}
	return row
}

func rateCell(r rate) cell { return cell{Text: r.Figure(), Note: r.Sentence()} }

func counted(n int) string {
	if n == 0 {
		return unknown
	}
	return count(n)
}

// detailTable splits the last measurement by size and group.
func detailTable(m measurement) table {
	t := table{
		Caption: "The last validation (" + m.Label + ") by size and group",
		Cols: []heading{
			leftHeading("size"), leftHeading("group"),
			{Text: "n"},
			{Text: "valid %"},
			{Text: "interval"},
			{Text: "optimal %"},
			{Text: "interval"},
			{Text: "cost / optimum"},
			{Text: "tokens, mean"},
			{Text: "truncated"},
		},
	}
	for _, c := range m.Card.Cells {
		valid, optimal := rate{c.Valid, c.N}, rate{c.Optimal, c.N}
		t.Rows = append(t.Rows, []cell{
			rowHead(c.Size),
			{Text: c.Group, Class: "left"},
			plain(count(c.N)),
			plain(valid.Figure()),
			{Text: valid.Interval(), Class: "soft"},
			plain(optimal.Figure()),
			{Text: optimal.Interval(), Class: "soft"},
			plain(ratio(c.Cost, c.Optimum, 3)), plain(ratio(c.Tokens, int64(c.N), 1)), plain(count(c.Truncated)),
		})
	}
	return t
}

// ratio is a quotient of sums, or unknown when there is nothing to divide by.
func ratio(a, b int64, places int) string {
	if b == 0 {
		return unknown
	}
	return decimals(float64(a)/float64(b), places)
}
