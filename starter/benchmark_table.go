package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"floe/internal/ask"
	"floe/internal/paper"
)

// table prints the published tables with the new row in each.
func (r benchResult) table(w io.Writer) error {
	for i, set := range r.Sets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%d agents: valid/optimal path rate in %%\n", set.Agents)
		if err := r.setTable(w, set); err != nil {
			return err
		}
		fmt.Fprintln(w)
		if err := breakdown(w, set); err != nil {
			return err
		}
	}
	if len(r.Sets) > 1 {
		fmt.Fprintf(w, "\nall sets: %s\n%s\n", r.Total.sentence(), ends(r.Tally))
	}
	r.remarks(w)
	return nil
}

// setTable has a row for every published model, and last the new one.
func (r benchResult) setTable(w io.Writer, set benchSetResult) error {
	sizes := r.columns(set)
	head := append([]string{"MODEL"}, sizes...)
	var lines [][]string
	if set.Published != nil {
		for _, row := range set.Published.Rows {
			lines = append(lines, publishedLine(set.Published.Sizes, row, sizes, set.Published.Instances()))
		}
	}
	mine := []string{"> " + r.Model}
	for _, size := range sizes {
		i := slices.IndexFunc(set.Sizes, func(b benchRates) bool { return b.Size == size })
		if i < 0 {
			mine = append(mine, "-")
			continue
		}
		mine = append(mine, set.Sizes[i].cell())
	}
	lines = append(lines, append(mine, set.Total.cell(), fmt.Sprint(set.Total.N)))
	return rows(w, append(head, "SUM", "N"), lines)
}

// columns are the sizes that anybody has results for, in the environment's order.
func (r benchResult) columns(set benchSetResult) []string {
	var sizes []string
	for _, size := range r.sizes {
		measured := slices.ContainsFunc(set.Sizes, func(b benchRates) bool { return b.Size == size })
		if measured || set.Published != nil && slices.Contains(set.Published.Sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

func publishedLine(of []string, row paper.Row, sizes []string, n int) []string {
	line := []string{"  " + row.Model}
	for _, size := range sizes {
		i := slices.Index(of, size)
		if i < 0 || i >= len(row.Cells) {
			line = append(line, "-")
			continue
		}
		line = append(line, cellOf(row.Cells[i].Valid, row.Cells[i].Optimal))
	}
	return append(line, cellOf(row.Sum.Valid, row.Sum.Optimal), fmt.Sprint(n))
}

func cellOf(valid, optimal float64) string { return fmt.Sprintf("%.2f/%.2f", valid, optimal) }

func (b benchRates) cell() string {
	if b.N == 0 {
		return "-"
	}
	return cellOf(100*b.ValidRate, 100*b.OptimalRate)
}

// sentence is the rates with their intervals.
func (b benchRates) sentence() string {
	return fmt.Sprintf("%.2f %% valid [%.2f, %.2f], %.2f %% optimal [%.2f, %.2f], n = %d",
		100*b.ValidRate, 100*b.ValidLow, 100*b.ValidHigh, 100*b.OptimalRate, 100*b.OptimalLow, 100*b.OptimalHigh, b.N)
}

// breakdown is what the table does not show of the new row.
func breakdown(w io.Writer, set benchSetResult) error {
	var lines [][]string
	for _, part := range append([]benchRates{set.Total}, set.Subsets...) {
		name := part.Subset
		if name == "" {
			name = "all"
		}
		lines = append(lines, []string{
			name, fmt.Sprint(part.N),
			fmt.Sprintf("%.2f [%.2f, %.2f]", 100*part.ValidRate, 100*part.ValidLow, 100*part.ValidHigh),
			fmt.Sprintf("%.2f [%.2f, %.2f]", 100*part.OptimalRate, 100*part.OptimalLow, 100*part.OptimalHigh),
			fmt.Sprint(part.Truncated), fmt.Sprintf("%.0f", part.MeanTokens),
		})
	}
	if err := rows(w, []string{"SUBSET", "N", "VALID % [95 %]", "OPTIMAL % [95 %]", "CUT OFF", "TOKENS/ANSWER"}, lines); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of %d answered: %s\n", set.Answered, set.Tasks, ends(set.Tally))
	return nil
}

// ends says how answers ended and what they have cost.
func ends(t ask.Tally) string {
	text := fmt.Sprintf("%d ran into the token limit, %d refused, %d empty", t.Truncated, t.Refused, t.Empty)
	if t.TooLong > 0 {
		text += fmt.Sprintf(", %d not asked, as the prompt is too long for the model", t.TooLong)
	}
	text += fmt.Sprintf("; %d prompt and %d answer tokens", t.PromptTokens, t.CompletionTokens)
	if broken := t.SpentTokens - t.PromptTokens - t.CompletionTokens; broken > 0 {
		text += fmt.Sprintf(", %d more in calls that broke off", broken)
	}
	if t.Cost > 0 {
		text += fmt.Sprintf("; cost %.4f", t.Cost)
	}
	return text
}

// remarks say what a reader of the table must know.
func (r benchResult) remarks(w io.Writer) {
	var notes []string
	if !r.Complete {
		notes = append(notes, "Not all tasks are answered: the rates are over those that are.")
	}
	if r.Tally.Unsent > 0 {
		notes = append(notes, fmt.Sprintf("%d answers were asked without what the endpoint does not take: %s.", r.Tally.Unsent, strings.Join(r.Unsent, ", ")))
	}
	if slices.ContainsFunc(r.Sets, func(s benchSetResult) bool { return s.Published != nil }) {
		source := "Rows without > are as printed in " + paper.Source + ", slips included (docs/benchmark.md)"
		if !r.Imported {
			source += "; they were measured on the authors' instances, ours are drawn the same way"
		}
		notes = append(notes, source+".")
	}
	if len(notes) > 0 {
		fmt.Fprintln(w, "\n"+strings.Join(notes, "\n"))
	}
}
