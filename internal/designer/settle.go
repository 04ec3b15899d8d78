package designer

import (
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Settling decides between a proposal and its use.
type Settling struct {
	Space    env.Space
	Previous experiment.Curriculum // in force; it stays where nothing usable is proposed
	MinShare float64               // least share that a size keeps
	// Feasible says why no task can be drawn from a row; nil if that cannot happen.
	Feasible func(experiment.Row) error
}

// Settled is what becomes of a proposal. Asked and Used are complete: all sizes,
// all knobs; only after a fallback Asked has no rows.
type Settled struct {
	Outcome   string // as in Transcript.Outcome
	Rationale string
	Asked     experiment.Curriculum
	Used      experiment.Curriculum
	Repairs   []string            // how Asked was brought into the legal space
	Changes   []experiment.Change // Used against the curriculum in force
}

// Settle brings a proposal to what is legal and can be drawn; where that fails, or
// nothing was proposed, the curriculum in force stays. What is used is legal in
// any case.
func (s Settling) Settle(p Proposal) Settled {
	out := Settled{Rationale: p.Rationale, Asked: experiment.Curriculum{Rows: []experiment.Row{}}}
	if p.Fallback == "" {
		out.Asked = complete(p.Asked, s.Previous, s.Space)
		p.Fallback = s.use(&out, p)
	}
	if p.Fallback != "" {
		out.Outcome = OutcomeFallback
		out.Rationale = "The last curriculum stays: " + p.Fallback
		out.Used = s.Previous.Clone()
	}
	out.Changes = append([]experiment.Change{}, curriculum.Diff(s.Previous, out.Used)...)
	return out
}

// use projects what was asked, and says why if nothing of it can be used.
func (s Settling) use(out *Settled, p Proposal) (unusable string) {
	used, repairs := curriculum.Project(out.Asked, s.Previous, s.Space, s.MinShare)
	if s.Feasible != nil {
		fitted, more, err := curriculum.Fit(used, s.Space, s.Feasible)
		if err != nil {
			return err.Error()
		}
		used, repairs = fitted, append(repairs, more...)
	}
	out.Used = used
	out.Repairs = append(append([]string(nil), p.Notes...), repairs...)
	out.Outcome = outcome(p, repairs)
	return ""
}

func outcome(p Proposal, repairs []string) string {
	switch {
	case len(repairs) > 0:
		return OutcomeProjected
	case p.Normalised:
		return OutcomeNormalised
	}
	return OutcomeOK
}

// enter puts what was settled into a transcript.
func (s Settled) enter(t *experiment.Transcript) {
	t.Outcome, t.Rationale, t.Asked, t.Used, t.Repairs, t.Changes = s.Outcome, s.Rationale, s.Asked, s.Used, s.Repairs, s.Changes
}

// complete adds the sizes and knobs that a proposal leaves out, as they stand.
func complete(asked, previous experiment.Curriculum, space env.Space) experiment.Curriculum {
	var full experiment.Curriculum
	for _, size := range space.Sizes {
		row, ok := asked.Row(size)
		if !ok {
			row = experiment.Row{Size: size, DataRatio: standing(previous, size).DataRatio}
		}
		full.Rows = append(full.Rows, withKnobs(row, standing(previous, size), space))
	}
	return full
}

// standing is a size's present row. A size that the last curriculum does not
// know gets no samples and default knobs.
func standing(previous experiment.Curriculum, size string) experiment.Row {
	if row, ok := previous.Row(size); ok {
		return row
	}
	return experiment.Row{Size: size}
}

func withKnobs(row, standing experiment.Row, space env.Space) experiment.Row {
	full := experiment.Row{Size: row.Size, DataRatio: row.DataRatio}
	for _, k := range space.Knobs {
		v, ok := row.Knob(k.Name)
		if !ok {
			v, ok = standing.Knob(k.Name)
		}
		if !ok {
			v = k.Default
		}
		full.Knobs = append(full.Knobs, experiment.Knob{Name: k.Name, Value: v})
	}
	return full
}

// ProposalOf is the proposal that a usable reading makes.
func ProposalOf(r Reading) Proposal {
	return Proposal{Asked: r.Asked, Rationale: r.Rationale, Notes: r.Notes, Normalised: r.Class == ClassNormalised}
}
