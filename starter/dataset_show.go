package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"floe/internal/env"
)

type showTaskFlags struct {
	id, environment string
	first           int
}

// shownTask is a task with an optimal answer.
type shownTask struct {
	Line   int      `json:"line"`
	Task   env.Task `json:"task"`
	Answer string   `json:"answer"` // an optimal one
	Cost   int      `json:"cost"`
	Tokens int      `json:"tokens"` // of the answer, as the referee estimates
}

func (a *app) datasetShow(ctx context.Context, file string, f showTaskFlags) error {
	if f.first < 1 {
		return fail(exitUsage, "--first is %d; want 1 or more", f.first)
	}
	e, err := datasetEnv(file, f.environment)
	if err != nil {
		return err
	}
	in, done, err := openRowFile(file)
	if err != nil {
		return err
	}
	defer done()
	tasks, err := findTasks(ctx, e, in, f)
	if err != nil {
		return inFile(file, err)
	}
	if len(tasks) == 0 {
		if f.id == "" {
			return fail(exitUsage, "%s: found no rows; want one task a line", file)
		}
		return fail(exitNotFound, "%s has no task %q", file, f.id)
	}
	return a.emit(tasks, func(w io.Writer) error {
		for _, t := range tasks {
			t.print(w)
		}
		return nil
	})
}

// findTasks reads up to the tasks asked for, and no further.
func findTasks(ctx context.Context, e env.Environment, in io.Reader, f showTaskFlags) ([]shownTask, error) {
	var found []shownTask
	want := f.first
	if f.id != "" {
		want = 1
	}
	for rows := newRowReader(in); len(found) < want; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && l.err != nil {
			err = &lineError{l.line, l.err}
		}
		if err != nil {
			return nil, err
		}
		t, err := decodeTask(l.text)
		if err == nil && (f.id == "" || t.ID == f.id) {
			var shown shownTask
			shown, err = showTask(e, l)
			found = append(found, shown)
		}
		if err != nil {
			return nil, &lineError{l.line, err}
		}
	}
	return found, nil
}

func showTask(e env.Environment, l numbered) (shownTask, error) {
	task, answer, verdict, err := answerTask(e, l.text)
	return shownTask{l.line, task, answer, verdict.Cost, verdict.Tokens}, err
}

func (t shownTask) print(w io.Writer) {
	fmt.Fprintf(w, "%s: line %d, %s, %s\n\n%s\n", t.Task.ID, t.Line, t.Task.Size, t.Task.Group, strings.TrimSpace(t.Task.Prompt))
	fmt.Fprintf(w, "\nInstance\n%s\n", t.Task.Instance)
	fmt.Fprintf(w, "\nAn optimal answer (%s %d, about %d tokens)\n%s\n", t.Task.Objective, t.Cost, t.Tokens, t.Answer)
}
