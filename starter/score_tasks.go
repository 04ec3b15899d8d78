package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"floe/internal/env"
	"floe/internal/textfile"
)

// taskBook finds the task that an answer is about.
type taskBook struct {
	environment env.Environment
	byID        map[string]env.Problem // of the dataset; nil without one
}

// toldFaults bounds how many faults of a file are written out.
const toldFaults = 10

// load opens every task of a dataset.
func (b *taskBook) load(ctx context.Context, file string) error {
	in, done, err := openRowFile(file)
	if err != nil {
		return err
	}
	defer done()
	b.byID = map[string]env.Problem{}
	var faults faultList
	err = eachLine(ctx, in, b.opener, func(rows []openedTask, _ bool) error {
		for _, row := range rows {
			if err := b.add(row); err != nil {
				faults.add("%s:%d: %v", file, row.line, err)
			}
		}
		return nil
	})
	return errors.Join(inFile(file, err), faults.err())
}

// openedTask is a row of a dataset.
type openedTask struct {
	line    int
	problem env.Problem
	err     error
}

func (b *taskBook) opener() func(numbered) openedTask {
	return func(l numbered) openedTask {
		o := openedTask{line: l.line, err: l.err}
		if o.err == nil {
			o.problem, o.err = openTaskRow(b.environment, l.text)
		}
		return o
	}
}

func (b *taskBook) add(o openedTask) error {
	if o.err != nil {
		return o.err
	}
	id := o.problem.Task().ID
	if _, twice := b.byID[id]; twice {
		return fmt.Errorf("found task %q twice", id)
	}
	b.byID[id] = o.problem
	return nil
}

// openTaskRow opens a row of a dataset. Rows as programs write them are read fast;
// all others, right or wrong, are left to encoding/json, whose errors people read.
func openTaskRow(e env.Environment, row []byte) (env.Problem, error) {
	if t, ok := readPlainTask(row); ok {
		if p, err := e.Open(t); err == nil {
			return p, nil
		}
	}
	var t env.Task
	if err := textfile.UnmarshalStrict(row, &t); err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	t.Instance = textfile.WholeNumbers(t.Instance)
	return e.Open(t)
}

// taskShelf holds the tasks that lines bring with them, opened: a trainer sends
// each task as often as it samples answers to it. Every worker has its own.
type taskShelf struct {
	book   *taskBook
	opened map[string]env.Problem // by the task's JSON
}

// shelfSize is far above the tasks of a trainer's batch, and far below what
// would be felt as memory.
const shelfSize = 1024

// find is the task that a line is about.
func (s *taskShelf) find(l *scoreLine) (env.Problem, error) {
	id, named := l.taskID()
	switch p := s.book.byID[id]; {
	case !named:
		return s.open(l.task)
	case p != nil:
		return p, nil
	case s.book.byID == nil:
		return nil, fmt.Errorf("found no task; want it in the line, or a dataset with --tasks in which to look for %q", id)
	default:
		return nil, fmt.Errorf("task %q is not in the dataset of --tasks", id)
	}
}

func (s *taskShelf) open(task []byte) (env.Problem, error) {
	if p, ok := s.opened[string(task)]; ok {
		return p, nil
	}
	p, err := openTaskRow(s.book.environment, task)
	if err != nil {
		return nil, err
	}
	if len(s.opened) >= shelfSize {
		clear(s.opened)
	}
	s.opened[string(task)] = p
	return p, nil
}

// faultList collects what is wrong with a file, and tells the first of it.
type faultList struct {
	told  []string
	count int
}

func (f *faultList) add(format string, args ...any) {
	if f.count++; f.count <= toldFaults {
		f.told = append(f.told, fmt.Sprintf(format, args...))
	}
}

func (f *faultList) err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.told, "\n")
	if more := f.count - len(f.told); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return fail(exitUsage, "%s", text)
}
