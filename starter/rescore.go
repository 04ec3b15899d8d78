package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/ask"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/textfile"
)

// rescoreFlags say whose answers are judged again.
type rescoreFlags struct {
	tasks, answers, environment string
	check                       bool
}

func (a *app) rescoreCmd() *cobra.Command {
	var f rescoreFlags
	c := &cobra.Command{
		Use:   "rescore [NAME]",
		Short: "Re-score stored answers; no model calls",
		Long: `Scores the stored answers of every validation and benchmark again with this build's
referee and shows which verdicts changed and how the rates move. It calls no model
and changes nothing in the store. With --tasks and --answers it scores files.

A stored answer without a verdict is scored and counted, but never as a change.
With --check the exit code is 1 if any verdict changed.`,
		Example: `  starter rescore demo
  starter rescore demo --check -o json
  starter rescore --tasks dataset.jsonl.zst --answers answers.jsonl.zst`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.rescore(c.Context(), args, f, c.Flags().Changed("environment"))
		},
	}
	c.Flags().StringVar(&f.tasks, "tasks", "", "dataset `FILE`, JSON lines, that the answers are to")
	c.Flags().StringVar(&f.answers, "answers", "", "`FILE` of answers, JSON lines")
	c.Flags().StringVar(&f.environment, "environment", all.Names()[0], "the family of tasks in --tasks")
	c.Flags().BoolVar(&f.check, "check", false, "fail with exit code 1 when a verdict changed")
	return c
}

// storedSet is a set of stored answers, and how to read them.
type storedSet struct {
	name string // "round-1/validate", or the file
	env  env.Environment
	by   string // the environment's version that judged it; empty: not known
	read func(ctx context.Context, each func(env.Problem, storedAnswer)) error
}

// storedAnswer is a row of stored answers. Those of an embedded policy have only the
// answer and the verdict.
type storedAnswer struct {
	ask.Answer

	Verdict *env.Verdict `json:"verdict"`
}

func (a *app) rescore(ctx context.Context, args []string, f rescoreFlags, environmentGiven bool) error {
	sets, err := a.storedSets(ctx, args, f, environmentGiven)
	if err != nil {
		return err
	}
	result := rescoreResult{Sets: []rescoredSet{}}
	for _, set := range sets {
		r, err := set.rescore(ctx)
		if err != nil {
			return err
		}
		result.Answers += r.Answers
		result.Changed += r.Changed
		result.Sets = append(result.Sets, r)
	}
	if err := a.emit(result, result.table); err != nil {
		return err
	}
	if f.check && result.Changed > 0 {
		return fail(exitFailed, "%d of %d verdicts changed", result.Changed, result.Answers)
	}
	return nil
}

func (a *app) storedSets(ctx context.Context, args []string, f rescoreFlags, environmentGiven bool) ([]storedSet, error) {
	files := f.tasks != "" || f.answers != ""
	switch {
	case len(args) == 1 && (files || environmentGiven):
		return nil, fail(exitUsage, "an experiment's answers are judged beside its own tasks; leave out --tasks, --answers and --environment, or the name %s", args[0])
	case len(args) == 1:
		return a.storedByExperiment(ctx, args[0])
	case f.tasks == "" || f.answers == "":
		return nil, fail(exitUsage, "name an experiment, or --tasks and --answers")
	}
	e, err := all.Open(f.environment)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return []storedSet{{name: f.answers, env: e, read: func(ctx context.Context, each func(env.Problem, storedAnswer)) error {
		return readAnswerFiles(ctx, e, f, each)
	}}}, nil
}

// readAnswerFiles pairs two files; the tasks may be more.
func readAnswerFiles(ctx context.Context, e env.Environment, f rescoreFlags, each func(env.Problem, storedAnswer)) error {
	book := taskBook{environment: e}
	if err := book.load(ctx, f.tasks); err != nil {
		return err
	}
	in, done, err := openRowFile(f.answers)
	if err != nil {
		return err
	}
	defer done()
	var faults faultList
	seen := map[string]bool{}
	err = eachLine(ctx, in, storedAnswers, func(rows []answerLine, _ bool) error {
		for _, row := range rows {
			if err := row.check(book, f.tasks, seen); err != nil {
				faults.add("%s:%d: %v", f.answers, row.line, err)
				continue
			}
			each(book.byID[row.answer.ID], row.answer)
		}
		return nil
	})
	return errors.Join(inFile(f.answers, err), faults.err())
}

