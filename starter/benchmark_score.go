package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"floe/internal/ask"
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
	Total       benchRates       `json:"total"`            // over all sets
	Tally       ask.Tally        `json:"tally"`            // likewise
	Unsent      []string         `json:"unsent,omitempty"` // settings that some answers were asked without

	sizes []string // of the environment, in order
}

// benchSetResult is what was found on one set.
type benchSetResult struct {
	Agents int `json:"agents"`
	Tasks  int `json:"tasks"`

	ask.Tally // of the answers, of whatever kind

	Total     benchRates     `json:"total"`
	Sizes     []benchRates   `json:"sizes"`
	Groups    []benchRates   `json:"groups"`            // of each size
	Subsets   []benchRates   `json:"subsets,omitempty"` // as published, all sizes together
	Errors    map[string]int `json:"errors"`            // answers that failed each check
	Published *paper.Table   `json:"published,omitempty"`
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
		for _, row := range j.rows {
			result.Tally.Count(row.Answer, b.price)
			result.Unsent = append(result.Unsent, row.Unsent...)
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
	result.Unsent = slices.Compact(slices.Sorted(slices.Values(result.Unsent)))
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

// judged are the answers to a set beside the verdicts on them, in the set's order.
type judged struct {
	of   benchSet // the tasks that are answered
	rows []ask.Row
}

func (b *bench) judge(ctx context.Context, set benchSet) (judged, error) {
	part, answers, err := b.answered(ctx, set)
	if err != nil {
		return judged{}, err
	}
	rows, err := ask.Judge(ctx, b.env, part.tasks(), answers)
	return judged{part, rows}, err
}

// card scores those of the answers that a filter takes.
func (j judged) card(b *bench, name string, takes func(benchItem) bool) (experiment.Scorecard, error) {
	var tasks []env.Task
	var verdicts []env.Verdict
	for i, item := range j.of.items {
		if takes(item) {
			tasks, verdicts = append(tasks, item.Task), append(verdicts, j.rows[i].Verdict)
		}
	}
	return scorecard.Build(b.Model, name, b.env, tasks, verdicts)
}

func (j judged) result(b *bench, set benchSet) (experiment.Scorecard, benchSetResult, error) {
	r := benchSetResult{Agents: set.agents, Tasks: len(set.items), Errors: map[string]int{}}
	for _, row := range j.rows {
		r.Count(row.Answer, b.price)
	}
	card, err := j.card(b, set.name(), func(benchItem) bool { return true })
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
	r.Total = ratesOf(total)
	for _, e := range total.Errors {
		r.Errors[e.Check] = e.Count
	}
	r.Subsets, err = j.bySubset(b)
	return card, r, err
}

// bySubset scores each published subset by itself, in order.
func (j judged) bySubset(b *bench) ([]benchRates, error) {
	names := map[string]bool{}
	for _, item := range j.of.items {
		names[item.Subset] = true
	}
	delete(names, "") // of no subset
	var found []benchRates
	for _, subset := range slices.Sorted(maps.Keys(names)) {
		card, err := j.card(b, j.of.name()+"/"+subset, func(item benchItem) bool { return item.Subset == subset })
		if err != nil {
			return nil, err
		}
		r := ratesOf(scorecard.Total(card))
		r.Subset = subset
		found = append(found, r)
	}
	return found, nil
}
