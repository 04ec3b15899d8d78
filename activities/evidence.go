package activities

import (
	"context"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Evidence reads from artifacts what a designer may be shown after in.Round: the
// rounds before it, and what it found itself. Every number is one that a step
// wrote; the same references give the same evidence, in a run and long after it.
func Evidence(ctx context.Context, steps artifact.Steps, e env.Environment, in DesignInput) (designer.Evidence, error) {
	base, err := load[experiment.Scorecard](ctx, steps, in.Refs.Base.ID, FileScorecard)
	if err != nil {
		return designer.Evidence{}, err
	}
	ev := designer.Evidence{
		Space: e.Space(), Checks: e.Checks(), Groups: e.Groups(),
		Round: in.Where.Round, Rounds: in.Spec.Rounds, Epochs: in.Spec.Epochs, Samples: in.Spec.Samples,
		Trainer: in.Spec.Trainer, Reward: in.Spec.Reward, Base: &base,
	}
	for _, refs := range append(append([]RoundRefs(nil), in.Refs.Rounds...), in.Round) {
		r, err := roundEvidence(ctx, steps, refs)
		if err != nil {
			return designer.Evidence{}, err
		}
		ev.History = append(ev.History, r)
	}
	return ev, nil
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

func roundEvidence(ctx context.Context, steps artifact.Steps, refs RoundRefs) (designer.RoundEvidence, error) {
	r := designer.RoundEvidence{Round: refs.Round}
	var err error
	if r.Curriculum, err = load[experiment.Curriculum](ctx, steps, refs.Curriculum.ID, FileCurriculum); err != nil {
		return r, err
	}
	if r.Scorecard, err = load[experiment.Scorecard](ctx, steps, refs.Scorecard.ID, FileScorecard); err != nil {
		return r, err
	}
	if r.Training, err = load[experiment.Training](ctx, steps, refs.Policy.ID, FileTraining); err != nil {
		return r, err
	}
	if refs.Design.ID.Key == "" {
		return r, nil // this round's own design is what is being asked for
	}
	t, err := load[experiment.Transcript](ctx, steps, refs.Design.ID, FileTranscript)
	r.Rationale = t.Rationale
	return r, err
}
