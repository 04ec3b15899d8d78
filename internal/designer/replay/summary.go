package replay

import (
	"encoding/json"

	"floe/internal/designer"
	"floe/internal/designer/behaviour"
	"floe/internal/experiment"
)

// Result is everything that a replay found. Proposals are compared as they were
// asked for, before they were brought into the legal space.
type Result struct {
	Schema     string                `json:"schema"` // "floe.replay/v1"
	ID         string                `json:"id"`
	Experiment string                `json:"experiment"`
	Round      int                   `json:"round"` // whose evidence was shown
	Designer   string                `json:"designer"`
	Seed       string                `json:"seed"`
	N          int                   `json:"n"`        // answers wanted of each cell
	Complete   bool                  `json:"complete"` // all of them are there
	Present    experiment.Curriculum `json:"present"`  // in force in that round
	Cells      []CellResult          `json:"cells"`
	Agreement  []Pair                `json:"agreement"`
}

// CellResult is what one way to design came to. All figures but the counts are
// over the usable answers.
type CellResult struct {
	Cell
	Draws    []Draw                  `json:"draws"`
	Usable   int                     `json:"usable"`   // answers that hold a proposal
	Distinct int                     `json:"distinct"` // different proposals among them
	Outcomes []experiment.ClassCount `json:"outcomes"`
	Classes  []experiment.ClassCount `json:"classes"` // of the replies, repairs included
	Settings []Setting               `json:"settings"`
	// NoiseFloor is the mean distance between two proposals of this cell: how far
	// it is from itself on the same evidence.
	NoiseFloor float64 `json:"noise_floor"`
	Changed    Moments `json:"changed"`    // share of the sizes with any setting changed
	FromLast   Moments `json:"from_last"`  // L1 distance to the curriculum in force
	FromFirst  Moments `json:"from_first"` // L1 distance to round 0's
	Frontier   Moments `json:"frontier"`   // share of the samples at the edge of what is solved
	Tokens     int     `json:"tokens"`
	Cost       float64 `json:"cost"`
}

// Draw is one answer.
type Draw struct {
	Seed     string                `json:"seed"`
	Step     experiment.StepID     `json:"step"` // where its transcript is
	Outcome  string                `json:"outcome"`
	Proposal string                `json:"proposal,omitempty"` // a letter: equal proposals have equal ones, in all cells
	Asked    experiment.Curriculum `json:"asked"`
	Used     experiment.Curriculum `json:"used"`
	Measures *experiment.Measures  `json:"measures,omitempty"`
	Calls    int                   `json:"calls"`
	Tokens   int                   `json:"tokens"`
	Cost     float64               `json:"cost"`
	Model    string                `json:"model,omitempty"`
	Server   string                `json:"server,omitempty"` // what answered last
}

func (d Draw) usable() bool { return d.Outcome != designer.OutcomeFallback }

// Setting is one setting of one size over a cell's proposals.
type Setting struct {
	Size  string  `json:"size"`
	Field string  `json:"field"` // "data_ratio" or a knob
	Now   float64 `json:"now"`   // in force
	Moments
}

// summarise puts together what has come.
func (p Plan) summarise(got answers) (Result, error) {
	id, err := p.ID()
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Schema: Schema, ID: id, Experiment: p.Experiment, Round: p.Evidence.Round, Designer: designer.Version,
		Seed: p.Seed, N: p.N, Complete: true, Present: p.Evidence.History[len(p.Evidence.History)-1].Curriculum,
	}
	letters := letters{}
	for i, c := range p.Cells {
		cell := CellResult{Cell: c, Draws: []Draw{}}
		var transcripts []experiment.Transcript
		for _, a := range got[i] {
			if a == nil {
				r.Complete = false
				continue
			}
			transcripts = append(transcripts, a.transcript)
			cell.Draws = append(cell.Draws, drawOf(a, letters))
		}
		cell.Classes = experiment.CountClasses(transcripts...)
		p.figures(&cell, r.Present)
		r.Cells = append(r.Cells, cell)
	}
	r.Agreement = agreement(r.Cells, p.Evidence.Space)
	return r, nil
}

func drawOf(a *answer, l letters) Draw {
	t := a.transcript
	d := Draw{
		Seed: a.seed, Step: a.id, Outcome: t.Outcome, Asked: t.Asked, Used: t.Used, Measures: t.Measures,
		Model: t.Model,
	}
	used := spent(t)
	d.Calls, d.Tokens, d.Cost = used.Calls, used.Tokens, used.Cost
	if n := len(t.Attempts); n > 0 {
		d.Server = t.Attempts[n-1].Server
	}
	if d.usable() {
		d.Proposal = l.of(t.Asked)
	}
	return d
}

// letters names proposals in the order in which they first come.
type letters map[string]string

func (l letters) of(c experiment.Curriculum) string {
	body, _ := json.Marshal(c) // finite numbers and strings
	name, ok := l[string(body)]
	if !ok {
		name = letter(len(l))
		l[string(body)] = name
	}
	return name
}

// letter counts A to Z, AA, AB and so on.
func letter(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return letter(n/26-1) + letter(n%26)
}

// figures fills in what is computed from the draws.
func (p Plan) figures(c *CellResult, present experiment.Curriculum) {
	var proposals []experiment.Curriculum
	outcomes, distinct := map[string]int{}, map[string]bool{}
	var changed, last, first, frontier []float64
	for _, d := range c.Draws {
		outcomes[d.Outcome]++
		c.Tokens += d.Tokens
		c.Cost += d.Cost
		if !d.usable() {
			continue
		}
		proposals = append(proposals, d.Asked)
		distinct[d.Proposal] = true
		if m := d.Measures; m != nil {
			changed, last = append(changed, m.SizesChanged), append(last, m.FromLast)
			first, frontier = append(first, m.FromFirst), append(frontier, m.Frontier)
		}
	}
	c.Usable, c.Distinct, c.Outcomes = len(proposals), len(distinct), counts(outcomes)
	c.NoiseFloor = behaviour.NoiseFloor(proposals, p.Evidence.Space)
	c.Changed, c.FromLast, c.FromFirst, c.Frontier = momentsOf(changed), momentsOf(last), momentsOf(first), momentsOf(frontier)
	c.Settings = p.settings(proposals, present)
}

// settings are all settings of all sizes, size by size.
func (p Plan) settings(proposals []experiment.Curriculum, present experiment.Curriculum) []Setting {
	out := []Setting{}
	for _, size := range p.Evidence.Space.Sizes {
		for _, field := range fields(p.Evidence.Space) {
			values := make([]float64, len(proposals))
			for i, c := range proposals {
				values[i] = value(c, size, field)
			}
			out = append(out, Setting{Size: size, Field: field, Now: value(present, size, field), Moments: momentsOf(values)})
		}
	}
	return out
}
