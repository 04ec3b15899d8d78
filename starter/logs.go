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
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"floe/activities"
	"floe/internal/cleantext"
	"floe/workflows"
)

// logPoll is how often followed logs are looked at; attempts write theirs every
// few seconds.
const logPoll = time.Second

func (a *app) logsCmd() *cobra.Command {
	var f logFilter
	var follow, full bool
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the logs of an experiment's steps",
		Long: `Shows the log lines of every attempt of every step in order of time, from all
workers; they are stored with the artifacts. --follow runs until the experiment ends
or Ctrl-C. A long log is shortened in the middle, with a line that says so; --full
shows all of it, attempt by attempt.`,
		Example: `  starter logs demo --follow
  starter logs demo --round 1 --step train
  starter logs demo --round 1 --step train --full
  starter logs demo -o jsonl | jq -r .text`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		Annotations:       map[string]string{knowsJSONL: ""},
		RunE: func(c *cobra.Command, args []string) error {
			f.anyRound = !c.Flags().Changed("round")
			if follow && (a.output == "json" || a.output == "yaml") {
				return fail(exitUsage, "--output %s does not work with --follow; want table or jsonl", a.output)
			}
			if full && follow {
				return fail(exitUsage, "--full and --follow exclude each other; want one of them")
			}
			if full {
				return a.fullLogs(c.Context(), args[0], f)
			}
			return a.logs(c.Context(), args[0], f, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines come")
	c.Flags().BoolVar(&full, "full", false, "do not shorten long logs")
	c.Flags().IntVar(&f.round, "round", 0, "only of this `ROUND`; -1 is before the first")
	c.Flags().StringVar(&f.step, "step", "", "only of this `STEP`, such as train")
	return c
}

type logFilter struct {
	round    int
	anyRound bool
	step     string
}

func (f logFilter) wants(at activities.Attempt) bool {
	return (f.anyRound || at.Round == f.round) && (f.step == "" || strings.Contains(at.Step, f.step))
}

// logLine is one line of an attempt's log.
type logLine struct {
	At      string `json:"at"` // UTC
	Level   string `json:"level"`
	Round   int    `json:"round"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
	Text    string `json:"text"`
}

func (a *app) logs(ctx context.Context, name string, f logFilter, follow bool) error {
	if err := a.known(ctx, name); err != nil {
		return err
	}
	if err := a.checkLogStep(ctx, name, f.step, follow); err != nil {
		return err
	}
	seen := map[string]int{} // lines shown or left out, by attempt
	for {
		over := !follow || a.over(ctx, name) // asked first: what is written after an end is still shown
		lines, err := a.newLines(ctx, name, f, seen)
		if err != nil {
			return err
		}
		if err := a.emitLog(lines); err != nil {
			return err
		}
		if over {
			return nil
		}
		select {
		case <-time.After(logPoll):
		case <-ctx.Done():
			return &codedError{exitInterrupted, context.Canceled}
		}
	}
}

// over says whether an experiment writes no more.
func (a *app) over(ctx context.Context, name string) bool {
	d, err := describe(ctx, a.temporal, workflows.ExperimentID(name))
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return true
	}
	return err == nil && d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// newLines reads the lines that were not shown yet, in order of time.
func (a *app) newLines(ctx context.Context, name string, f logFilter, seen map[string]int) ([]logLine, error) {
	all, err := a.attemptDocs(ctx, name)
	if err != nil {
		return nil, err
	}
	var lines []logLine
	for _, at := range all {
		if !f.wants(at) {
			continue
		}
		key := fmt.Sprintf("%s/%s/%d", at.Run, at.Activity, at.Attempt)
		lines = append(lines, unseen(name, at, seen[key])...)
		seen[key] = len(at.Log) + at.Left
	}
	slices.SortStableFunc(lines, func(x, y logLine) int { return cmp.Compare(x.At, y.At) })
	return lines, nil
}

// unseen are the lines of an attempt after those that were seen, with a line in place of
// what its document leaves out.
func unseen(name string, at activities.Attempt, seen int) []logLine {
	var lines []logLine
	for i, text := range at.Log {
		number := i
		if i >= at.LeftAfter {
			number += at.Left
		}
		if number < seen {
			continue
		}
		line := lineOf(at, text)
		if left := number - max(seen, at.LeftAfter); i == at.LeftAfter && at.Left > 0 && left > 0 {
			gap := line
			gap.Level, gap.Text = "INFO", fmt.Sprintf("… %s lines left out; starter logs %s%s --full shows them all", thousands(left), name, only(at))
			lines = append(lines, gap)
		}
		lines = append(lines, line)
	}
	return lines
}

// only are the flags that choose an attempt's step.
func only(at activities.Attempt) string {
	step := at.Step
	if strings.Contains(step, " ") {
		step = strconv.Quote(step)
	}
	return fmt.Sprintf(" --round %d --step %s", at.Round, step)
}

// thousands is a count as people read it: 4,812.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// fullLogs shows whole logs as they are read, one attempt after the other.
func (a *app) fullLogs(ctx context.Context, name string, f logFilter) error {
	if err := a.known(ctx, name); err != nil {
		return err
	}
	all, err := a.attemptDocs(ctx, name)
	if err != nil {
		return err
	}
	const batch = 1000
	streams := a.output == "table" || a.output == "jsonl"
	lines := []logLine{}
	for _, at := range all {
		if !f.wants(at) {
			continue
		}
		err := activities.WholeLog(ctx, *a.steps, name, at, func(text string) error {
			lines = append(lines, lineOf(at, text))
			if !streams || len(lines) < batch {
				return nil
			}
			err := a.emitLog(lines)
			lines = lines[:0]
			return err
		})
		if err != nil {
			return err
		}
	}
	return a.emitLog(lines)
}

func lineOf(at activities.Attempt, text string) logLine {
	when, rest, _ := strings.Cut(text, " ")
	level, rest, _ := strings.Cut(rest, " ")
	return logLine{At: when, Level: level, Round: at.Round, Step: at.Step, Attempt: at.Attempt, Worker: at.Worker, Text: rest}
}

func (a *app) emitLog(lines []logLine) error {
	if a.output == "jsonl" {
		return emitLines(a.out, lines)
	}
	if lines == nil {
		lines = []logLine{}
	}
	if a.output == "table" && len(lines) == 0 {
		return nil
	}
	return a.emit(lines, func(w io.Writer) error {
		for _, l := range lines {
			where := fmt.Sprintf("round %d", l.Round)
			if l.Round < 0 {
				where = "start"
			}
			if _, err := fmt.Fprintf(w, "%s %-5s %s %s (%d) %s\n", localSeconds(l.At), cleantext.Line(l.Level), where, cleantext.Line(l.Step), l.Attempt, cleantext.Line(l.Text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// localSeconds is a machine time as a person reads it beside others of a day.
func localSeconds(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
