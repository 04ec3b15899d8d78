package report

import (
	"cmp"
	"html/template"
	"strconv"

	"floe/internal/experiment"
)

// header is the top of the report: what it was, and what came of it.
type header struct {
	Name, State string
	Facts       []string
	Figures     []headline
	Stats       []stat
	Missing     []string
	Alerts      []string // what nobody may read over
}

// headline is one of the two figures the field reports, from start to end.
type headline struct {
	Name, Class string
	From, To    rate
	Gain        string
	Strip       template.HTML
	Notes       []string // what each figure rests on
}

// stat is a small figure with its name.
type stat struct{ Name, Value string }

func newHeader(r experiment.Results) header {
	start, end := span(r)
	return header{
		Name:  cmp.Or(r.Name, "unnamed experiment"),
		State: r.State,
		Facts: facts(r.Spec),
		Figures: []headline{
			newHeadline("Valid answers", "valid", start, end, validRate),
			newHeadline("Optimal answers", "optimal", start, end, optimalRate),
		},
		Stats:   stats(r),
		Missing: missing(r),
		Alerts:  alerts(r),
	}
}

// facts are the choices that tell this experiment from its neighbours.
func facts(s experiment.Spec) []string {
	var list []string
	if s.Environment != "" {
		list = append(list, s.Environment)
	}
	if s.Designer.Kind != "" {
		list = append(list, "designer "+designerName(s.Designer.Kind, s.Designer.Model, s.Designer.Context))
	}
	if s.Trainer.Kind != "" {
		list = append(list, "trainer "+s.Trainer.Kind)
	}
	return append(list, "seed "+strconv.FormatInt(s.Seed, 10))
}

func newHeadline(name, class string, start, end measurement, of func(experiment.Rates) rate) headline {
	from, to := of(start.Of("")), of(end.Of(""))
	points := gain(from, to)
	if points == unknown {
		points = ""
	}
	return headline{
		Name: name, Class: class, From: from, To: to,
		Gain:  points,
		Strip: strip(class, start.Label, end.Label, from, to),
		Notes: []string{start.Label + ": " + evidence(from), end.Label + ": " + evidence(to)},
	}
}

// evidence is the interval and what it rests on.
func evidence(r rate) string {
	if !r.Known() {
		return "not measured"
	}
	return "95 % interval " + r.Interval() + percentSign + ", n = " + count(r.N)
}

// strip draws both rates with their intervals on a line from 0 to 100 %.
func strip(class, start, end string, from, to rate) template.HTML {
	const left, width = 10.0, 378.0
	cv := &canvas{w: 400, h: 44}
	px := func(v float64) float64 { return left + width*v/100 }
	for _, t := range []float64{0, 25, 50, 75, 100} {
		cv.line("grid", xy{px(t), 3}, xy{px(t), 29})
		cv.text("tick", atMiddle, xy{px(t), 42}, number(t))
	}
	row := func(r rate, y float64, class, label string) {
		if !r.Known() {
			return
		}
		lo, hi := r.Bounds()
		cv.rect("interval "+class, xy{px(lo), y - 3.5}, px(hi)-px(lo), 7, label+": "+r.Sentence())
		cv.mark("mark "+class, xy{px(r.Value()), y}, 4.5, class == "optimal", label+": "+r.Sentence())
	}
	row(from, 10, "untrained", start)
	row(to, 22, class, end)
	return cv.done("summary-"+class, class+" answers, "+start+" and "+end,
		start+": "+from.Sentence()+". "+end+": "+to.Sentence()+".")
}

// stats sums up what the experiment cost.
func stats(r experiment.Results) []stat {
	var samples int
	var rollouts, decisions, tokens int64
	var time, cost float64
	for _, round := range r.Rounds {
		if t := round.Training; t != nil {
			samples += t.Samples
			rollouts += t.Rollouts
			decisions += t.Decisions
		}
		if t := round.Transcript; t != nil {
			tokens += transcriptTokens(*t)
			cost += transcriptCost(*t)
		}
		for _, s := range round.Steps {
			time += s.Seconds
		}
	}
	list := []stat{
		{"rounds", roundsDone(r)},
		{"training samples", count(samples)},
		{"answers sampled", count(rollouts)},
		{"policy decisions", count(decisions)},
		{"time in steps", seconds(time)},
	}
	if tokens > 0 {
		list = append(list, stat{"designer tokens", count(tokens)})
	}
	if cost > 0 {
		list = append(list, stat{"designer cost", money(cost)})
	}
	return list
}

func roundsDone(r experiment.Results) string {
	if r.Spec.Rounds <= 0 {
		return count(len(r.Rounds))
	}
	return count(len(r.Rounds)) + " of " + count(r.Spec.Rounds)
}

func transcriptTokens(t experiment.Transcript) int64 {
	var sum int64
	for _, a := range t.Attempts {
		sum += int64(a.PromptTokens) + int64(a.CompletionTokens)
	}
	return sum
}
