package activities

import (
	"context"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/plan"
)

// Evidence reads from artifacts what a designer may be shown after in.Round: the
// rounds before it, and what it found itself. Every number is one that a step
// wrote; the same references give the same evidence, in a run and long after it.
func Evidence(ctx context.Context, steps artifact.Steps, e env.Environment, in DesignInput) (designer.Evidence, error) {
	return plan.Evidence(ctx, steps, in.Spec, e, in.Refs.Base.ID, append(roundsOf(in.Refs.Rounds), in.Round.ids()))
}

// StoredDesign is what was asked for after a round that is finished, out of the
// references of its experiment; false if that round has not been validated. What a
// workflow still had to spend then is not in it.
func StoredDesign(spec experiment.Spec, refs Refs, round int) (DesignInput, bool) {
	if round < 0 || round >= len(refs.Rounds) || refs.Rounds[round].Scorecard.ID.Key == "" {
		return DesignInput{}, false
	}
	in := DesignInput{Where: Where{Name: spec.Name, Round: round}, Spec: spec, Refs: refs, Round: refs.Rounds[round]}
	in.Refs.Rounds = refs.Rounds[:round]
	in.Round.Design = Done{}
	return in, true
}

// roundsOf names the steps of finished rounds.
func roundsOf(refs []RoundRefs) []plan.Round {
	rounds := make([]plan.Round, len(refs))
	for i, r := range refs {
		rounds[i] = r.ids()
	}
	return rounds
}

func (r RoundRefs) ids() plan.Round {
	return plan.Round{
		Number: r.Round, Curriculum: r.Curriculum.ID, Dataset: r.Dataset.ID, Policy: r.Policy.ID,
		Scorecard: r.Scorecard.ID, Design: r.Design.ID,
	}
}

// Rounds names the steps of the rounds of some refs, for a plan.
func Rounds(r Refs) []plan.Round { return roundsOf(r.Rounds) }
