package workflows

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// RoundInput starts one round.
type RoundInput struct {
	Where activities.Where `json:"where"`
	Spec  experiment.Spec  `json:"spec"`
	// Refs are the experiment's artifacts so far: round 0's curriculum, the
	// untrained policy, the validation set, and the rounds before this one.
	Refs activities.Refs `json:"refs"`
	// Again names the steps to make anew although they are done, once for each time.
	Again []string `json:"again,omitempty"`
	// SkipDesign is the reason to keep the curriculum; empty to have one designed.
	SkipDesign string `json:"skip_design,omitempty"`
}

// RoundResult is what one round made and found.
type RoundResult struct {
	Refs        activities.RoundRefs `json:"refs"`
	Rates       experiment.Rates     `json:"rates"`
	Outcome     string               `json:"outcome"` // of the design
	ModelCalls  int                  `json:"model_calls"`
	ModelTokens int                  `json:"model_tokens"`
}

// Round generates, trains, validates and designs. Each step's artifact is the
// next one's input, so a round that is run again goes on where the last one ended.
// Where a person must decide about the design, the round waits for them.
func Round(ctx workflow.Context, in RoundInput) (RoundResult, error) {
	curriculum, policy := in.startingPoint()
	refs := activities.RoundRefs{Round: in.Where.Round, Curriculum: curriculum}
	gate := newGate(ctx)

	note(ctx, in, "generating %d samples", in.Spec.Samples)
	data, err := step(ctx, in, gate, cpuWork, "generate", in.summary("generate %d samples", in.Spec.Samples), do.Generate,
		activities.GenerateInput{Where: in.where("generate"), Spec: in.Spec, Curriculum: curriculum.ID})
	if err != nil {
		return RoundResult{}, err
	}
	refs.Dataset = data.Done

	note(ctx, in, "training %d epochs on %d samples", in.Spec.Epochs, data.Samples)
	trained, err := train(ctx, in, gate, activities.TrainInput{Where: in.where("train"), Spec: in.Spec, Dataset: data.ID, Init: policy.ID})
	if err != nil {
		return RoundResult{}, err
	}
	refs.Policy = trained.Done

	note(ctx, in, "validating")
	scored, err := step(ctx, in, gate, policyWait(in.Spec), "validate", in.summary("validate"), do.Evaluate, activities.EvaluateInput{
		Where: in.where("validate"), Spec: in.Spec, Policy: trained.ID, Dataset: in.Refs.Validation.ID,
		Label: fmt.Sprintf("round %d", in.Where.Round), Set: "validation",
	})
	if err != nil {
		return RoundResult{}, err
	}
	refs.Scorecard = scored.Done

	note(ctx, in, "%s valid; designing the next curriculum", experiment.Percent(scored.Rates.ValidRate()))
	designed, err := step(ctx, in, gate, designWait(in.Spec), "design", in.summary("design the next curriculum: %s", in.Spec.Designer.Kind), do.Design,
		activities.DesignInput{
			Where: in.where("design"), Spec: in.Spec, Refs: in.Refs, Round: refs, Skip: in.SkipDesign,
		})
	if err != nil {
		return RoundResult{}, err
	}
	refs.Design = designed.Done
	if designed.NeedsApproval != "" {
		decided, err := in.decided(ctx, refs, designed)
		if err != nil {
			return RoundResult{}, fmt.Errorf("decide: %w", err)
		}
		if decided != nil {
			refs.Proposal, refs.Design = designed.Done, decided.Done
			designed.Outcome, designed.Rationale = decided.Outcome, decided.Rationale
		}
	}

	note(ctx, in, "done: %s valid, %s optimal; design %s: %s", experiment.Percent(scored.Rates.ValidRate()),
		experiment.Percent(scored.Rates.OptimalRate()), loud(designed.Outcome), designed.Rationale)
	return RoundResult{refs, scored.Rates, designed.Outcome, designed.ModelCalls, designed.ModelTokens}, nil
}

// step does one step of a round, unless the experiment is paused: then it waits.
// One that fails for good fails the round with a sentence that says why.
func step[I, O any](ctx workflow.Context, in RoundInput, g *gate, w wait, name, summary string,
	activity func(context.Context, I) (O, error), input I,
) (O, error) {
	if err := g.pass(ctx, in.Where.Round, name); err != nil {
		var none O
		return none, err
	}
	out, err := call(ctx, w, in.Spec.Limits, summary, activity, input)
	if err == nil || temporal.IsCanceledError(err) {
		return out, err
	}
	f := failureOf(err, in.Where.Round, name, in.Spec.Limits)
	note(ctx, in, "failed: %s: %s", f.place(in.Spec.Rounds), f.Message)
	return out, f.err(in.Spec.Rounds, err)
}

// where names the step to the activity, and says how often it is to be made anew.
func (in RoundInput) where(step string) activities.Where {
	w := in.Where
	for _, again := range in.Again {
		if again == step {
			w.Again++
		}
	}
	return w
}

// startingPoint is the curriculum that the last design proposed and the policy
// that the last training left; before any round, round 0's draw and the base.
func (in RoundInput) startingPoint() (curriculum, policy activities.Done) {
	if len(in.Refs.Rounds) == 0 {
		return in.Refs.Curriculum, in.Refs.Policy
	}
	last := in.Refs.Rounds[len(in.Refs.Rounds)-1]
	return last.Design, last.Policy
}

func (in RoundInput) summary(format string, args ...any) string {
	return roundOf(in.Where.Round, in.Spec.Rounds) + ": " + fmt.Sprintf(format, args...)
}

// roundOf names a round as the paper counts them, from 0, and says how many
// there are.
func roundOf(round, rounds int) string {
	return fmt.Sprintf("round %d (%d of %d)", round, round+1, rounds)
}

// note writes the line that the Temporal UI shows on top of this round.
func note(ctx workflow.Context, in RoundInput, format string, args ...any) {
	workflow.SetCurrentDetails(ctx, in.summary(format, args...))
}
