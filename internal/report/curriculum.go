package report

import (
	"math"
	"strconv"

	"floe/internal/experiment"
)

var curriculumPanel = panel{
	ID:    "curriculum",
	Title: "Curriculum",
	Lead:  "What each round trained on, size by size. A stronger colour is more; ▲ and ▼ mark what changed since the round before.",
	Model: curriculumModel,
	Empty: "No round has a curriculum yet.",
	Template: `
<div class="heatmaps{{if .Long}} long{{end}}">{{range .Maps}}{{template "table" .}}{{end}}</div>`,
}

type curriculumData struct {
	Maps []table
	Long bool // too many rounds for maps side by side
}

func curriculumModel(r experiment.Results) any {
	sizes := curriculumSizes(r)
	if len(sizes) == 0 {
		return nil
	}
	curricula := make([]experiment.Curriculum, len(r.Rounds))
	for i, round := range r.Rounds {
		curricula[i] = round.Curriculum
	}
	d := curriculumData{Long: len(r.Rounds) > 5}
	for _, field := range fields(curricula...) {
		d.Maps = append(d.Maps, heatMap(field, sizes, r.Rounds, fieldColumn(field, curricula...)))
	}
	return d
}

// heatMap is a table of sizes by rounds whose cells are shaded by their value.
func heatMap(field string, sizes []string, rounds []experiment.RoundResult, write func(float64) string) table {
	t := table{Caption: fieldTitle(field), Class: "heat", Cols: []heading{leftHeading("size")}}
	for _, round := range rounds {
		t.Cols = append(t.Cols, heading{Text: roundShort(round.Round)})
	}
	lo, hi := fieldRange(field, sizes, rounds)
	for _, size := range sizes {
		row := []cell{rowHead(size)}
		for i, round := range rounds {
			v, ok := setting(round.Curriculum, size, field)
			if !ok {
				row = append(row, cell{Text: unknown})
				continue
			}
			row = append(row, cell{Text: write(v), Mark: trend(rounds, i, size, field), Class: heat(v, lo, hi)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func fieldTitle(field string) string {
	if field == dataRatio {
		return dataRatio + ", % of samples"
	}
	return field
}

// fieldRange is the scale of a heat map: from 0, or below if the data goes there.
func fieldRange(field string, sizes []string, rounds []experiment.RoundResult) (lo, hi float64) {
	for _, round := range rounds {
		for _, size := range sizes {
			if v, ok := setting(round.Curriculum, size, field); ok && finite(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	return lo, hi
}

// heatSteps is the number of shades in page.css, h0 to h8.
const heatSteps = 9

// heat is the class that shades a value between lo and hi.
func heat(v, lo, hi float64) string {
	if !finite(v) || hi <= lo {
		return "h0"
	}
	step := int(math.Round((v - lo) / (hi - lo) * (heatSteps - 1)))
	return "h" + strconv.Itoa(min(max(step, 0), heatSteps-1))
}

// trend marks a value that shows as another than the round before had. Round 0
// has nothing to differ from and needs no place for marks.
func trend(rounds []experiment.RoundResult, i int, size, field string) string {
	if i == 0 {
		return ""
	}
	now, _ := setting(rounds[i].Curriculum, size, field)
	before, ok := setting(rounds[i-1].Curriculum, size, field)
	switch {
	case !ok || fieldValue(field, now) == fieldValue(field, before):
		return " "
	case now > before:
		return "▲"
	default:
		return "▼"
	}
}
