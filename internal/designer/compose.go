package designer

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/scorecard"
)

//go:embed sections/*.md
var sectionFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"join":     strings.Join,
	"add":      func(a, b int) int { return a + b },
	"headline": headline,
	"number":   number,
	"percent":  percent,
	"phrase":   func(doc string) string { return strings.TrimRight(doc, ". ") },
	"plural":   plural,
	"quote":    quote,
	"rate":     rate,
	"setting":  setting,
	"share":    share,
	"trim":     strings.TrimSpace,
	"whole":    func(v float64) string { return strconv.FormatFloat(math.Round(v), 'f', -1, 64) },
}).ParseFS(sectionFiles, "sections/*.md"))

// view is what section files see: words of the environment, and the part of the
// evidence that the context shows.
type view struct {
	Space  env.Space
	Checks []env.Check
	Groups []string
	Shown  Shown
}

// FailureRows are the lines of the failure breakdown: each size as a whole, then
// its groups where there are several, and last all sizes together.
func (v view) FailureRows() []scorecard.Row {
	groups := scorecard.ByGroup(*v.Shown.Failures)
	var rows []scorecard.Row
	for _, of := range scorecard.BySize(*v.Shown.Failures) {
		rows = append(rows, of)
		for _, g := range groups {
			if len(v.Groups) > 1 && g.Size == of.Size {
				rows = append(rows, g)
			}
		}
	}
	return rows
}

// Compose words the sections of a context and joins them with the task and the
// form of the answer into the prompt. It fails on contexts that make no sense, and
// on evidence that contradicts itself.
func Compose(e Evidence, c Context) ([]experiment.Section, string, error) {
	shown, err := Show(e, c)
	if err != nil {
		return nil, "", err
	}
	v := view{e.Space, e.Checks, e.Groups, shown}
	sections, err := v.sections(c.Sections)
	if err != nil {
		return nil, "", err
	}
	prompt, err := v.prompt(sections)
	return sections, prompt, err
}

func (v view) sections(names []string) ([]experiment.Section, error) {
	var sections []experiment.Section
	for _, name := range names {
		text, err := render(fileOf(name), v)
		if err != nil {
			return nil, err
		}
		sections = append(sections, experiment.Section{Name: name, Text: text})
	}
	return sections, nil
}

// fileOf names the file of a section; "" for one that is not in the table.
func fileOf(section string) string {
	for _, row := range sectionTable {
		if row.name == section {
			return row.file
		}
	}
	return ""
}

func (v view) prompt(sections []experiment.Section) (string, error) {
	task, err := render("task.md", v)
	if err != nil {
		return "", err
	}
	answer, err := render("answer.md", v)
	if err != nil {
		return "", err
	}
	parts := []string{task}
	for _, s := range sections {
		parts = append(parts, s.Text)
	}
	return strings.Join(append(parts, answer), "\n\n") + "\n", nil
}

// RepairPrompt asks for a correction of a reply that could not be used.
func RepairPrompt(r Reading) (string, error) { return render("repair.md", r) }

func render(file string, data any) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, file, data); err != nil {
		return "", fmt.Errorf("word section %s: %w", file, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// rate is a count with its share and 95 % interval.
func rate(k, n int) string {
	if n == 0 {
		return "none"
	}
	lo, hi := scorecard.Wilson(k, n, scorecard.Z95)
	return fmt.Sprintf("%d = %s [%s, %s]", k, share(k, n), tenths(100*lo), tenths(100*hi))
}

// share is k of n as a percentage.
func share(k, n int) string {
	if n == 0 {
		return "not measured"
	}
	return percent(float64(k) / float64(n))
}

func percent(v float64) string { return tenths(100*v) + " %" }

func tenths(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// number writes a setting with four significant digits, which is finer than any
// designer asks for.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func headline(s experiment.Scorecard) string {
	t := s.Total()
	return fmt.Sprintf("%s valid, %s optimal (%d answers)", share(t.Valid, t.N), share(t.Optimal, t.N), t.N)
}

func setting(r experiment.Row, knob string) string {
	if v, ok := r.Knob(knob); ok {
		return number(v)
	}
	return "not set"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// quote sets a text apart, line by line, so that it cannot pass for a part of
// the prompt.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}
