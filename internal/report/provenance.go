package report

import (
	"cmp"
	"encoding/json"
	"strings"

	"floe/internal/experiment"
)

var provenancePanel = panel{
	ID:    "provenance",
	Title: "Provenance",
	Lead:  "What made this run: enough to make it again.",
	Model: provenanceModel,
	Template: `
<dl class="facts">{{range .Facts}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>
{{with .Modules}}<details><summary>Modules ({{len .}})</summary><ul class="modules">{{range .}}<li>{{.}}</li>{{end}}</ul></details>{{end}}
<details><summary>Effective specification</summary><pre tabindex="0">{{.Spec}}</pre></details>`,
}

type provenanceData struct {
	Facts   []stat
	Modules []string
	Spec    string
}

func provenanceModel(r experiment.Results) any {
	p := r.Provenance
	facts := []stat{
		{"floe", p.Version},
		{"commit", commit(p)},
		{"environment", p.Environment},
		{"Go", p.GoVersion},
		{"platform", p.Platform},
		{"host", host(p)},
		{"started", p.Started},
		{"finished", p.Finished},
		{"workflow", p.WorkflowID},
		{"run", p.RunID},
	}
	for i := range facts {
		facts[i].Value = cmp.Or(facts[i].Value, unknown)
	}
	return provenanceData{facts, p.Modules, specText(r.Spec)}
}

func commit(p experiment.Provenance) string {
	if p.Dirty {
		return strings.TrimSpace(p.Commit + " with uncommitted changes")
	}
	return p.Commit
}

func host(p experiment.Provenance) string {
	if p.CPUs == 0 {
		return p.Host
	}
	return strings.TrimPrefix(p.Host+", "+plural(p.CPUs, "CPU"), ", ")
}

// specText is the specification as report.json holds it.
func specText(s experiment.Spec) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the template escapes
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil { // numbers that JSON cannot hold
		return "cannot be shown: " + err.Error()
	}
	return b.String()
}
