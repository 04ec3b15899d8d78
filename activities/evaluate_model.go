package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/plan"
	"floe/internal/scorecard"
)

// FileAsking says who was asked the answers of a step, how, and what it cost.
const FileAsking = "asking.json"

// Asking is FileAsking.
type Asking struct {
	Server string             `json:"server"`
	Model  string             `json:"model"` // as requests named it
	Ask    experiment.AskSpec `json:"ask"`
	Tally  ask.Tally          `json:"tally"`
}

// evaluateModel asks a language model every task of a set. Each answer is kept as
// it comes, so that another attempt asks only what is open.
func (a *Activities) evaluateModel(ctx context.Context, in EvaluateInput) (Scored, error) {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return Scored{}, badInput(err)
	}
	tasks, dataSum, err := a.tasks(ctx, in.Dataset)
	if err != nil {
		return Scored{}, classify(ctx, err)
	}
	m, err := a.model(ctx, in.Policy)
	if err != nil {
		return Scored{}, classify(ctx, err)
	}
	inputs := plan.EvaluateModelOf(in.Spec, e, dataSum, m.sum, in.Label, in.Set)
	var journal *ask.Objects
	done, scored, err := a.step(ctx, in.Where, in.Spec, plan.KindEvaluate, inputs, func(ctx context.Context, h *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		journal = ask.InStore(a.Steps.Store, artifact.WorkFolder(h.ID(), artifact.FolderAnswers))
		answers, asking, err := a.ask(ctx, in, m, tasks, inputs.Seed, journal, report)
		if err != nil {
			return nil, err
		}
		rows, err := ask.Judge(ctx, e, tasks, answers)
		if err != nil {
			return nil, badInput(err)
		}
		return modelScores(in, e, tasks, rows, asking)
	})
	if err != nil {
		return Scored{}, err
	}
	if journal != nil {
		if err := journal.Drop(ctx); err != nil {
			activity.GetLogger(ctx).Warn("answers that are kept with their step were not removed from its journal", "step", done.ID.String(), "error", err)
		}
	}
	var card experiment.Scorecard
	if err := a.Steps.ReadJSON(ctx, done, FileScorecard, &card); err != nil {
		return Scored{}, classify(ctx, err)
	}
	return Scored{Done: scored, Rates: card.Total()}, nil
}

// tasks reads a set, with the sha256 of its file.
func (a *Activities) tasks(ctx context.Context, id experiment.StepID) ([]env.Task, string, error) {
	m, err := plan.Need(ctx, a.Steps, id)
	if err != nil {
		return nil, "", err
	}
	tasks, err := artifact.ReadJSONLines[env.Task](ctx, a.Steps, m, FileDataset)
	return tasks, sumOf(m, FileDataset), err
}

// ask has a model answer the tasks.
func (a *Activities) ask(ctx context.Context, in EvaluateInput, m model, tasks []env.Task, seed string, journal ask.Journal, report func(int, int, string)) ([]ask.Answer, Asking, error) {
	s := *in.Spec.Ask
	use, err := a.use(ctx, in.Spec, m, in.Label, report)
	if err != nil {
		return nil, Asking{}, err
	}
	defer func() { use.Done(givenUp(ctx)) }()
	about := in.Label + " on " + in.Set
	p := ask.Plan{
		Request: endpoint.Request{Model: use.Model, MaxTokens: s.MaxTokens, Temperature: s.Temperature, TopP: s.TopP},
		Seed:    seed, Concurrency: s.Concurrency, MaxTokens: s.TokenBudget, MaxCost: ask.Money(s.CostBudget), Price: priceOf(use.Prices),
	}
	if r := in.Spec.Trainer.Recipe; r.Chat {
		p.Request.Thinking = &r.Thinking
	}
	answered := 0
	answers, tally, err := ask.Run(ctx, use.Endpoint, p, ask.Tasks(tasks), journal, ask.Watch{ // neither is called concurrently
		Answered: func(done, total int, t ask.Tally) {
			answered = done
			kept(ctx, done)
			report(done, total, about+": "+t.String())
		},
		Waiting: func(wait time.Duration, t *endpoint.Trouble) {
			activity.GetLogger(ctx).Warn("the model call failed; retrying", "wait", wait.String(), "trouble", t.Reason)
			report(answered, len(tasks), fmt.Sprintf("%s: waits %s after trouble: %s", about, wait, t.Reason))
		},
		Noted: func(sentence string) { activity.GetLogger(ctx).Warn(sentence, "asked", about) },
	})
	return answers, Asking{use.Server, use.Model, s, tally}, err
}

// modelScores are the files of an evaluation.
func modelScores(in EvaluateInput, e env.Environment, tasks []env.Task, rows []ask.Row, asking Asking) ([]artifact.Body, error) {
	verdicts := make([]env.Verdict, len(rows))
	for i, r := range rows {
		verdicts[i] = r.Verdict
	}
	card, err := scorecard.Build(in.Label, in.Set, e, tasks, verdicts)
	if err != nil {
		return nil, fmt.Errorf("count the verdicts: %w", err)
	}
	lines, err := artifact.JSONLines(FileAnswers, rows)
	if err != nil {
		return nil, err
	}
	rest, err := jsonFiles(FileScorecard, card, FileAsking, asking)
	return append([]artifact.Body{lines}, rest...), err
}
