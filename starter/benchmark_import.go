package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"floe/internal/env"
	"floe/internal/textfile"
)

// rowImport collects the tasks of published rows.
type rowImport struct {
	env       env.Importing
	objective string
	only      []int // agents; nil for all
	byAgents  map[int][]benchItem
	seen      map[string]string // where an ID was first
	faults    rowFaults
}

// publishedRow is a row of the published data set.
type publishedRow struct {
	ID     string `json:"sample_id"`
	Agents int    `json:"num_agents"`
	Text   string `json:"text"`
}

// importedRow is what came of a line.
type importedRow struct {
	line   int
	agents int
	task   env.Task
	err    error
}

func (r *rowImport) file(ctx context.Context, file, subset string) error {
	in, done, err := openRowFile(file)
	if err != nil {
		return err
	}
	defer done()
	if isCSV(file) {
		all, err := csvRows(in)
		if err != nil {
			return fail(exitUsage, "%s: %w", file, err)
		}
		for _, l := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.take(file, subset, r.read(ctx, l, subset))
		}
		return nil
	}
	read := func(l numbered) importedRow { return r.read(ctx, l, subset) }
	return inFile(file, eachLine(ctx, in, func() func(numbered) importedRow { return read }, func(rows []importedRow, _ bool) error {
		for _, row := range rows {
			r.take(file, subset, row)
		}
		return nil
	}))
}

// read makes a task of a line. Fields with other names are not looked at.
func (r *rowImport) read(ctx context.Context, l numbered, subset string) importedRow {
	out := importedRow{line: l.line, err: l.err}
	if l.err != nil {
		return out
	}
	var row publishedRow
	if err := textfile.Unmarshal(l.text, &row); err != nil {
		out.err = fmt.Errorf("%w; want {\"sample_id\": \"...\", \"num_agents\": 3, \"text\": \"...\"}", err)
		return out
	}
	if row.ID == "" || row.Text == "" {
		out.err = errors.New("sample_id or text is missing")
		return out
	}
	if r.only != nil && !slices.Contains(r.only, row.Agents) {
		return out
	}
	if subset != "" {
		row.ID = subset + "/" + row.ID
	}
	out.agents = row.Agents
	out.task, out.err = r.env.Import(ctx, env.Published{ID: row.ID, Agents: row.Agents, Text: row.Text}, r.objective)
	return out
}

func (r *rowImport) take(file, subset string, row importedRow) {
	at := fmt.Sprintf("%s:%d", file, row.line)
	first, twice := r.seen[row.task.ID]
	switch {
	case row.err != nil:
		r.faults.add("%s: %w", at, row.err)
	case row.task.ID == "": // of agents that were not asked for
	case twice:
		r.faults.add("%s: sample_id %s is at %s already", at, row.task.ID, first)
	default:
		r.seen[row.task.ID] = at
		r.byAgents[row.agents] = append(r.byAgents[row.agents], benchItem{row.task, subset})
	}
}

// rowFaults collects what is wrong with rows. A wrong file is wrong in every row,
// so only the first are spelled out.
type rowFaults struct {
	errs []error
	more int
}

const shownRowFaults = 20

func (f *rowFaults) add(format string, args ...any) {
	if len(f.errs) == shownRowFaults {
		f.more++
		return
	}
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

func (f *rowFaults) err() error {
	if f.more > 0 {
		return errors.Join(append(f.errs, fmt.Errorf("and %d more rows", f.more))...)
	}
	return errors.Join(f.errs...)
}
