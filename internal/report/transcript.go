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

// Design is one design with what it was made for: the curriculum in force when
// it was asked for.
type Design struct {
	Present    experiment.Curriculum
	Transcript experiment.Transcript
	// State says in words what became of it, such as "waiting for approval".
	State string
	// Next says what a person can do, a line each.
	Next []string
}

// Proposal writes a design for a person who has to decide about it: what changes,
// why, and what is doubtful. Control characters are replaced. It fails only when
// w does.
func Proposal(w io.Writer, d Design, opts Options) error {
	return write(w, opts, "proposal", func(t *terminal) {
		data := t.design(d)
		t.section("Curriculum", "of round "+fmt.Sprint(d.Transcript.Round+1)+", against that of round "+fmt.Sprint(d.Transcript.Round))
		t.table(diffTable(d.Present, d.Transcript.Used), 1)
		if len(d.Transcript.Changes) == 0 {
			t.line("nothing changes")
		}
		t.judgement(data)
		t.measures(d.Transcript)
		t.next(d.Next)
	})
}

// Edit writes the curriculum that a person asks for against the present one, as it
// would be used, with every repair that was needed and what else is to be said. It
// fails only when w does.
func Edit(w io.Writer, present, used experiment.Curriculum, remarks []string, opts Options) error {
	return write(w, opts, "edit", func(t *terminal) {
		t.table(diffTable(present, used), 1)
		for _, remark := range remarks {
			t.wrapped("! ", yellow, remark)
		}
	})
}

// Part says what of a transcript is written.
type Part struct {
	Attempt int  // the call of this number, from 1; 0 is all, and all around them
	Raw     bool // requests and responses too, as they went over the wire
}

// Transcript writes all of a design: what was shown and asked, what was said and
// how it was read, what was asked for and what is used. Control characters are
// replaced. It fails only when w does.
func Transcript(w io.Writer, d Design, p Part, opts Options) error {
	return write(w, opts, "transcript", func(t *terminal) {
		data := t.design(d)
		if p.Attempt > 0 {
			t.call(data.Attempts[p.Attempt-1], p.Raw)
			return
		}
		for _, s := range d.Transcript.Sections {
			t.section("Shown: "+cleantext.Line(s.Name), "")
			t.markdown(s.Text)
		}
		t.prompt(d.Transcript)
		for _, a := range data.Attempts {
			t.call(a, p.Raw)
		}
		t.section("Asked and used", "")
		t.table(data.Settings, 1)
		t.line("")
		t.changes(data.Changes)
		t.judgement(data)
		t.measures(d.Transcript)
		t.next(d.Next)
	})
}

