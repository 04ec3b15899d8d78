package activities

import (
	"context"

	"floe/internal/artifact"
	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/plan"
)

// Design gathers the evidence from artifacts, asks the designer, and stores all
// of the call: what was shown, what was said, what is used.
func (a *Activities) Design(ctx context.Context, in DesignInput) (Designed, error) {
	if in.Skip != "" {
		return a.keep(ctx, in)
	}
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return Designed{}, badInput(err)
	}
	evidence, err := plan.Evidence(ctx, a.Steps, in.Spec, e, in.Refs.Base.ID, append(roundsOf(in.Refs.Rounds), in.Round.ids()))
	if err != nil {
		return Designed{}, classify(ctx, err)
	}
	d, err := a.Designer(in.Spec.Designer)
	if err != nil {
		return Designed{}, badInput(err)
	}
	inputs := plan.DesignOf(in.Spec, in.Where.Round, evidence)
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindDesign, inputs, func(ctx context.Context, _ *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		report(0, 1, in.Spec.Designer.Kind)
		t, err := designer.Design(ctx, d, in.Spec.Designer, evidence, designer.Limits{
			Seed: inputs.Seed, Calls: in.ModelCalls, Tokens: in.ModelTokens,
			Feasible: curriculum.Feasible(e, orders.Training(in.Spec, in.Where.Round+1, experiment.Curriculum{})),
			Beat:     func(note string) { report(0, 1, note) },
		})
		if err != nil {
			return nil, err
		}
		return jsonFiles(FileTranscript, t, FileCurriculum, t.Used)
	})
	if err != nil {
		return Designed{}, err
	}
	return a.designed(ctx, m, done)
}

// designed sums up a transcript. A design that was found done costs nothing.
func (a *Activities) designed(ctx context.Context, m artifact.Manifest, done Done) (Designed, error) {
	var t experiment.Transcript
	if err := a.Steps.ReadJSON(ctx, m, FileTranscript, &t); err != nil {
		return Designed{}, classify(ctx, err)
	}
	out := Designed{Done: done, Outcome: t.Outcome, Rationale: brief(t.Rationale), Changes: len(t.Changes)}
	if !done.Reused {
		out.ModelCalls = len(t.Attempts)
		for _, c := range t.Attempts {
			out.ModelTokens += c.PromptTokens + c.CompletionTokens
		}
	}
	return out, nil
}

// brief cuts a rationale to what belongs into a history.
func brief(s string) string {
	const most = 300
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
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
