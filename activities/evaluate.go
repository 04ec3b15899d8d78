package activities

import (
	"context"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/plan"
	"floe/internal/policy"
	"floe/internal/scorecard"
)

// AnswerRow is one line of a step's answers: what the policy said about one
// task and what the referee found.
type AnswerRow struct {
	ID      string      `json:"id"`
	Answer  string      `json:"answer"`
	Verdict env.Verdict `json:"verdict"`
}

// Evaluate has a policy answer every task of a set, greedily, and counts. A language
// model is asked as its spec says.
func (a *Activities) Evaluate(ctx context.Context, in EvaluateInput) (Scored, error) {
	if in.Spec.Trainer.TrainsModel() {
		return a.evaluateModel(ctx, in)
	}
	e, err := a.playable(in.Spec)
	if err != nil {
		return Scored{}, err
	}
	problems, dataSum, err := a.dataset(ctx, e, in.Dataset)
	if err != nil {
		return Scored{}, classify(ctx, err)
	}
	model, modelSum, err := a.policy(ctx, in.Policy)
	if err != nil {
		return Scored{}, classify(ctx, err)
	}
	inputs := plan.EvaluateOf(e, dataSum, modelSum, in.Label, in.Set)
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindEvaluate, inputs, func(ctx context.Context, _ *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		answers, err := policy.Evaluate(ctx, model, problems, 0, orders.Seed(in.Spec, "evaluate", in.Set),
			func(done, total int) { report(done, total, in.Label+" on "+in.Set) })
		if err != nil {
			return nil, err
		}
		return scoreFiles(in, e, problems, answers)
	})
	if err != nil {
		return Scored{}, err
	}
	var card experiment.Scorecard
	if err := a.Steps.ReadJSON(ctx, m, FileScorecard, &card); err != nil {
		return Scored{}, classify(ctx, err)
	}
	return Scored{Done: done, Rates: card.Total()}, nil
}

func scoreFiles(in EvaluateInput, e env.Environment, problems []env.Problem, answers []policy.Answer) ([]artifact.Body, error) {
	tasks := make([]env.Task, len(problems))
	verdicts := make([]env.Verdict, len(problems))
	rows := make([]AnswerRow, len(problems))
	for i, p := range problems {
		tasks[i], verdicts[i] = p.Task(), answers[i].Verdict
		rows[i] = AnswerRow{tasks[i].ID, answers[i].Text, verdicts[i]}
	}
	card, err := scorecard.Build(in.Label, in.Set, e, tasks, verdicts)
	if err != nil {
		return nil, err
	}
	lines, err := artifact.JSONLines(FileAnswers, rows)
	if err != nil {
		return nil, err
	}
	body, err := artifact.JSON(FileScorecard, card)
	return []artifact.Body{lines, body}, err
}
