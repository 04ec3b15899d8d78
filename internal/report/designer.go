package report

import (
	"cmp"
	"fmt"
	"strings"

	"floe/internal/experiment"
)

var designerPanel = panel{
	ID:    "designer",
	Title: "Designer",
	Lead:  "Who wrote the next curriculum, why, what was proposed (asked) and what was used. The two differ where an illegal proposal was repaired.",
	Model: designerModel,
	Empty: "No curriculum has been designed yet.",
	Template: `{{with .Counts}}<dl class="stats">{{range .}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>{{end}}
{{with .Measures}}{{template "table" .}}<p class="fine">Frontier: samples at sizes with a valid rate of 20 to 80 %. Taken back: moves of the design before, at sizes whose valid rate has fallen since, and at the others.</p>{{end}}
{{range .Designs}}
<article class="design">
<h3>{{.Title}} <span class="pill {{.OutcomeClass}}">{{.Outcome}}</span></h3>
<p class="fine">{{range .Who}}<span>{{.}}</span>{{end}}</p>
{{with .Warning}}<p class="missing">{{.}}</p>{{end}}
{{with .Decision}}<div class="decision"><p><b>{{.Title}}</b>{{with .Note}}: {{.}}{{end}}</p><p class="fine">{{.Why}}</p>
{{with .Changes}}<h4>Changed by the person</h4>{{template "moves" .}}{{end}}
{{with .Repairs}}<h4>Repairs of the edit</h4><ul class="repairs">{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{with .Rationale}}<details><summary>What the designer had written</summary><blockquote dir="auto">{{.}}</blockquote></details>{{end}}</div>{{end}}
<div class="design-body">
<div>
{{if .Rationale}}<blockquote dir="auto">{{.Rationale}}</blockquote>{{else}}<p class="quiet">No reason was given.</p>{{end}}
{{with .Repairs}}<h4>Repairs</h4><ul class="repairs">{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
</div>
<div>{{if .Changes}}<h4>Changes</h4>{{template "moves" .Changes}}{{else}}<p class="quiet">Nothing was changed.</p>{{end}}</div>
</div>
{{template "numbers" .Settings}}
{{with .Sections}}<details><summary>What the designer was shown ({{len .}} sections)</summary>{{range .}}<h4>{{.Name}}</h4><pre tabindex="0">{{.Text}}</pre>{{end}}</details>{{end}}
{{with .Prompt}}<details><summary>The prompt</summary><pre tabindex="0">{{.}}</pre></details>{{end}}
{{with .Attempts}}<details><summary>Model calls ({{len .}})</summary>{{range .}}<h4>{{.Title}}</h4><p class="fine">{{range .Facts}}<span>{{.}}</span>{{end}}</p>{{with .Fault}}<p class="missing">{{.}}</p>{{end}}
{{with .Reasoning}}<details><summary>Reasoning</summary><pre tabindex="0">{{.}}</pre></details>{{end}}<pre tabindex="0">{{.Reply}}</pre>
{{with .Trace}}<details open><summary>How it was read</summary><ol class="trace">{{range .}}<li>{{.}}</li>{{end}}</ol></details>{{end}}
{{with .Request}}<details><summary>Request as sent</summary><pre tabindex="0">{{.}}</pre></details>{{end}}
{{with .Response}}<details><summary>Response as received</summary><pre tabindex="0">{{.}}</pre></details>{{end}}{{end}}</details>{{end}}
</article>{{end}}`,
}

// designerData is the panel: counts over the experiment, then each design.
type designerData struct {
	Counts   []stat
	Measures *table
	Designs  []designData
}

type designData struct {
	Title, Outcome, OutcomeClass, Rationale, Warning string
	Who                                              []string
	Decision                                         *decisionData
	Repairs                                          []string
	Changes                                          []fieldChanges
	Settings                                         table
	Sections                                         []experiment.Section
	Prompt                                           string
	Attempts                                         []attemptData
}

// fieldChanges are the changes of one field, size by size.
type fieldChanges struct {
	Field string
	Moves []move
}

type move struct{ Size, From, To, Class string }

func designerModel(r experiment.Results) any {
	designs := designsOf(r)
	if len(designs) == 0 {
		return nil
	}
	return designerData{Counts: designCounts(r), Measures: measuresTable(r), Designs: designs}
}

func designsOf(r experiment.Results) []designData {
	var designs []designData
	for _, round := range r.Rounds {
		if round.Transcript != nil {
			designs = append(designs, newDesign(round.Curriculum, *round.Transcript, round.Round))
		}
	}
	return designs
}

