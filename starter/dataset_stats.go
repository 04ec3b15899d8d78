package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/textfile"
)

// datasetSummary is what is in a set.
type datasetSummary struct {
	File        string       `json:"file"`
	Environment string       `json:"environment"`
	Tasks       int          `json:"tasks"`
	Rows        []summaryRow `json:"rows"` // per size and group; size "all" pools the sizes
}

type summaryRow struct {
	Size    string   `json:"size"`
	Group   string   `json:"group"`
	Count   int      `json:"count"`
	Share   float64  `json:"share"` // of the size's tasks
	Figures []figure `json:"figures"`
}

// figure is how a number spreads over tasks.
type figure struct {
	Name string  `json:"name"`
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	sum  float64
}

const allSizes = "all"

func (a *app) datasetStats(ctx context.Context, file, environment string) error {
	e, err := datasetEnv(file, environment)
	if err != nil {
		return err
	}
	m, err := measuringEnv(e)
	if err != nil {
		return err
	}
	s := &datasetSummary{File: file, Environment: e.Name()}
	err = readTasks(ctx, a, file, func(l numbered) (measured, error) { return measureTask(m, l) }, s.add)
	if err != nil {
		return err
	}
	s.finish(e)
	return a.emit(s, s.table)
}

// measured is a task's part of a summary.
type measured struct {
	size, group string
	names       []string
	values      []float64
}

// measureTask solves a task once more: the figures are only worth something if
// its optimum is right.
func measureTask(e env.Measuring, l numbered) (measured, error) {
	task, answer, verdict, err := answerTask(e, l.text)
	if err != nil {
		return measured{}, err
	}
	if !verdict.Optimal {
		return measured{}, fmt.Errorf("task %s: the referee refuses an optimal answer: %.200q", task.ID, answer)
	}
	values, err := e.Measure(task)
	if err != nil {
		return measured{}, err
	}
	got := measured{size: task.Size, group: task.Group, values: append(values, float64(verdict.Tokens))}
	for _, m := range e.Measures() {
		got.names = append(got.names, m.Name)
	}
	got.names = append(got.names, "tokens")
	return got, nil
}

// answerTask reads a task strictly and answers it optimally.
func answerTask(e env.Environment, row []byte) (env.Task, string, env.Verdict, error) {
	task, err := decodeTask(row)
	if err != nil {
		return task, "", env.Verdict{}, err
	}
	p, err := e.Open(task)
	if err != nil {
		return task, "", env.Verdict{}, err
	}
	actions, err := p.Demonstration()
	if err != nil {
		return task, "", env.Verdict{}, err
	}
	play := p.Episode()
	for _, action := range actions {
		if !play.Done() {
			play.Act(action)
		}
	}
	answer := play.Answer()
	return task, answer, p.Judge(answer), nil
}

func decodeTask(row []byte) (env.Task, error) {
	var t env.Task
	if err := textfile.UnmarshalStrict(row, &t); err != nil {
		return t, fmt.Errorf("found no task: %w", err)
	}
	t.Instance = textfile.WholeNumbers(t.Instance)
	if t.ID == "" {
		return t, errors.New("found no id; want a text")
	}
	return t, nil
}

func (s *datasetSummary) add(m measured) error {
	s.Tasks++
	s.row(m.size, m.group).add(m)
	s.row(allSizes, m.group).add(m)
	return nil
}

func (s *datasetSummary) row(size, group string) *summaryRow {
	i := slices.IndexFunc(s.Rows, func(r summaryRow) bool { return r.Size == size && r.Group == group })
	if i < 0 {
		i = len(s.Rows)
		s.Rows = append(s.Rows, summaryRow{Size: size, Group: group})
	}
	return &s.Rows[i]
}

func (r *summaryRow) add(m measured) {
	if r.Count == 0 {
		r.Figures = make([]figure, len(m.values))
		for i, x := range m.values {
			r.Figures[i] = figure{Name: m.names[i], Min: x, Max: x}
		}
	}
	r.Count++
	for i, x := range m.values {
		f := &r.Figures[i]
		f.Min, f.Max, f.sum = min(f.Min, x), max(f.Max, x), f.sum+x
	}
}

// finish puts the rows in the environment's order, and works out means and shares.
func (s *datasetSummary) finish(e env.Environment) {
	sizes, groups := append(e.Space().Sizes, allSizes), e.Groups()
	slices.SortStableFunc(s.Rows, func(a, b summaryRow) int {
		return cmp.Or(cmp.Compare(slices.Index(sizes, a.Size), slices.Index(sizes, b.Size)),
			cmp.Compare(slices.Index(groups, a.Group), slices.Index(groups, b.Group)))
	})
	counts := map[string]int{}
	for _, r := range s.Rows {
		counts[r.Size] += r.Count
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		r.Share = float64(r.Count) / float64(counts[r.Size])
		for j := range r.Figures {
			r.Figures[j].Mean = r.Figures[j].sum / float64(r.Count)
		}
	}
}

func (s *datasetSummary) table(w io.Writer) error {
	head := []string{"SIZE", "GROUP", "COUNT", "SHARE"}
	var lines [][]string
	for _, r := range s.Rows {
		line := []string{r.Size, r.Group, strconv.Itoa(r.Count), fmt.Sprintf("%7s", experiment.Percent(r.Share))}
		for _, f := range r.Figures {
			if len(lines) == 0 {
				head = append(head, strings.ToUpper(f.Name))
			}
			line = append(line, f.String())
		}
		lines = append(lines, line)
	}
	return rows(w, head, lines)
}

func (f figure) String() string {
	if f.Min == f.Max {
		return fmt.Sprintf("%g", f.Min)
	}
	return fmt.Sprintf("%.2f (%g-%g)", f.Mean, f.Min, f.Max)
}
