package report

import (
	"strings"

	"floe/internal/experiment"
)

var diaryPanel = panel{
	ID:    "diary",
	Title: "Diary",
	Lead:  "What people did to the run, and wrote about it.",
	Model: diaryModel,
	Template: `
{{with .Tags}}<p>Tags: {{.}}</p>{{end}}
<ul>{{range .Entries}}<li><time datetime="{{.At}}">{{.At}}</time>{{with .By}} {{.}}{{end}}: {{.Text}}</li>{{end}}</ul>`,
	Empty: "No manual actions.",
}

type diaryData struct {
	Tags    string
	Entries []experiment.DiaryEntry
}

func diaryModel(r experiment.Results) any {
	if len(r.Tags) == 0 && len(r.Diary) == 0 {
		return nil
	}
	return diaryData{strings.Join(r.Tags, ", "), r.Diary}
}
