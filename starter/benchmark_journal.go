package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"floe/internal/ask"
)

// benchJournal keeps the answers to each set in a file of its own.
type benchJournal struct {
	files []*ask.File    // by set
	of    map[string]int // the set of each task
}

var _ ask.Journal = (*benchJournal)(nil)

func (b *bench) answersFile(set benchSet) string {
	return filepath.Join(b.dir, fmt.Sprintf("answers-%d.jsonl", set.agents))
}

func (b *bench) openJournal() (*benchJournal, error) {
	j := &benchJournal{of: map[string]int{}}
	for i, set := range b.sets {
		file, err := ask.OpenFile(b.answersFile(set))
		if err != nil {
			return nil, errors.Join(err, j.close())
		}
		j.files = append(j.files, file)
		for _, item := range set.items {
			j.of[item.ID] = i
		}
	}
	return j, nil
}

// Load implements ask.Journal.
func (j *benchJournal) Load(ctx context.Context, take func(ask.Answer) error) error {
	for i, file := range j.files {
		err := file.Load(ctx, func(a ask.Answer) error {
			if of, known := j.of[a.ID]; !known || of != i {
				return errStray(a.ID)
			}
			return take(a)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Add implements ask.Journal.
func (j *benchJournal) Add(ctx context.Context, a ask.Answer) error {
	return j.files[j.of[a.ID]].Add(ctx, a)
}

func (j *benchJournal) close() error {
	var errs []error
	for _, file := range j.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

func errStray(id string) error { return fmt.Errorf("task %q is not in the set", id) }

// answered are the tasks of a set that have an answer, in the set's order, and the
// answers to them. It also reads while another process is asking.
func (b *bench) answered(ctx context.Context, set benchSet) (benchSet, []ask.Answer, error) {
	at := map[string]int{}
	for i, item := range set.items {
		at[item.ID] = i
	}
	given := make([]*ask.Answer, len(set.items))
	err := ask.ReadFile(ctx, b.answersFile(set), func(a ask.Answer) error {
		i, known := at[a.ID]
		if !known {
			return errStray(a.ID)
		}
		given[i] = &a
		return nil
	})
	part, answers := benchSet{agents: set.agents}, []ask.Answer{}
	for i, a := range given {
		if a != nil {
			part.items, answers = append(part.items, set.items[i]), append(answers, *a)
		}
	}
	return part, answers, err
}
