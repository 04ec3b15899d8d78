package report

import (
	"fmt"
	"math"

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
	d := learningData{
		Totals: []figure{
			totalFigure("valid", "Valid answers, %", list, sizes, validRate),
			totalFigure("optimal", "Optimal answers, %", list, sizes, optimalRate),
		},
		PerSize: sizeCounts(done, sizes),
		Table:   learningTable(list, sizes),
		Detail:  detailTable(done[len(done)-1]),
	}
	y := sizesAxis(list, sizes)
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
func totalFigure(class, title string, list []measurement, sizes []string, of func(experiment.Rates) rate) figure {
	var curves []curve
	for _, size := range sizes {
		curves = append(curves, newCurve(size, "size", list, size, of))
	}
	total := newCurve("all", class, list, "", of)
	total.Band, total.Strong, total.Diamond = true, true, class == "optimal"
	curves = append(curves, total)
	chart := rateChart{
		id: "learning-" + class, title: title, desc: curveSentence(total),
		w: 460, h: 270, ticks: shorts(list), y: percentAxis(top(curves)), curves: curves, endLabels: true,
	}
	return figure{SVG: chart.draw(), Title: title}
}

// sizeFigure draws one size, on the scale that all sizes share.
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

func sizesAxis(list []measurement, sizes []string) axis {
	most := 0.0
	for _, size := range sizes {
		cu := newCurve("", "", list, size, validRate)
		cu.Band = true
		most = math.Max(most, top([]curve{cu}))
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
	s := ""
	for _, p := range cu.Points {
		s += p.Label + " " + p.Rate.Percent() + "; "
	}
	return s
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
	for _, m := range list {
		n := []cell{rowHead(m.Label), {Text: "n", Class: "left soft"}}
		valid := []cell{rowHead(""), {Text: "valid", Class: "left valid"}}
		optimal := []cell{rowHead(""), {Text: "optimal", Class: "left optimal"}}
		for _, size := range columns {
			r := m.Of(size)
			n = append(n, cell{Text: counted(r.N), Class: "soft"})
			valid = append(valid, rateCell(validRate(r)))
			optimal = append(optimal, rateCell(optimalRate(r)))
		}
		t.Rows = append(t.Rows, n, valid, optimal)
	}
	return t
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
			leftHeading("size"), leftHeading("group"), {Text: "n"}, {Text: "valid %"}, {Text: "interval"},
			{Text: "optimal %"}, {Text: "interval"}, {Text: "cost / optimum"}, {Text: "tokens, mean"}, {Text: "truncated"},
		},
	}
	for _, c := range m.Card.Cells {
		valid, optimal := rate{c.Valid, c.N}, rate{c.Optimal, c.N}
		t.Rows = append(t.Rows, []cell{
			rowHead(c.Size), {Text: c.Group, Class: "left"}, plain(count(c.N)),
			plain(valid.Figure()), {Text: valid.Interval(), Class: "soft"},
			plain(optimal.Figure()), {Text: optimal.Interval(), Class: "soft"},
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

