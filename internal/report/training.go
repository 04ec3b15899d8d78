package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"floe/internal/experiment"
)

var trainingPanel = panel{
	ID:    "training",
	Title: "Training within rounds",
	Lead:  "What the trainer logged, optimizer step by optimizer step. Faint: logged points. Strong: their running mean.",
	Model: trainingModel,
	Empty: "No training has finished yet.",
	Template: `
<div class="pair">{{range .Figures}}{{template "figure" .}}{{end}}</div>
{{template "table" .Summary}}
{{with .Jobs}}{{template "table" .}}{{end}}
{{template "numbers" .Points}}`,
}

type trainingData struct {
	Figures []figure
	Summary table
	Jobs    *table // nil: none was a job
	Points  table
}

// signal is one quantity of the training curve.
type signal struct {
	id, name string
	scale    float64 // 100 for shares that are shown in percent
	of       func(experiment.TrainingPoint) float64
}

var signals = []signal{
	{"reward", "Reward, mean of the batch", 1, func(p experiment.TrainingPoint) float64 { return p.Reward }},
	{"valid", "Valid among sampled answers, %", 100, func(p experiment.TrainingPoint) float64 { return p.ValidRate }},
	{"spread", "Groups with unequal rewards, %", 100, func(p experiment.TrainingPoint) float64 { return p.Spread }},
	{"entropy", "Entropy per decision, nats", 1, func(p experiment.TrainingPoint) float64 { return p.Entropy }},
}

func trainingModel(r experiment.Results) any {
	var trained []experiment.RoundResult
	for _, round := range r.Rounds {
		if round.Training != nil {
			trained = append(trained, round)
		}
	}
	if len(trained) == 0 {
		return nil
	}
	d := trainingData{Summary: trainingSummary(trained), Jobs: trainingJobs(trained), Points: trainingPoints(trained)}
	for _, s := range signals {
		d.Figures = append(d.Figures, figure{SVG: s.draw(trained), Title: s.name})
	}
	return d
}

// stretch is one round's part of the drawing: x from left to right.
type stretch struct {
	round       experiment.RoundResult
	left, right float64
}

// stretches lays the rounds side by side, each as wide as it has steps. Steps
// may be numbered within the round or throughout: only their range counts.
func stretches(rounds []experiment.RoundResult, left, right float64) []stretch {
	total := 0.0
	for _, round := range rounds {
		total += steps(round)
	}
	var list []stretch
	x := left
	for _, round := range rounds {
		next := x + (right-left)*steps(round)/total
		list = append(list, stretch{round, x, next})
		x = next
	}
	return list
}

// steps is the range of step numbers of a round's curve, at least 1.
func steps(round experiment.RoundResult) float64 {
	curve := round.Training.Curve
	if len(curve) < 2 {
		return 1
	}
	return max(1, float64(curve[len(curve)-1].Step)-float64(curve[0].Step))
}

const trainingRight = 448.0

func (s signal) draw(rounds []experiment.RoundResult) template.HTML {
	cv := &canvas{w: 460, h: 200}
	y := s.axis(rounds)
	py := func(v float64) float64 { return y.at(v, cv.h-chartBottom, chartTop) }
	parts := stretches(rounds, chartLeft+4, trainingRight)
	for i, part := range parts {
		if i%2 == 1 {
			cv.rect("alternate", xy{part.left, chartTop}, part.right-part.left, cv.h-chartBottom-chartTop, "")
		}
	}
	for _, t := range y.ticks() {
		cv.line("grid", xy{chartLeft, py(t)}, xy{trainingRight, py(t)})
		cv.text("tick", atEnd, xy{chartLeft - 6, py(t) + 4}, number(t))
	}
	for _, i := range thin(len(parts), 9) {
		cv.text("tick", atMiddle, xy{(parts[i].left + parts[i].right) / 2, cv.h - 5}, roundName(parts[i].round.Round, len(parts)))
	}
	for _, part := range parts {
		s.drawPart(cv, part, py)
	}
	return cv.done("training-"+s.id, s.name, s.describe(rounds))
}

func roundName(round, among int) string {
	if among > 5 {
		return roundShort(round)
	}
	return roundLabel(round)
}

