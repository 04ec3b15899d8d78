package report

import (
	"fmt"
	"html/template"
	"strings"

	"floe/internal/experiment"
)

var failuresPanel = panel{
	ID:    "failures",
	Title: "Failures",
	Lead:  "Answers that failed each of the referee's checks on the validation set: height in % of the answers, count on top. One answer can fail several checks, so counts do not add up to the invalid answers.",
	Model: failuresModel,
	Empty: "Nothing has been validated yet, so there are no failures to count.",
	Template: `
<div class="multiples">{{range .Checks}}{{template "figure" .}}{{end}}</div>
{{template "numbers" .Table}}
<h3>Where they happen</h3>
<div class="heatmaps wide">{{range .Maps}}{{template "table" .}}{{end}}</div>`,
}

type failuresData struct {
	Checks []figure
	Table  table
	Maps   []table
}

func failuresModel(r experiment.Results) any {
	list := scored(measurements(r))
	checks := checkNames(list)
	if len(checks) == 0 {
		return nil
	}
	var d failuresData
	most := 0.0
	for _, m := range list {
		for _, check := range checks {
			most = max(most, failureRate(m, check, "").Value())
		}
	}
	y := percentAxis(most)
	for i, check := range checks {
		d.Checks = append(d.Checks, figure{SVG: failureBars(fmt.Sprintf("failures-%d", i), check, list, y), Title: check})
	}
	d.Table = failuresTable(list, checks)
	d.Maps = failureMaps(list, checks, validationSizes(r))
	return d
}

func failureRate(m measurement, check, size string) rate {
	return rate{failures(m.Card, check, size), m.Of(size).N}
}

// failureBars has a bar per measurement, each with its count.
func failureBars(id, check string, list []measurement, y axis) template.HTML {
	cv := &canvas{w: 216, h: 132}
	const left, right, above, below = 30.0, 4.0, 14.0, 20.0
	py := func(v float64) float64 { return y.at(v, cv.h-below, above) }
	for _, t := range y.ticks() {
		cv.line("grid", xy{left, py(t)}, xy{cv.w - right, py(t)})
		cv.text("tick", atEnd, xy{left - 5, py(t) + 4}, number(t))
	}
	slot := (cv.w - left - right) / float64(len(list))
	width := min(slot*0.72, 34)
	label := make(map[int]bool)
	for _, i := range thin(len(list), 6) {
		label[i] = true
	}
	var desc strings.Builder
	for i, m := range list {
		share := failureRate(m, check, "")
		x := left + slot*(float64(i)+0.5)
		cv.rect(barClass(i, len(list)), xy{x - width/2, py(share.Value())}, width, cv.h-below-py(share.Value()), m.Label+": "+share.Count()+", "+share.Percent())
		if label[i] {
			cv.text("count", atMiddle, xy{x, py(share.Value()) - 4}, count(share.K))
			cv.text("tick", atMiddle, xy{x, cv.h - 5}, m.Short)
		}
		desc.WriteString(m.Label + ": " + share.Count() + "; ")
	}
	return cv.done(id, "Answers that failed "+check+", %", desc.String())
}

// barClass tells the untrained policy, the last round and those between apart.
func barClass(i, n int) string {
	switch i {
	case n - 1:
		return "bar last"
	case 0:
		return "bar untrained"
	default:
		return "bar between"
	}
}

func failuresTable(list []measurement, checks []string) table {
	t := table{
		Caption: "Failed checks: answers, and % of n",
		Groups:  []heading{{Left: true}},
		Cols:    []heading{leftHeading("check")},
	}
	for _, m := range list {
		t.Groups = append(t.Groups, heading{Text: m.Label + ", n = " + count(m.Of("").N), Span: 2})
		t.Cols = append(t.Cols, headings("answers", "%")...)
	}
	for _, check := range checks {
		row := []cell{rowHead(check)}
		for _, m := range list {
			share := failureRate(m, check, "")
			row = append(row, plain(count(share.K)), cell{Text: share.Figure(), Class: "soft"})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// failureMaps shade checks by sizes, for the first and the last measurement on
// one scale.
func failureMaps(list []measurement, checks, sizes []string) []table {
	ends := []measurement{list[0]}
	if len(list) > 1 {
		ends = append(ends, list[len(list)-1])
	}
	most := 0.0
	for _, m := range ends {
		for _, check := range checks {
			for _, size := range sizes {
				most = max(most, failureRate(m, check, size).Value())
			}
		}
	}
	var maps []table
	for _, m := range ends {
		t := table{Caption: m.Label + ", answers of " + sizeCounts([]measurement{m}, sizes) + " per size", Class: "heat", Cols: append([]heading{leftHeading("check")}, headings(sizes...)...)}
		for _, check := range checks {
			row := []cell{rowHead(check)}
			for _, size := range sizes {
				share := failureRate(m, check, size)
				row = append(row, cell{Text: count(share.K), Class: heat(share.Value(), 0, most), Note: check + ", " + size + ": " + share.Count()})
			}
			t.Rows = append(t.Rows, row)
		}
		maps = append(maps, t)
	}
	return maps
}
