package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"floe/internal/experiment"
)

// panel is one section of the report.
type panel struct {
	ID       string
	Title    string
	Lead     string // how to read it, one or two sentences
	Template string // of html/template, executed with what Model returns
	// Model picks what the panel shows; nil if the results hold nothing for it.
	Model func(experiment.Results) any
	Empty string // said in place of the template when Model returns nil
}

// panels are the sections in reading order.
var panels = []panel{
	learningPanel,
	trainingPanel,
	curriculumPanel,
	failuresPanel,
	designerPanel,
	benchmarksPanel,
	datasetsPanel,
	stepsPanel,
	diaryPanel,
	provenancePanel,
}

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

// pageData is what page.html shows.
type pageData struct {
	Policy   string // the content security policy that the page sets for itself
	Style    template.CSS
	Header   header
	Sections []section
}

// section is a rendered panel.
type section struct {
	ID, Title, Lead, Empty string
	Body                   template.HTML
}

func writePage(w io.Writer, r experiment.Results) error {
	base, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("read page.html: %w", err)
	}
	page := pageData{
		Policy: contentPolicy(pageStyle),
		Style:  template.CSS(pageStyle), //nolint:gosec // the constant page.css
		Header: newHeader(r),
	}
	for _, p := range panels {
		s, err := p.render(base, r)
		if err != nil {
			return fmt.Errorf("panel %s: %w", p.ID, err)
		}
		page.Sections = append(page.Sections, s)
	}
	return base.ExecuteTemplate(w, "page", page)
}

// render executes a panel's template. It works on a clone, since html/template
// forbids to add to a set that has been executed.
func (p panel) render(base *template.Template, r experiment.Results) (section, error) {
	s := section{ID: p.ID, Title: p.Title, Lead: p.Lead}
	model := p.Model(r)
	if model == nil {
		s.Empty = p.Empty
		return s, nil
	}
	set, err := base.Clone()
	if err != nil {
		return s, err
	}
	t, err := set.New("panel-" + p.ID).Parse(p.Template)
	if err != nil {
		return s, err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, model); err != nil {
		return s, err
	}
	s.Body = template.HTML(body.String()) //nolint:gosec // html/template has escaped it
	return s, nil
}

// contentPolicy allows the page its one style sheet, known by its digest, and
// nothing else: whatever slipped through escaping could neither run nor load.
func contentPolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}
