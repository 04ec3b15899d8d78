package report

import (
	"fmt"

	"floe/internal/experiment"
)

// measuresTable sets the behaviour of an experiment's designs side by side; nil
// if none was measured.
func measuresTable(r experiment.Results) *table {
	var names []string
	for _, round := range r.Rounds {
		if m := measuresOf(round.Transcript); m != nil {
			for _, f := range m.Fields {
				names = union(names, []string{f.Field})
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	t := &table{
		Caption: "Designer behaviour: its proposals before any repair",
		Groups:  []heading{{Left: true}, {}, {Text: "distance to", Span: 2}, {Text: "trend over sizes", Span: len(names)}, {Text: "frontier, %", Span: 2}, {Text: "taken back, of", Span: 2}},
		Cols:    []heading{leftHeading("after"), {Text: "sizes changed"}, {Text: "last"}, {Text: "round 0"}},
	}
	t.Cols = append(t.Cols, headings(names...)...)
	t.Cols = append(t.Cols, headings("before", "asked", "fallen", "others")...)
	for _, round := range r.Rounds {
		if m := measuresOf(round.Transcript); m != nil {
			t.Rows = append(t.Rows, measuresRow(round.Round, *m, names))
		}
	}
	return t
}

func measuresOf(t *experiment.Transcript) *experiment.Measures {
	if t == nil {
		return nil
	}
	return t.Measures
}

func measuresRow(round int, m experiment.Measures, names []string) []cell {
	row := []cell{
		rowHead(roundLabel(round)), plain(share(m.SizesChanged)), plain(decimals(m.FromLast, 2)), plain(decimals(m.FromFirst, 2)),
	}
	for _, name := range names {
		row = append(row, plain(trendOf(m, name)))
	}
	return append(row, plain(shareFigure(m.FrontierBefore)), plain(shareFigure(m.Frontier)),
		plain(outOf(m.Reversed, m.Contradicted)), plain(outOf(m.Undone, m.Upheld)))
}

func trendOf(m experiment.Measures, field string) string {
	for _, f := range m.Fields {
		if f.Field == field && f.Trend != nil {
			return decimals(*f.Trend, 2)
		}
	}
	return unknown
}

// outOf writes a count of a count.
func outOf(n, of int) string {
	if of == 0 {
		return unknown
	}
	return fmt.Sprintf("%s of %s", count(n), count(of))
}

// measureLines are the measures of one design in words, for a terminal.
func measureLines(m experiment.Measures) []string {
	lines := []string{
		fmt.Sprintf("%s of the sizes changed; distance %s to the last curriculum, %s to round 0's", share(m.SizesChanged), decimals(m.FromLast, 2), decimals(m.FromFirst, 2)),
		fmt.Sprintf("frontier (valid rate 20 to 80%s): %s of the samples, %s before", percentSign, share(m.Frontier), share(m.FrontierBefore)),
	}
	for _, f := range m.Fields {
		lines = append(lines, fmt.Sprintf("%s: changed on %s of the sizes, trend over sizes %s", f.Field, share(f.Changed), trendOf(m, f.Field)))
	}
	if m.Contradicted > 0 || m.Upheld > 0 {
		lines = append(lines, fmt.Sprintf("of the last moves it takes back %s after which the valid rate fell, and %s of the others", outOf(m.Reversed, m.Contradicted), outOf(m.Undone, m.Upheld)))
	}
	return lines
}