// answerLine is a row of a file of answers.
type answerLine struct {
	line   int
	answer storedAnswer
	err    error
}

func storedAnswers() func(numbered) answerLine {
	return func(l numbered) answerLine {
		row := answerLine{line: l.line, err: l.err}
		if row.err == nil {
			row.err = textfile.UnmarshalStrict(l.text, &row.answer)
		}
		return row
	}
}

// check says what is wrong with a row, and notes its task as answered.
func (l answerLine) check(book taskBook, tasks string, seen map[string]bool) error {
	id := l.answer.ID
	switch {
	case l.err != nil:
		return l.err
	case book.byID[id] == nil:
		return fmt.Errorf("task %q is not in %s", id, tasks)
	case seen[id]:
		return fmt.Errorf("task %q is answered twice", id)
	}
	seen[id] = true
	return nil
}

// evaluated is an evaluation of an experiment, and the set that it was on.
type evaluated struct {
	name      string
	step, set activities.Done
}

func evaluatedIn(r activities.Refs) []evaluated {
	list := []evaluated{{"start/validate", r.Base, r.Validation}}
	for _, round := range r.Rounds {
		list = append(list, evaluated{fmt.Sprintf("round-%d/validate", round.Round), round.Scorecard, r.Validation})
	}
	for _, b := range r.Benchmarks {
		at := fmt.Sprintf("benchmark-%d/", b.Agents)
		list = append(list, evaluated{at + "untrained", b.Base, b.Set}, evaluated{at + "trained", b.Trained, b.Set})
	}
	return list
}

// storedByExperiment are the evaluations of an experiment that are done.
func (a *app) storedByExperiment(ctx context.Context, name string) ([]storedSet, error) {
	body, err := a.doc(ctx, name, activities.DocIndex)
	if err != nil {
		return nil, err
	}
	var refs activities.Refs
	if err := json.Unmarshal(body, &refs); err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", name, err)
	}
	results, err := a.results(ctx, name)
	if err != nil {
		return nil, err
	}
	e, err := all.Open(results.Spec.Environment)
	if err != nil {
		return nil, err
	}
	var sets []storedSet
	for _, v := range evaluatedIn(refs) {
		if v.step.ID.Key == "" || v.set.ID.Key == "" {
			continue // not reached yet
		}
		set, err := a.storedByStep(ctx, v, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (a *app) storedByStep(ctx context.Context, v evaluated, e env.Environment) (storedSet, error) {
	answers, err := a.manifest(ctx, v.step.ID)
	if err != nil {
		return storedSet{}, err
	}
	tasks, err := a.manifest(ctx, v.set.ID)
	if err != nil {
		return storedSet{}, err
	}
	var inputs struct {
		Environment string `json:"environment"`
	}
	if err := json.Unmarshal(answers.Inputs, &inputs); err != nil {
		return storedSet{}, fmt.Errorf("inputs of %s: %w", v.step.ID, err)
	}
	return storedSet{v.name, e, inputs.Environment, func(ctx context.Context, each func(env.Problem, storedAnswer)) error {
		return a.readStored(ctx, e, tasks, answers, each)
	}}, nil
}

func (a *app) manifest(ctx context.Context, id experiment.StepID) (artifact.Manifest, error) {
	m, ok, err := a.steps.Find(ctx, id)
	if err == nil && !ok {
		err = fmt.Errorf("step %s has no manifest in the store", id)
	}
	return m, err
}

// readStored pairs the rows of two steps; they stand in the same order.
func (a *app) readStored(ctx context.Context, e env.Environment, tasks, answers artifact.Manifest, each func(env.Problem, storedAnswer)) error {
	set, err := artifact.ReadJSONLines[env.Task](ctx, *a.steps, tasks, activities.FileDataset)
	if err != nil {
		return err
	}
	rows, err := artifact.ReadJSONLines[storedAnswer](ctx, *a.steps, answers, activities.FileAnswers)
	if err != nil {
		return err
	}
	if len(set) != len(rows) {
		return fmt.Errorf("%s has %d answers to the %d tasks of %s", answers.ID, len(rows), len(set), tasks.ID)
	}
	for i, task := range set {
		if rows[i].ID != task.ID {
			return fmt.Errorf("answer %d of %s is to %q; task %d of %s is %q", i+1, answers.ID, rows[i].ID, i+1, tasks.ID, task.ID)
		}
		p, err := e.Open(task)
		if err != nil {
			return fmt.Errorf("task %s of %s: %w", task.ID, tasks.ID, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		each(p, rows[i])
	}
	return nil
}
