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
	evidence, err := Evidence(ctx, a.Steps, e, in)
	if err != nil {
		return Designed{}, classify(ctx, err)
	}
	asked, err := a.ownModel(ctx, in)
	if err != nil {
		return Designed{}, classify(ctx, err)
	}
	inputs := plan.DesignOf(in.Spec, in.Where.Round, evidence, asked.sum)
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindDesign, inputs, func(ctx context.Context, _ *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		report(0, 1, in.Spec.Designer.Kind)
		d, done, err := a.designer(ctx, in, asked, report)
		if err != nil {
			return nil, err
		}
		defer func() { done(givenUp(ctx)) }()
		limits, err := a.purse(ctx, in)
		if err != nil {
			return nil, err
		}
		limits.Seed = inputs.Seed
		limits.Feasible = curriculum.Feasible(e, orders.Training(in.Spec, in.Where.Round+1, experiment.Curriculum{}))
		limits.Beat = func(note string) { report(0, 1, note) }
		t, err := designer.Design(ctx, d, in.Spec.Designer, evidence, limits)
		if err != nil {
			return nil, err
		}
		return jsonFiles(FileTranscript, t, FileCurriculum, t.Used)
	})
	if err != nil {
		return Designed{}, err
	}
	return a.designed(ctx, in, m, done)
}

// ownModel is the experiment's own model that designs, if one does.
func (a *Activities) ownModel(ctx context.Context, in DesignInput) (model, error) {
	switch in.Spec.Designer.Kind {
	case designer.KindTrained:
		return a.model(ctx, in.Round.Policy.ID)
	case designer.KindBase:
		return a.model(ctx, in.Refs.Policy.ID)
	}
	return model{}, nil
}

// designer makes the designer that a spec asks for. Done is to be called when it is
// not needed any more, and told whether it was given up.
func (a *Activities) designer(ctx context.Context, in DesignInput, m model, report func(int, int, string)) (d designer.Designer, done func(stop bool), err error) {
	spec := in.Spec.Designer
	done = func(bool) {}
	switch {
	case spec.Kind == "human":
		return person{}, done, nil
	case m.sum == "":
		if d, err = a.Designer(spec); err != nil {
			err = badInput(err)
		}
		return d, done, err
	}
	if err := a.needsModels(); err != nil {
		return nil, done, err
	}
	label := plan.LabelBase
	if m.Checkpoint != nil {
		label = plan.LabelRound(in.Where.Round)
	}
	use, err := a.use(ctx, in.Spec, m, label, report)
	if err != nil {
		return nil, done, err
	}
	if d, err = a.Asker(use); err != nil {
		use.Done(false)
		return nil, done, err
	}
	return d, use.Done, nil
}

// designed sums up a transcript. A design that was found done costs nothing.
func (a *Activities) designed(ctx context.Context, in DesignInput, m artifact.Manifest, done Done) (Designed, error) {
	var t experiment.Transcript
	if err := a.Steps.ReadJSON(ctx, m, FileTranscript, &t); err != nil {
		return Designed{}, classify(ctx, err)
	}
	out := Designed{Done: done, Outcome: t.Outcome, Rationale: brief(t.Rationale), Changes: len(t.Changes)}
	if t.Outcome == designer.OutcomeFallback {
		out.State = StateFallback
	}
	if !done.Reused {
		out.ModelCalls = len(t.Attempts)
		for _, c := range t.Attempts {
			out.ModelTokens += c.PromptTokens + c.CompletionTokens
		}
	}
	if in.Skip != "" {
		return out, nil // a person has just said that the curriculum stays
	}
	if out.NeedsApproval = plan.NeedsApproval(in.Spec, in.Where.Round, t); out.NeedsApproval != "" {
		var err error
		if out.Decided, err = a.found(ctx, in, m.ID); err != nil {
			return Designed{}, classify(ctx, err)
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
