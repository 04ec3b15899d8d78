package report

import (
	"html/template"

	"floe/internal/experiment"
)

var stepsPanel = panel{
	ID:       "steps",
	Title:    "Steps",
	Lead:     "Each step's time, and the artifact that holds what it wrote. Steps with the same inputs share one artifact. Full keys are in report.json.",
	Model:    stepsModel,
	Empty:    "No step has finished yet.",
	Template: `{{template "table" .}}`,
}

func stepsModel(r experiment.Results) any {
	t := table{
		Caption: "Steps, their artifacts and times",
		Cols:    []heading{leftHeading("round"), leftHeading("step"), leftHeading("artifact"), {Text: "time"}, leftHeading("")},
	}
	longest := 0.0
	for _, round := range r.Rounds {
		for _, s := range round.Steps {
			longest = max(longest, s.Seconds)
		}
	}
	for _, round := range r.Rounds {
		for i, s := range round.Steps {
			name := rowHead("")
			if i == 0 {
				name = rowHead(roundLabel(round.Round))
			}
			t.Rows = append(t.Rows, []cell{
				name,
				{Text: s.Step, Class: "left"},
				{Text: s.ID.String(), Class: "left mono", Note: s.ID.Key},
				plain(seconds(s.Seconds)),
				{Art: timeBar(s.Seconds, longest), Class: "left art"},
			})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func timeBar(seconds, longest float64) template.HTML {
	if !finite(seconds) || longest <= 0 {
		return ""
	}
	cv := &canvas{w: 240, h: 10}
	cv.rect("bar between", xy{0, 0}, max(240*seconds/longest, 1), 10, "")
	return cv.decoration()
}
