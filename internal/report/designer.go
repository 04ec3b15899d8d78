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
	Lead:  "Who wrote the next curriculum, why, what was asked for and what was used. Asked and used differ where a proposal had to be brought into the legal space.",
	Model: designerModel,
	Empty: "No curriculum has been designed yet.",
	Template: `{{range .}}
<article class="design">
<h3>{{.Title}} <span class="pill {{.OutcomeClass}}">{{.Outcome}}</span></h3>
<p class="fine">{{.Who}}</p>
<div class="design-body">
<div>
{{if .Rationale}}<blockquote dir="auto">{{.Rationale}}</blockquote>{{else}}<p class="quiet">No reason was given.</p>{{end}}
{{with .Repairs}}<h4>Repairs</h4><ul class="repairs">{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
</div>
<div>{{if .Changes}}<h4>Changes</h4><dl class="changes">{{range .Changes}}<dt>{{.Field}}</dt><dd>{{range .Moves}}<span class="step {{.Class}}"><b>{{.Size}}</b> {{.From}} → {{.To}}</span>{{end}}</dd>{{end}}</dl>{{else}}<p class="quiet">Nothing was changed.</p>{{end}}</div>
</div>
{{template "numbers" .Settings}}
{{with .Sections}}<details><summary>What the designer was shown ({{len .}} sections)</summary>{{range .}}<h4>{{.Name}}</h4><pre tabindex="0">{{.Text}}</pre>{{end}}</details>{{end}}
{{with .Attempts}}<details><summary>Model calls ({{len .}})</summary>{{range .}}<h4>{{.Title}}</h4>{{with .Fault}}<p class="missing">{{.}}</p>{{end}}{{with .Reasoning}}<details><summary>Reasoning</summary><pre tabindex="0">{{.}}</pre></details>{{end}}<pre tabindex="0">{{.Reply}}</pre>{{end}}</details>{{end}}
</article>{{end}}`,
}

type designData struct {
	Title, Outcome, OutcomeClass, Who, Rationale string
	Repairs                                      []string
	Changes                                      []fieldChanges
	Settings                                     table
	Sections                                     []experiment.Section
	Attempts                                     []attemptData
}

type attemptData struct{ Title, Fault, Reasoning, Reply string }

// fieldChanges are the changes of one field, size by size.
type fieldChanges struct {
	Field string
	Moves []move
}

type move struct{ Size, From, To, Class string }

func designerModel(r experiment.Results) any {
	var designs []designData
	for _, round := range r.Rounds {
		if round.Transcript != nil {
			designs = append(designs, newDesign(round))
		}
	}
	if len(designs) == 0 {
		return nil
	}
	return designs
}

func newDesign(round experiment.RoundResult) designData {
	t := *round.Transcript
	d := designData{
		Title:        designTitle(round.Round),
		Outcome:      cmp.Or(t.Outcome, "unknown"),
		OutcomeClass: outcomeClass(t.Outcome),
		Who:          designFacts(t),
		Rationale:    strings.TrimSpace(t.Rationale),
		Repairs:      t.Repairs,
		Changes:      groupChanges(t.Changes, fields(round.Curriculum, t.Used)),
		Settings:     settingsTable(round.Curriculum, t),
		Sections:     t.Sections,
	}
	for i, a := range t.Attempts {
		d.Attempts = append(d.Attempts, newAttempt(i, a))
	}
	return d
}

func designTitle(round int) string {
	return fmt.Sprintf("After round %d, for round %d", round, round+1)
}

// outcomeClass colours what needs a second look.
func outcomeClass(outcome string) string {
	if outcome == "ok" {
		return "good"
	}
	return "look"
}

func designFacts(t experiment.Transcript) string {
	facts := []string{transcriptDesigner(t)}
	if len(t.Attempts) > 0 {
		var latency int64
		for _, a := range t.Attempts {
			latency += a.LatencyMS
		}
		facts = append(facts, plural(len(t.Attempts), "call"), plural(transcriptTokens(t), "token"), seconds(float64(latency)/1000))
	}
	return strings.Join(facts, " · ")
}

func newAttempt(i int, a experiment.Attempt) attemptData {
	facts := []string{fmt.Sprintf("Call %d", i+1), cmp.Or(a.Class, "not read")}
	if a.FinishReason != "" {
		facts = append(facts, "ended with "+a.FinishReason)
	}
	facts = append(facts,
		count(a.PromptTokens)+" + "+plural(a.CompletionTokens, "token"),
		seconds(float64(a.LatencyMS)/1000))
	return attemptData{strings.Join(facts, " · "), a.Fault, a.Reasoning, a.Reply}
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
