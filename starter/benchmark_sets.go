package main

import (
	"context"
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

func (s benchSet) tasks() []env.Task {
	tasks := make([]env.Task, len(s.items))
	for i, item := range s.items {
		tasks[i] = item.Task
	}
	return tasks
}

// benchItem is a task and the published subset that it is of.
type benchItem struct {
	env.Task
	Subset string `json:"subset,omitempty"`
}

// drawSets generates the sets, which are the same for everybody. All of them are
// checked before the endpoint is reached, and it is before any is drawn.
func (b *bench) drawSets(ctx context.Context, reach func() error) ([]benchSet, error) {
	orders := make([][]env.Order, len(b.Agents))
	for i, agents := range b.Agents {
		if orders[i] = b.env.Benchmark(agents, b.Instances, b.Objective); len(orders[i]) == 0 {
			return nil, fail(exitUsage, "environment %s has no benchmark with %d agents", b.Environment, agents)
		}
		for _, o := range orders[i] {
			if err := b.env.Validate(o); err != nil {
				return nil, fail(exitUsage, "make the set of %d agents: %w", agents, err)
			}
		}
	}
	if err := reach(); err != nil {
		return nil, err
	}
	var sets []benchSet
	for i, agents := range b.Agents {
		items, err := b.draw(ctx, agents, orders[i])
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
		total += o.Samples
	}
	m := b.app.meter(fmt.Sprintf("making the set of %d agents", agents))
	defer m.close()
	var items []benchItem
	for _, o := range orders {
		before := len(items)
		tasks, _, err := env.Tasks(ctx, b.env, o, func(done, _ int) { m.show(before+done, total) })
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
