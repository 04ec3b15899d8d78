package report

import (
	"html/template"

	"floe/internal/experiment"
)

var benchmarksPanel = panel{
	ID:    "benchmarks",
	Title: "Benchmarks",
	Lead:  "Held-out sets with more agents than training had: the untrained policy against the one after the last round.",
	Model: benchmarksModel,
	Empty: "No benchmark has been scored.",
	Template: `
<p class="legend"><span class="key untrained">untrained</span><span class="key valid">trained, valid</span><span class="key optimal">trained, optimal</span><span class="quiet">lines: 95&#8239;% intervals</span></p>
<div class="pair">{{range .Figures}}{{template "figure" .}}{{end}}</div>
{{template "table" .Table}}
{{range .Sizes}}{{template "numbers" .}}{{end}}`,
}

type benchmarksData struct {
	Figures []figure
	Table   table
	Sizes   []table
}

func benchmarksModel(r experiment.Results) any {
	if len(r.Benchmarks) == 0 {
		return nil
	}
	d := benchmarksData{
		Figures: []figure{
			{SVG: benchmarkBars("valid", r.Benchmarks, validRate), Title: "Valid answers, %"},
			{SVG: benchmarkBars("optimal", r.Benchmarks, optimalRate), Title: "Optimal answers, %"},
		},
		Table: benchmarkTable(r.Benchmarks),
	}
	for _, b := range r.Benchmarks {
		d.Sizes = append(d.Sizes, benchmarkSizes(b))
	}
	return d
}

// pooled is the total of a card that may be missing.
func pooled(card *experiment.Scorecard, size string) experiment.Rates {
	return measurement{Card: card}.Of(size)
}

func agentsLabel(n int) string { return plural(n, "agent") }

// benchmarkBars draws a pair of bars per set, with intervals.
func benchmarkBars(class string, list []experiment.BenchmarkResult, of func(experiment.Rates) rate) template.HTML {
	const left, right, pitch, thick = 66.0, 58.0, 52.0, 15.0
	cv := &canvas{w: 460, h: pitch*float64(len(list)) + 26}
	most, desc := 0.0, ""
	for _, b := range list {
		base, trained := of(pooled(b.Base, "")), of(pooled(b.Trained, ""))
		_, hiBase := base.Bounds()
		_, hiTrained := trained.Bounds()
		most = max(most, hiBase, hiTrained)
		desc += agentsLabel(b.Agents) + ": untrained " + base.Sentence() + ", trained " + trained.Sentence() + ". "
	}
	x := percentAxis(most)
	px := func(v float64) float64 { return x.at(v, left, cv.w-right) }
	for _, t := range x.ticks() {
		cv.line("grid", xy{px(t), 4}, xy{px(t), cv.h - 20})
		cv.text("tick", atMiddle, xy{px(t), cv.h - 5}, number(t))
	}
	bar := func(y float64, class, label string, r rate) {
		if !r.Known() {
			cv.text("tick", atStart, xy{left + 5, y + thick - 3}, "not scored")
			return
		}
		lo, hi := r.Bounds()
		cv.rect("bar "+class, xy{left, y}, px(r.Value())-left, thick, label+": "+r.Sentence())
		cv.line("whisker "+class, xy{px(lo), y + thick/2}, xy{px(hi), y + thick/2})
		cv.text("count", atStart, xy{px(hi) + 6, y + thick - 3}, r.Percent())
	}
	for i, b := range list {
		y := 8 + pitch*float64(i)
		cv.text("name", atEnd, xy{left - 8, y + thick + 5}, agentsLabel(b.Agents))
		bar(y, "untrained", agentsLabel(b.Agents)+", untrained", of(pooled(b.Base, "")))
		bar(y+thick+2, class, agentsLabel(b.Agents)+", trained", of(pooled(b.Trained, "")))
	}
	return cv.done("benchmarks-"+class, class+" answers on the benchmarks, %", desc)
}

func benchmarkTable(list []experiment.BenchmarkResult) table {
	t := table{
		Caption: "Benchmarks in %, with 95 % intervals",
		Groups:  []heading{{Span: 2, Left: true}, {Text: "valid", Span: 5}, {Text: "optimal", Span: 5}},
		Cols: append([]heading{leftHeading("set"), {Text: "n"}},
			headings("untrained", "interval", "trained", "interval", "points", "untrained", "interval", "trained", "interval", "points")...),
	}
	for _, b := range list {
		t.Rows = append(t.Rows, benchmarkRow(agentsLabel(b.Agents), pooled(b.Base, ""), pooled(b.Trained, "")))
	}
	return t
}

func benchmarkRow(name string, base, trained experiment.Rates) []cell {
	row := []cell{rowHead(name), plain(counted(max(base.N, trained.N)))}
	for _, of := range []func(experiment.Rates) rate{validRate, optimalRate} {
		from, to := of(base), of(trained)
		row = append(row,
			cell{Text: from.Figure(), Class: "first"}, cell{Text: from.Interval(), Class: "soft"},
			cell{Text: to.Figure(), Class: "strong"}, cell{Text: to.Interval(), Class: "soft"},
			cell{Text: gain(from, to), Class: "strong"})
	}
	return row
}

func benchmarkSizes(b experiment.BenchmarkResult) table {
	t := benchmarkTable(nil)
	t.Caption = agentsLabel(b.Agents) + " by size, in % with 95 % intervals"
	t.Cols[0] = leftHeading("size")
	var sizes []string
	for _, card := range []*experiment.Scorecard{b.Base, b.Trained} {
		if card != nil {
			sizes = union(sizes, card.Sizes())
		}
	}
	for _, size := range sizes {
		t.Rows = append(t.Rows, benchmarkRow(size, pooled(b.Base, size), pooled(b.Trained, size)))
	}
	return t
}