func write(w io.Writer, opts Options, what string, body func(*terminal)) error {
	out := bufio.NewWriter(w)
	body(&terminal{w: out, width: max(cmp.Or(opts.Width, 100), 40), color: opts.Color})
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// design writes the head: what it is, what became of it, who made it.
func (t *terminal) design(d Design) designData {
	data := newDesign(d.Present, d.Transcript, d.Transcript.Round)
	t.line(t.paint(bold, data.Title) + "  " + t.paint(outcomeColor(data.OutcomeClass), cleantext.Line(data.Outcome)))
	if d.State != "" {
		t.wrapped("", bold, d.State)
	}
	for _, who := range data.Who {
		t.wrapped("", dim, who)
	}
	if d.Transcript.Outcome == outcomeFallback {
		t.wrapped("! ", bold+red, "design_fallback: nothing that the designer said could be used, and the last curriculum stays")
	}
	if data.Warning != "" {
		t.wrapped("! ", yellow, data.Warning)
	}
	return data
}

// judgement is why, how it was brought into form, and what a person made of it.
func (t *terminal) judgement(d designData) {
	t.section("Rationale", "")
	t.wrapped("│ ", "", cmp.Or(d.Rationale, "No reason was given."))
	if len(d.Repairs) > 0 {
		t.section("Repairs", "changes that made the proposal legal")
		for _, repair := range d.Repairs {
			t.wrapped("! ", yellow, repair)
		}
	}
	if d.Decision == nil {
		return
	}
	t.section("Decision", "")
	t.decision(d.Decision)
	t.wrapped("  ", dim, d.Decision.Why)
	if len(d.Decision.Changes) > 0 {
		t.line("  changed against what was proposed:")
		t.changes(d.Decision.Changes)
	}
	if d.Decision.Rationale != "" {
		t.line("  the designer had written:")
		t.wrapped("  │ ", "", d.Decision.Rationale)
	}
}

func (t *terminal) measures(tr experiment.Transcript) {
	if tr.Measures == nil {
		return
	}
	t.section("Behaviour", "of the proposal, before any repair")
	for _, line := range measureLines(*tr.Measures) {
		t.wrapped("· ", "", line)
	}
}

func (t *terminal) next(lines []string) {
	if len(lines) == 0 {
		return
	}
	t.section("Decide", "")
	for _, l := range lines {
		t.line("  " + cleantext.Line(l))
	}
}

// prompt writes what a model was sent, with a mark in the place of sections that
// stand above.
func (t *terminal) prompt(tr experiment.Transcript) {
	if tr.Prompt == "" {
		return
	}
	text := tr.Prompt
	for _, s := range tr.Sections {
		if s.Text != "" {
			text = strings.Replace(text, s.Text, "[section "+s.Name+", as above]", 1)
		}
	}
	t.section("Prompt", plural(len([]rune(tr.Prompt)), "character"))
	t.markdown(text)
}

func (t *terminal) call(a attemptData, raw bool) {
	t.section(cleantext.Line(a.Title), "")
	for _, fact := range a.Facts {
		t.wrapped("", dim, fact)
	}
	if a.Fault != "" {
		t.wrapped("! ", yellow, a.Fault)
	}
	if a.Reasoning != "" {
		t.line(t.paint(bold, "reasoning"))
		t.verbatim(a.Reasoning)
	}
	t.line(t.paint(bold, "reply"))
	t.verbatim(a.Reply)
	if len(a.Trace) > 0 {
		t.line(t.paint(bold, "how it was read"))
	}
	for i, step := range a.Trace {
		t.item(fmt.Sprintf("%3d. ", i+1), step)
	}
	if raw {
		t.line(t.paint(bold, "request as sent"))
		t.verbatim(a.Request)
		t.line(t.paint(bold, "response as received"))
		t.verbatim(a.Response)
	}
}

// item writes text behind a number, its further lines below its first.
func (t *terminal) item(label, text string) {
	for _, l := range wrap(words(cleantext.Line(text)), " ", t.width-textWidth(label)) {
		t.line(t.paint(dim, label) + l)
		label = strings.Repeat(" ", textWidth(label))
	}
}

// verbatim keeps lines as they are, tables and indents too, and breaks only those
// that are too long.
func (t *terminal) verbatim(text string) {
	const indent = "  "
	width := t.width - len(indent)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.TrimRight(cleantext.Line(line), " ")
		if textWidth(line) <= width {
			t.line(indent + line)
			continue
		}
		for _, part := range wrap(words(line), " ", width) {
			t.line(indent + part)
		}
	}
}

// diffTable sets two curricula against each other: one value where nothing
// changed, both where something did.
func diffTable(from, to experiment.Curriculum) table {
	names := fields(from, to)
	tab := table{Cols: []heading{leftHeading("size")}}
	for _, name := range names {
		tab.Cols = append(tab.Cols, heading{Text: fieldTitle(name)})
	}
	for _, size := range union(rowSizes(from), rowSizes(to)) {
		row := []cell{rowHead(size)}
		for _, name := range names {
			row = append(row, diffCell(name, size, from, to, fieldColumn(name, from, to)))
		}
		tab.Rows = append(tab.Rows, row)
	}
	return tab
}

func diffCell(field, size string, from, to experiment.Curriculum, write func(float64) string) cell {
	show := func(c experiment.Curriculum) string {
		if v, ok := setting(c, size, field); ok {
			return write(v)
		}
		return unknown
	}
	was, is := show(from), show(to)
	if was == is {
		return cell{Text: is, Class: "soft"}
	}
	return cell{Text: was + " → " + is, Class: "strong"}
}
