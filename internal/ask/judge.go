package ask

import (
	"context"
	"fmt"
	"slices"

	"floe/internal/env"
)

// Row is an answer beside the verdict on it: one line of a step's stored answers.
type Row struct {
	Answer

	Verdict env.Verdict `json:"verdict"`
}

// Tasks are the items that tasks are asked as.
func Tasks(tasks []env.Task) []Item {
	items := make([]Item, len(tasks))
	for i, t := range tasks {
		items[i] = Item{t.ID, t.Prompt}
	}
	return items
}

// Judge has the referee judge answers; they stand in the order of tasks.
func Judge(ctx context.Context, e env.Environment, tasks []env.Task, answers []Answer) ([]Row, error) {
	if len(tasks) != len(answers) {
		return nil, fmt.Errorf("%d answers to %d tasks", len(answers), len(tasks))
	}
	rows := make([]Row, len(tasks))
	for i, t := range tasks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t.ID != answers[i].ID {
			return nil, fmt.Errorf("answer %d is to %q; want one to %q", i+1, answers[i].ID, t.ID)
		}
		p, err := e.Open(t)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
		rows[i] = Row{answers[i], Verdict(p, answers[i])}
	}
	return rows, nil
}

// Verdict is the referee's on an answer. What the endpoint says about its end and
// its length goes before what the text looks like.
func Verdict(p env.Problem, a Answer) env.Verdict {
	v := p.Judge(a.Answer)
	v.Truncated = v.Truncated || a.Class() == ClassTruncated
	if a.CompletionTokens > 0 {
		v.Tokens = a.CompletionTokens
	}
	return v
}

// Changed names what differs between two verdicts in what is counted: the
// sentences for people do not.
func Changed(before, after env.Verdict) []string {
	var fields []string
	for _, f := range []struct {
		name   string
		differ bool
	}{
		{"valid", before.Valid != after.Valid},
		{"optimal", before.Optimal != after.Optimal},
		{"truncated", before.Truncated != after.Truncated},
		{"failed", !slices.Equal(before.Failed, after.Failed)},
		{"cost", before.Cost != after.Cost},
		{"optimum", before.Optimum != after.Optimum},
		{"tokens", before.Tokens != after.Tokens},
	} {
		if f.differ {
			fields = append(fields, f.name)
		}
	}
	return fields
}
