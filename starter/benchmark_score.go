package main

import (
	"context"
	"fmt"
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/paper"
	"floe/internal/scorecard"
)

// benchResult is what a benchmark found, so far.
type benchResult struct {
	Model       string           `json:"model"`
	Environment string           `json:"environment"` // and its version, which judged
	Objective   string           `json:"objective"`
	MaxTokens   int              `json:"max_tokens"`
	Temperature float64          `json:"temperature"`
	Imported    bool             `json:"imported"` // the tasks are published rows, not of our own sets
	Complete    bool             `json:"complete"` // every task is answered
	Sets        []benchSetResult `json:"sets"`
	Total       benchRates       `json:"total"` // over all sets

	sizes []string // of the environment, in order
}

// benchSetResult is what was found on one set.
type benchSetResult struct {
	Agents           int            `json:"agents"`
	Tasks            int            `json:"tasks"`
	Answered         int            `json:"answered"`  // with an answer of whatever kind
	Truncated        int            `json:"truncated"` // of them, those that ran into max_tokens
	Refused          int            `json:"refused"`   // of them, those that the model or a filter refused
	PromptTokens     int64          `json:"prompt_tokens"`
	CompletionTokens int64          `json:"completion_tokens"`
	Total            benchRates     `json:"total"`
	Sizes            []benchRates   `json:"sizes"`
	Groups           []benchRates   `json:"groups"`            // of each size
	Subsets          []benchRates   `json:"subsets,omitempty"` // as published, all sizes together
	Errors           map[string]int `json:"errors"`            // answers that failed each check
	Published        *paper.Table   `json:"published,omitempty"`
}

// benchRates are the two rates with 95 % Wilson intervals, all in [0, 1].
type benchRates struct {
	Subset      string  `json:"subset,omitempty"`
	Size        string  `json:"size,omitempty"`
	Group       string  `json:"group,omitempty"`
	N           int     `json:"n"`
	Valid       int     `json:"valid"`
	ValidRate   float64 `json:"valid_rate"`
	ValidLow    float64 `json:"valid_low"`
	ValidHigh   float64 `json:"valid_high"`
	Optimal     int     `json:"optimal"`
	OptimalRate float64 `json:"optimal_rate"`
	OptimalLow  float64 `json:"optimal_low"`
	OptimalHigh float64 `json:"optimal_high"`
	Truncated   int     `json:"truncated"`
	MeanTokens  float64 `json:"mean_tokens"`
}

func ratesOf(r scorecard.Row) benchRates {
	return benchRates{
		Size: r.Size, Group: r.Group, N: r.N,
		Valid: r.Valid, ValidRate: r.ValidRate(), ValidLow: r.ValidLow, ValidHigh: r.ValidHigh,
		Optimal: r.Optimal, OptimalRate: r.OptimalRate(), OptimalLow: r.OptimalLow, OptimalHigh: r.OptimalHigh,
		Truncated: r.Truncated, MeanTokens: r.MeanTokens,
	}
}

// score judges the answers that are there and writes the scorecards.
func (b *bench) score(ctx context.Context) (benchResult, error) {
	result := benchResult{
		Model: b.Model, Environment: b.env.Version(), Objective: b.Objective, MaxTokens: b.MaxTokens, Temperature: b.Temperature,
		Imported: len(b.Imports) > 0, Complete: true, sizes: b.env.Space().Sizes,
	}
	published, err := b.published()
	if err != nil {
		return result, err
	}
	var cards []experiment.Scorecard
	for _, set := range b.sets {
		j, err := b.judge(ctx, set)
		if err != nil {
			return result, err
		}
		card, found, err := j.result(b, set)
		if err != nil {
			return result, err
		}
		if i := slices.IndexFunc(published, func(t paper.Table) bool { return t.Agents == set.agents }); i >= 0 {
			found.Published = &published[i]
		}
		if err := b.write(fmt.Sprintf("scorecard-%d.json", set.agents), card); err != nil {
			return result, err
		}
		cards = append(cards, card)
		result.Sets = append(result.Sets, found)
		result.Complete = result.Complete && found.Answered == found.Tasks
	}
	all, err := scorecard.Merge(b.Model, "benchmark", b.env, cards...)
	if err != nil {
		return result, err
	}
	result.Total = ratesOf(scorecard.Total(all))
	return result, b.write("result.json", result)
}

// published are the tables about this environment.
func (b *bench) published() ([]paper.Table, error) {
	if b.env.Name() != paper.Environment {
		return nil, nil
	}
	return paper.Tables()
}

// judged are the verdicts on a set's answers, in the order of the answers.
type judged struct {
	benchSetResult
	tasks    []env.Task
	verdicts []env.Verdict
	subsets  []string
}

func (b *bench) judge(ctx context.Context, set benchSet) (judged, error) {
	j := judged{benchSetResult: benchSetResult{Agents: set.agents, Tasks: len(set.items)}}
	_, err := b.answers(set, func(i int, a benchAnswer) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := b.env.Open(set.items[i].Task)
		if err != nil {
			return err
		}
		j.add(set.items[i], a, p.Judge(a.Answer))
		return nil
	})
	return j, err
}

// add counts an answer. What the server says about its end and its length goes
// before what the text looks like.
func (j *judged) add(item benchItem, a benchAnswer, v env.Verdict) {
	v.Tokens = a.CompletionTokens
	v.Truncated = v.Truncated || a.truncated()
	j.Answered++
	j.Truncated += asCount(a.truncated())
	j.Refused += asCount(a.refused())
	j.PromptTokens += int64(a.PromptTokens)
	j.CompletionTokens += int64(a.CompletionTokens)
	j.tasks, j.verdicts, j.subsets = append(j.tasks, item.Task), append(j.verdicts, v), append(j.subsets, item.Subset)
}

func asCount(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (j judged) result(b *bench, set benchSet) (experiment.Scorecard, benchSetResult, error) {
	r := j.benchSetResult
	card, err := scorecard.Build(b.Model, set.name(), b.env, j.tasks, j.verdicts)
	if err != nil {
		return card, r, err
	}
	bySize := scorecard.BySize(card)
	for _, row := range bySize[:len(bySize)-1] {
		r.Sizes = append(r.Sizes, ratesOf(row))
	}
	for _, row := range scorecard.ByGroup(card) {
		r.Groups = append(r.Groups, ratesOf(row))
	}
	total := scorecard.Total(card)
	r.Total, r.Errors = ratesOf(total), map[string]int{}
	for _, e := range total.Errors {
		r.Errors[e.Check] = e.Count
	}
	r.Subsets, err = j.bySubset(b, set)
	return card, r, err
}

// bySubset scores each published subset by itself, in order.
func (j judged) bySubset(b *bench, set benchSet) ([]benchRates, error) {
	var found []benchRates
	for _, subset := range slices.Compact(slices.Sorted(slices.Values(j.subsets))) {
		if subset == "" {
			continue
		}
		var tasks []env.Task
		var verdicts []env.Verdict
		for i, of := range j.subsets {
			if of == subset {
				tasks, verdicts = append(tasks, j.tasks[i]), append(verdicts, j.verdicts[i])
			}
		}
		card, err := scorecard.Build(b.Model, set.name()+"/"+subset, b.env, tasks, verdicts)
		if err != nil {
			return nil, err
		}
		r := ratesOf(scorecard.Total(card))
		r.Subset = subset
		found = append(found, r)
	}
	return found, nil
}
