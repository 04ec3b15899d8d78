package plan

import (
	"context"
	"errors"
	"fmt"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Round names the finished steps of one round.
type Round struct {
	Number     int
	Curriculum experiment.StepID // what the round trained on
	Dataset    experiment.StepID
	Policy     experiment.StepID
	Scorecard  experiment.StepID
	Design     experiment.StepID // zero while it is being asked for
}

// Outline is the evidence for a design as far as a spec determines it.
func Outline(spec experiment.Spec, e env.Environment, round int) designer.Evidence {
	return designer.Evidence{
		Space: e.Space(), Checks: e.Checks(), Groups: e.Groups(),
		Round: round, Rounds: spec.Rounds, Epochs: spec.Epochs, Samples: spec.Samples,
		Trainer: spec.Trainer, Reward: spec.Reward,
	}
}

// Evidence gathers from artifacts what a designer may be shown after the last of
// some rounds. Base is the untrained policy's scorecard.
func Evidence(ctx context.Context, steps artifact.Steps, spec experiment.Spec, e env.Environment, base experiment.StepID, rounds []Round) (designer.Evidence, error) {
	card, err := Load[experiment.Scorecard](ctx, steps, base, FileScorecard)
	if err != nil {
		return designer.Evidence{}, err
	}
	ev := Outline(spec, e, rounds[len(rounds)-1].Number)
	ev.Base = &card
	for _, r := range rounds {
		found, err := RoundEvidence(ctx, steps, r)
		if err != nil {
			return designer.Evidence{}, err
		}
		ev.History = append(ev.History, found)
	}
	return ev, nil
}

// RoundEvidence reads what one round found.
func RoundEvidence(ctx context.Context, steps artifact.Steps, round Round) (designer.RoundEvidence, error) {
	r := designer.RoundEvidence{Round: round.Number}
	var err error
	if r.Curriculum, err = Load[experiment.Curriculum](ctx, steps, round.Curriculum, FileCurriculum); err != nil {
		return r, err
	}
	if r.Scorecard, err = Load[experiment.Scorecard](ctx, steps, round.Scorecard, FileScorecard); err != nil {
		return r, err
	}
	if r.Training, err = Load[experiment.Training](ctx, steps, round.Policy, FileTraining); err != nil {
		return r, err
	}
	if round.Design.Key == "" {
		return r, nil // this round's own design is what is being asked for
	}
	t, err := Load[experiment.Transcript](ctx, steps, round.Design, FileTranscript)
	r.Rationale = t.Rationale
	return r, err
}

// Load reads one JSON file of a finished step.
func Load[T any](ctx context.Context, steps artifact.Steps, id experiment.StepID, file string) (T, error) {
	var v T
	m, err := Need(ctx, steps, id)
	if err != nil {
		return v, err
	}
	return v, steps.ReadJSON(ctx, m, file, &v)
}

// ErrMissing says that a step was done, as a later one names it, and is not done
// any more: somebody set it aside or deleted it.
var ErrMissing = errors.New("not in the artifact store, though a later step needs it")

// Need finds a step that must be done; ErrMissing if it is not.
func Need(ctx context.Context, steps artifact.Steps, id experiment.StepID) (artifact.Manifest, error) {
	m, ok, err := steps.Find(ctx, id)
	if err == nil && !ok {
		err = fmt.Errorf("step %s is %w", id, ErrMissing)
	}
	return m, err
}
