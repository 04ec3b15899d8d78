package activities

import (
	"context"
	"strings"

	"go.temporal.io/sdk/activity"

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
		d, err := a.designer(in, asked)
		if err != nil {
			return nil, err
		}
		limits, err := a.purse(ctx, in)
		if err != nil {
			return nil, err
		}
		limits.Seed = inputs.Seed
		limits.Feasible = curriculum.Feasible(e, orders.Training(in.Spec, in.Where.Round+1, experiment.Curriculum{}))
		limits.Beat = noting(ctx, func(note string) { report(0, 1, note) })
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

// noting passes a designer's notes on, and logs each one that a heartbeat could miss:
// the others say for a while what is waited for.
func noting(ctx context.Context, pass func(note string)) func(note string) {
	last := ""
	return func(note string) {
		if note != last && !strings.HasPrefix(note, "asking ") && !strings.HasPrefix(note, "waiting ") {
			activity.GetLogger(ctx).Warn(note)
		}
		last = note
		pass(note)
	}
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

// designer makes the designer that a spec asks for; m is the experiment's own model
// that designs, if one does.
func (a *Activities) designer(in DesignInput, m model) (designer.Designer, error) {
	switch {
	case in.Spec.Designer.Kind == "human":
		return person{}, nil
	case m.sum != "":
		return &OwnDesigner{Model: m.sum, acts: a, in: in, model: m}, a.needsModels()
	}
	d, err := a.Designer(in.Spec.Designer)
	if err != nil {
		return nil, badInput(err)
	}
	return d, nil
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
		var served designer.Served
		for _, c := range t.Attempts {
			served.Add(c)
		}
		out.ModelCalls, out.ModelTokens = served.Calls, served.Tokens
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
