package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"floe/internal/cleantext"
	"floe/internal/experiment"
)

// Options say how Text writes.
type Options struct {
	Width int  // columns of the terminal; 100 when 0, and never less than 40
	Color bool // use ANSI colours
}

// Text writes the summary for a terminal: headline figures, learning curve,
// what the designer changed and why, benchmarks, and what is missing. Control
// characters in names and reasons are replaced, so that a model's reply cannot
// steer the terminal. It fails only when w does.
func Text(w io.Writer, r experiment.Results, opts Options) error {
	out := bufio.NewWriter(w)
	t := &terminal{w: out, width: max(cmp.Or(opts.Width, 100), 40), color: opts.Color}
	t.headline(r)
	t.learning(r)
	t.designs(r)
	t.benchmarks(r)
	t.missing(r)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write summary of %q: %w", r.Name, err)
	}
	return nil
}

func (t *terminal) headline(r experiment.Results) {
	t.line(t.paint(bold, cleantext.Line(cmp.Or(r.Name, "unnamed experiment"))) + "  " + t.paint(dim, cleantext.Line(r.State)))
	t.wrapped("", dim, strings.Join(facts(r.Spec), " · "))
	t.alerts(r)
	t.line("")
	start, end := span(r)
	for _, h := range []headline{
		newHeadline("Valid answers", "valid", start, end, validRate),
		newHeadline("Optimal answers", "optimal", start, end, optimalRate),
	} {
		figures := []string{cleantext.Line(h.From.Percent() + " → " + h.To.Percent())}
		if h.Gain != "" {
			figures = append(figures, "("+h.Gain+" points)")
		}
		style := classColor(h.Class) + bold
		t.hanging(pad(h.Name, 17), style, style, figures)
		for _, note := range h.Notes {
			t.wrapped(strings.Repeat(" ", 17), dim, note)
		}
	}
}

func classColor(class string) string {
	if class == "optimal" {
		return yellow
	}
	return cyan
}

func (t *terminal) learning(r experiment.Results) {
	sizes := validationSizes(r)
	if len(sizes) == 0 {
		return
	}
	t.section("Learning curve", "validation set, % of n answers")
	t.table(learningTable(measurements(r), sizes), 2)
}

func (t *terminal) designs(r experiment.Results) {
	designs := designsOf(r)
	if len(designs) == 0 {
		return
	}
	t.section("What the designer changed", "")
	for i, d := range designs {
		if i > 0 {
			t.line("")
		}
		t.line(t.paint(bold, d.Title) + t.paint(outcomeColor(d.OutcomeClass), "  "+cleantext.Line(d.Outcome)))
		for _, who := range d.Who {
			t.wrapped("  ", dim, who)
		}
		if d.Warning != "" {
			t.wrapped("  ! ", yellow, d.Warning)
		}
		t.decision(d.Decision)
		t.changes(d.Changes)
		for _, repair := range d.Repairs {
			t.wrapped("  ! ", yellow, repair)
		}
		if d.Rationale != "" {
			t.wrapped("  │ ", "", d.Rationale)
		}
	}
}

// changes lists the moves of each field under its name.
func (t *terminal) changes(changes []fieldChanges) {
	if len(changes) == 0 {
		t.line("  nothing changed")
		return
	}
	width := 0
	for _, c := range changes {
		width = max(width, textWidth(cleantext.Line(c.Field)))
	}
	for _, c := range changes {
		moves := make([]string, len(c.Moves))
		for i, m := range c.Moves {
			moves[i] = cleantext.Line(m.Size + " " + m.From + "→" + m.To)
		}
		t.hanging("  "+pad(cleantext.Line(c.Field), width)+"  ", dim, "", moves)
	}
}

func (t *terminal) benchmarks(r experiment.Results) {
	if len(r.Benchmarks) == 0 {
		return
	}
	t.section("Benchmarks", "held-out sets with more agents")
	tab := table{
		Groups: []heading{{Span: 2}, {Text: "valid %", Span: 3}, {Text: "optimal %", Span: 3}},
		Cols: append([]heading{leftHeading(""), {Text: "n"}},
			headings("untrained", "trained", "points", "untrained", "trained", "points")...),
	}
	for _, b := range r.Benchmarks {
		base, trained := pooled(b.Base, ""), pooled(b.Trained, "")
		row := []cell{rowHead(agentsLabel(b.Agents)), plain(counted(max(base.N, trained.N)))}
		for _, of := range []func(experiment.Rates) rate{validRate, optimalRate} {
			from, to := of(base), of(trained)
			row = append(row, plain(from.Figure()), cell{Text: to.Figure(), Class: "strong"}, plain(gain(from, to)))
		}
		tab.Rows = append(tab.Rows, row)
	}
	t.table(tab, 1)
}

func (t *terminal) missing(r experiment.Results) {
	notes := missing(r)
	if len(notes) == 0 {
		return
	}
	t.section("Not everything is there", "")
	for _, note := range notes {
		t.wrapped("  · ", "", note)
	}
}

// alerts say loudly which designs gave nothing that could be used.
func (t *terminal) alerts(r experiment.Results) {
	for _, alert := range alerts(r) {
		t.wrapped("! ", bold+red, "design_fallback: "+alert)
	}
}

// outcomeColor follows the classes that colour the HTML pills.
func outcomeColor(class string) string {
	switch class {
	case "bad":
		return bold + red
	case "look":
		return yellow
	}
	return dim
}

// decision says what a person decided.
func (t *terminal) decision(d *decisionData) {
	if d == nil {
		return
	}
	line := d.Title
	if d.Note != "" {
		line += ": " + d.Note
	}
	t.wrapped("  > ", bold, line)
	for _, repair := range d.Repairs {
		t.wrapped("    ! ", yellow, repair)
	}
}
