package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"floe/internal/env"
)

// benchSet is the set of one number of agents.
type benchSet struct {
	agents int
	items  []benchItem
}

func (s benchSet) name() string { return fmt.Sprintf("benchmark-%d", s.agents) }

// benchItem is a task and the published subset that it is of.
type benchItem struct {
	env.Task
	Subset string `json:"subset,omitempty"`
}

// drawSets generates the sets, which are the same for everybody.
func (b *bench) drawSets(ctx context.Context) ([]benchSet, error) {
	var sets []benchSet
	for _, agents := range b.Agents {
		orders := b.env.Benchmark(agents, b.Instances, b.Objective)
		if len(orders) == 0 {
			return nil, fail(exitUsage, "environment %s has no benchmark with %d agents", b.Environment, agents)
		}
		items, err := b.draw(ctx, agents, orders)
		if err != nil {
			return nil, err
		}
		sets = append(sets, benchSet{agents, items})
	}
	return sets, nil
}

func (b *bench) draw(ctx context.Context, agents int, orders []env.Order) ([]benchItem, error) {
	total := 0
	for _, o := range orders {
		if err := b.env.Validate(o); err != nil {
			return nil, fail(exitUsage, "make the set of %d agents: %w", agents, err)
		}
		total += o.Samples
	}
	m := b.app.meter(fmt.Sprintf("making the set of %d agents", agents))
	defer m.close()
	var items []benchItem
	for _, o := range orders {
		before := len(items)
		tasks, _, err := b.env.Generate(ctx, o, func(done, _ int) { m.show(before+done, total) })
		if err != nil {
			return nil, fmt.Errorf("make the set of %d agents: %w", agents, err)
		}
		subsets := make([]string, len(tasks))
		if divides, ok := b.env.(env.Subdividing); ok {
			copy(subsets, divides.Subsets(o))
		}
		for i, t := range tasks {
			items = append(items, benchItem{t, subsets[i]})
		}
	}
	return items, nil
}

// importSets reads published rows and computes what they leave out. Several files
// are several subsets, named after them; the same sample_id may then stand in each.
func (b *bench) importSets(ctx context.Context, f benchFlags) ([]benchSet, error) {
	imports, ok := b.env.(env.Importing)
	if !ok {
		return nil, fail(exitUsage, "environment %s cannot import published rows", b.Environment)
	}
	r := rowImport{env: imports, objective: b.Objective, byAgents: map[int][]benchItem{}, seen: map[string]string{}}
	if f.given("agents") {
		r.only = f.agents
	}
	for _, file := range f.imports {
		subset := ""
		if len(f.imports) > 1 {
			subset = stem(file)
		}
		if err := r.file(ctx, file, subset); err != nil {
			return nil, err
		}
	}
	if err := r.faults.err(); err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	var sets []benchSet
	for _, agents := range slices.Sorted(maps.Keys(r.byAgents)) {
		sets = append(sets, benchSet{agents, r.byAgents[agents]})
	}
	if len(sets) == 0 {
		return nil, fail(exitUsage, "%s: no rows to ask", strings.Join(f.imports, ", "))
	}
	return sets, nil
}

// stem is a file's name without what says its format.
func stem(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

// rowImport collects the tasks of published rows.
type rowImport struct {
	env       env.Importing
	objective string
	only      []int // agents; nil for all
	byAgents  map[int][]benchItem
	seen      map[string]string // where an ID was first
	faults    rowFaults
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
	work := func(_ struct{}, l numbered) importedRow { return r.read(ctx, l, subset) }
	err = eachRow(ctx, in, func() struct{} { return struct{}{} }, work, func(rows []importedRow) error {
		for _, row := range rows {
			r.take(file, subset, row)
		}
		return nil
	})
	if at, ok := errors.AsType[*lineError](err); ok {
		return fail(exitUsage, "%s:%d: %w", file, at.line, at.err)
	}
	return err
}

// read makes a task of a line. Fields with other names are not looked at.
func (r *rowImport) read(ctx context.Context, l numbered, subset string) importedRow {
	out := importedRow{line: l.line, err: l.err}
	if l.err != nil {
		return out
	}
	var row struct {
		ID     string `json:"sample_id"`
		Agents int    `json:"num_agents"`
		Text   string `json:"text"`
	}
	if err := json.Unmarshal(l.text, &row); err != nil {
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