func newDesign(before experiment.Curriculum, t experiment.Transcript, round int) designData {
	d := designData{
		Title:        designTitle(round),
		Outcome:      outcomeName(t.Outcome),
		OutcomeClass: outcomeClass(t.Outcome),
		Who:          designFacts(t),
		Rationale:    strings.TrimSpace(t.Rationale),
		Warning:      t.Warning,
		Decision:     newDecision(t.Decision, before),
		Repairs:      t.Repairs,
		Changes:      groupChanges(t.Changes, fields(before, t.Used)),
		Settings:     settingsTable(before, t),
		Sections:     t.Sections,
		Prompt:       t.Prompt,
	}
	for i, a := range t.Attempts {
		d.Attempts = append(d.Attempts, newAttempt(i, a))
	}
	return d
}

func designTitle(round int) string {
	return fmt.Sprintf("After round %d, for round %d", round, round+1)
}

// outcomeFallback is a design of which nothing could be used. It is called by a
// name that is looked for in logs, so that it is not read over.
const outcomeFallback = "fallback"

func outcomeName(outcome string) string {
	if outcome == outcomeFallback {
		return "design_fallback"
	}
	return cmp.Or(outcome, "unknown")
}

// outcomeClass colours what needs a second look.
func outcomeClass(outcome string) string {
	switch outcome {
	case "ok":
		return "good"
	case outcomeFallback:
		return "bad"
	}
	return "look"
}

// alerts say which designs gave nothing that could be used, and what is used.
func alerts(r experiment.Results) []string {
	var list []string
	for _, round := range r.Rounds {
		t := round.Transcript
		if t == nil || proposalOutcome(*t) != outcomeFallback {
			continue
		}
		why := t.Rationale
		if t.Decision != nil {
			why = fmt.Sprintf("%s (%s by %s)", strings.TrimSpace(t.Decision.Rationale), t.Decision.Verdict, t.Decision.By)
		}
		list = append(list, fmt.Sprintf("Round %d: %s", round.Round, cmp.Or(strings.TrimSpace(why), "the last curriculum stays")))
	}
	return list
}

// proposalOutcome is how the designer's call ended, whatever a person decided.
func proposalOutcome(t experiment.Transcript) string {
	if t.Decision != nil {
		return t.Decision.Outcome
	}
	return t.Outcome
}

// groupChanges sorts changes by field, in the curriculum's order.
func groupChanges(changes []experiment.Change, order []string) []fieldChanges {
	for _, c := range changes {
		order = union(order, []string{c.Field})
	}
	var groups []fieldChanges
	for _, field := range order {
		g := fieldChanges{Field: field}
		for _, c := range changes {
			if c.Field == field {
				g.Moves = append(g.Moves, newMove(c))
			}
		}
		if len(g.Moves) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func newMove(c experiment.Change) move {
	m := move{c.Size, fieldNumber(c.Field, c.From), fieldValue(c.Field, c.To), "up"}
	if c.To < c.From {
		m.Class = "down"
	}
	return m
}

// settingsTable sets what was in force, what was asked and what is used side by
// side, for every size and field.
func settingsTable(before experiment.Curriculum, t experiment.Transcript) table {
	names := fields(before, t.Asked, t.Used)
	tab := table{Caption: "Before, asked and used (bold: changed; underlined: not used as asked)", Groups: []heading{{Left: true}}, Cols: []heading{leftHeading("size")}}
	for _, field := range names {
		tab.Groups = append(tab.Groups, heading{Text: fieldTitle(field), Span: 3})
		tab.Cols = append(tab.Cols, headings("before", "asked", "used")...)
	}
	for _, size := range union(union(rowSizes(before), rowSizes(t.Asked)), rowSizes(t.Used)) {
		row := []cell{rowHead(size)}
		for _, field := range names {
			row = append(row, settingCells(field, size, before, t, fieldColumn(field, before, t.Asked, t.Used))...)
		}
		tab.Rows = append(tab.Rows, row)
	}
	return tab
}

func settingCells(field, size string, before experiment.Curriculum, t experiment.Transcript, write func(float64) string) []cell {
	show := func(c experiment.Curriculum) string {
		if v, ok := setting(c, size, field); ok {
			return write(v)
		}
		return unknown
	}
	was, asked, used := show(before), show(t.Asked), show(t.Used)
	cells := []cell{{Text: was, Class: "soft first"}, {Text: asked, Class: "soft"}, {Text: used}}
	if used != was {
		cells[2].Class = "changed"
	}
	if asked != used && asked != unknown {
		cells[1].Class = "differs"
	}
	return cells
}