func (s signal) axis(rounds []experiment.RoundResult) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, round := range rounds {
		for _, p := range round.Training.Curve {
			if v := s.scale * s.of(p); finite(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	return niceAxis(math.Min(lo, 0), hi, 4)
}

// pointsDrawn bounds a round's part of a line: more cannot be told apart.
const pointsDrawn = 400

func (s signal) drawPart(cv *canvas, part stretch, py func(float64) float64) {
	curve := part.round.Training.Curve
	if len(curve) == 0 {
		return
	}
	values := make([]float64, len(curve))
	for i, p := range curve {
		values[i] = s.scale * s.of(p)
	}
	first, width := float64(curve[0].Step), steps(part.round)
	line := func(values []float64) []xy {
		var pts []xy
		for _, i := range thin(len(values), pointsDrawn) {
			if finite(values[i]) {
				x := min(max((float64(curve[i].Step)-first)/width, 0), 1)
				pts = append(pts, xy{part.left + x*(part.right-part.left), py(values[i])})
			}
		}
		return pts
	}
	cv.path("raw", line(values), false)
	cv.path("curve", line(runningMean(values, len(values)/12)), false)
}

func (s signal) describe(rounds []experiment.RoundResult) string {
	var text strings.Builder
	for _, round := range rounds {
		if curve := round.Training.Curve; len(curve) > 0 {
			first, last := s.scale*s.of(curve[0]), s.scale*s.of(curve[len(curve)-1])
			fmt.Fprintf(&text, "%s: from %s to %s. ", roundLabel(round.Round), decimals(first, 2), decimals(last, 2))
		}
	}
	return text.String()
}

func trainingSummary(rounds []experiment.RoundResult) table {
	t := table{
		Caption: "Training, round by round",
		Cols: []heading{
			leftHeading("round"), leftHeading("trainer"),
			{Text: "samples"},
			{Text: "epochs"},
			{Text: "optimizer steps"},
			{Text: "answers sampled"},
			{Text: "decisions"},
			{Text: "points logged"},
		},
	}
	for _, round := range rounds {
		tr := round.Training
		t.Rows = append(t.Rows, []cell{
			rowHead(roundLabel(round.Round)),
			{Text: tr.Trainer, Class: "left"},
			plain(count(tr.Samples)), plain(count(tr.Epochs)),
			plain(count(tr.Steps)), plain(count(tr.Rollouts)), plain(count(tr.Decisions)), plain(count(len(tr.Curve))),
		})
	}
	return t
}

// rowsShown bounds a round's rows in the table of logged points.
const rowsShown = 13

func trainingPoints(rounds []experiment.RoundResult) table {
	t := table{
		Caption: "Logged points (evenly spaced where there are many; all of them are in report.json)",
		Cols: []heading{
			leftHeading("round"),
			{Text: "step"},
			{Text: "epoch"},
			{Text: "reward"},
			{Text: "valid %"},
			{Text: "unequal groups %"},
			{Text: "entropy"},
			{Text: "gradient norm"},
			{Text: "weight of accuracy"},
			{Text: "weight of length"},
		},
	}
	for _, round := range rounds {
		curve := round.Training.Curve
		for _, i := range thin(len(curve), rowsShown) {
			p := curve[i]
			t.Rows = append(t.Rows, []cell{
				rowHead(roundLabel(round.Round)), plain(count(p.Step)), plain(decimals(p.Epoch, 2)), plain(decimals(p.Reward, 3)),
				plain(shareFigure(p.ValidRate)), plain(shareFigure(p.Spread)), plain(decimals(p.Entropy, 3)),
				plain(decimals(p.GradNorm, 3)), plain(decimals(p.WeightAcc, 3)), plain(decimals(p.WeightLen, 3)),
			})
		}
	}
	return t
}

// trainingJobs says where trainings ran that were jobs; nil if none was.
func trainingJobs(rounds []experiment.RoundResult) *table {
	t := table{
		Caption: "Jobs, round by round",
		Cols: []heading{
			leftHeading("round"), leftHeading("back end"), leftHeading("device"),
			{Text: "GPUs"},
			{Text: "attempts"},
			{Text: "GPU-hours"},
			{Text: "peak memory, GB"},
			{Text: "tokens/s"},
			leftHeading("checkpoint"),
		},
	}
	for _, round := range rounds {
		j := round.Training.Job
		if j == nil {
			continue
		}
		t.Rows = append(t.Rows, []cell{
			rowHead(roundLabel(round.Round)),
			{Text: j.Backend, Class: "left"},
			{Text: j.Device, Class: "left"},
			plain(count(j.GPUs)), plain(count(j.Attempts)), plain(decimals(j.GPUSeconds/3600, 2)),
			plain(measured(float64(j.PeakMemoryBytes)/1e9, 1)), plain(measured(j.TokensPerSecond, 0)),
			{Text: j.Checkpoint[:min(12, len(j.Checkpoint))], Class: "left"},
		})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return &t
}

// measured is a number that is 0 where nobody measured it.
func measured(x float64, places int) string {
	if x == 0 {
		return "–"
	}
	return decimals(x, places)
}
