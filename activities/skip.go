package activities

import (
	"context"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/plan"
)

// OutcomeSkipped is the outcome of a design that somebody left out after it
// failed: nobody was asked, and the curriculum stays.
const OutcomeSkipped = "skipped"

// keep stores, in a design's place, that the curriculum stays and why.
func (a *Activities) keep(ctx context.Context, in DesignInput) (Designed, error) {
	c, err := plan.Load[experiment.Curriculum](ctx, a.Steps, in.Round.Curriculum.ID, FileCurriculum)
	if err != nil {
		return Designed{}, classify(ctx, err)
	}
	inputs := struct {
		Skip       string                `json:"skip"`
		Round      int                   `json:"round"`
		Curriculum experiment.Curriculum `json:"curriculum"`
	}{in.Skip, in.Where.Round, c}
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindDesign, inputs, func(context.Context, *artifact.Hold, func(int, int, string)) ([]artifact.Body, error) {
		t := experiment.Transcript{
			Round: in.Where.Round, Designer: in.Spec.Designer.Kind, Context: in.Spec.Designer.Context, Sections: []experiment.Section{},
			Outcome: OutcomeSkipped, Rationale: "left out: " + in.Skip, Asked: c, Used: c, Changes: []experiment.Change{},
		}
		return jsonFiles(FileTranscript, t, FileCurriculum, c)
	})
	if err != nil {
		return Designed{}, err
	}
	return a.designed(ctx, in, m, done)
}
