package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/textfile"
)

var renderFormats = []string{env.FormatText, env.FormatSVG, env.FormatAnimatedSVG}

type renderFlags struct {
	environment, task, dataset, id, answer, plan, format, out string
}

func (a *app) renderCmd() *cobra.Command {
	var f renderFlags
	c := &cobra.Command{
		Use:   "render",
		Short: "Draw a task and the paths of an answer",
		Long: `Draws a task as text or as a picture, with the paths of an answer or of an optimal
plan. Errors that the referee finds are marked where and when they occur. The
animated picture needs no script and no network; any browser shows it.`,
		Example: `  starter render --dataset dataset.jsonl.zst --id val-5x5-0003
  starter render --task task.json --plan optimal --format animated-svg -O plan.svg
  starter render --task task.json --answer reply.txt --format svg -O reply.svg`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.render(f) },
	}
	c.Flags().StringVar(&f.task, "task", "", "`FILE` of one task as JSON, a row of a dataset; - for stdin")
	c.Flags().StringVar(&f.dataset, "dataset", "", "dataset `FILE`, plain or packed, to find --id in")
	c.Flags().StringVar(&f.id, "id", "", "the task's `ID` in the dataset")
	c.Flags().StringVar(&f.answer, "answer", "", "`FILE` with the text of an answer; - for stdin")
	c.Flags().StringVar(&f.plan, "plan", "", "optimal: draw an optimal plan")
	c.Flags().StringVar(&f.format, "format", env.FormatText, "text, svg or animated-svg")
	c.Flags().StringVar(&f.environment, "environment", all.Names()[0], "the family of tasks")
	c.Flags().StringVarP(&f.out, "out", "O", "-", "`FILE` to write; - for stdout")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(renderFormats, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("plan", cobra.FixedCompletions([]string{"optimal"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// check says everything that is wrong with the flags together.
func (f renderFlags) check() error {
	var errs []error
	if (f.task == "") == (f.dataset == "") {
		errs = append(errs, errors.New("want either --task or --dataset with --id"))
	}
	if (f.dataset == "") != (f.id == "") {
		errs = append(errs, errors.New("want --dataset and --id together"))
	}
	if f.answer != "" && f.plan != "" {
		errs = append(errs, errors.New("want one of --answer and --plan"))
	}
	if f.task == "-" && f.answer == "-" {
		errs = append(errs, errors.New("found - twice; stdin can be read once"))
	}
	if f.plan != "" && f.plan != "optimal" {
		errs = append(errs, fmt.Errorf("--plan is %q; want optimal", f.plan))
	}
	if !slices.Contains(renderFormats, f.format) {
		errs = append(errs, fmt.Errorf("--format is %q; want %s", f.format, strings.Join(renderFormats, ", ")))
	}
	if len(errs) > 0 {
		return fail(exitUsage, "%w", errors.Join(errs...))
	}
	return nil
}

func (a *app) render(f renderFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	e, err := all.Open(f.environment)
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	p, err := a.renderTask(e, f)
	if err != nil {
		return err
	}
	drawable, ok := p.(env.Drawable)
	if !ok {
		return fail(exitUsage, "environment %s has no drawings", e.Name())
	}
	scene, err := a.renderScene(p, f)
	if err != nil {
		return err
	}
	body, err := drawable.Draw(scene)
	if err != nil {
		return err
	}
	if f.out == "-" {
		_, err := a.out.Write(body)
		return err
	}
	return writeFile(f.out, body)
}

// renderTask reads the task that is to be drawn.
func (a *app) renderTask(e env.Environment, f renderFlags) (env.Problem, error) {
	if f.dataset != "" {
		return findTask(e, f.dataset, f.id)
	}
	body, err := a.readAll(f.task)
	if err != nil {
		return nil, err
	}
	p, err := openTaskRow(e, body)
	if err != nil {
		return nil, fail(exitUsage, "%s: %w", f.task, err)
	}
	return p, nil
}

// findTask looks through a dataset until it comes to a task. Rows before it are
// not its matter, unless they cannot be read at all.
func findTask(e env.Environment, file, id string) (env.Problem, error) {
	in, done, err := openRowFile(file)
	if err != nil {
		return nil, err
	}
	defer done()
	for rows := newRowReader(in); ; {
		l, err := rows.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fail(exitNotFound, "task %q is not in %s", id, file)
		case err != nil:
			return nil, inFile(file, err)
		case !bytes.Contains(l.text, []byte(id)):
			continue
		}
		p, err := openTaskRow(e, l.text)
		if err != nil {
			return nil, fail(exitUsage, "%s:%d: %w", file, l.line, err)
		}
		if p.Task().ID == id {
			return p, nil
		}
	}
}

func (a *app) renderScene(p env.Problem, f renderFlags) (env.Scene, error) {
	s := env.Scene{Format: f.format}
	var err error
	switch {
	case f.plan != "":
		s.Answered = true
		s.Answer, err = optimalAnswer(p)
	case f.answer != "":
		s.Answered = true
		var body []byte
		body, err = a.readAll(f.answer)
		s.Answer = string(body)
	}
	return s, err
}

// optimalAnswer acts an optimal plan out.
func optimalAnswer(p env.Problem) (string, error) {
	acts, err := p.Demonstration()
	if err != nil {
		return "", err
	}
	episode := p.Episode()
	for _, action := range acts {
		episode.Act(action)
	}
	return episode.Answer(), nil
}

func (a *app) readAll(file string) ([]byte, error) {
	if file != "-" {
		return readText(file)
	}
	body, err := textfile.ReadAll(a.in, longestText)
	if err != nil {
		return nil, fail(exitUsage, "stdin: %w", err)
	}
	return body, nil
}
