package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/env"
	"floe/internal/env/all"
)

func (a *app) datasetCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "dataset",
		Short: "Build, verify and inspect sets of tasks",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.datasetBuildCmd(), a.datasetVerifyCmd(), a.datasetStatsCmd(), a.datasetShowCmd())
	return c
}

func (a *app) datasetBuildCmd() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build SPEC (--round N | --validation | --benchmark AGENTS)",
		Short: "Draw a set of an experiment, exactly as a run does",
		Long: `Draws the same set as the experiment's step, byte for byte, and writes it next to a
record of the request and the outcome: FILE.conformance.json. Rounds count from 0.
Round 0 uses the file's curriculum, or one drawn from the seed; later rounds need
their designer's curriculum, either as in experiment files or as the curriculum.json
that ` + "`starter artifacts get`" + ` fetches.`,
		Example: `  starter dataset build examples/demo.yaml --round 0
  starter dataset build examples/demo.yaml --round 1 --curriculum curriculum.json
  starter dataset build examples/demo.yaml --benchmark 3 --out benchmark-3.jsonl`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			f.isRound, f.isBenchmark = c.Flags().Changed("round"), c.Flags().Changed("benchmark")
			return a.datasetBuild(c.Context(), args[0], f)
		},
	}
	c.Flags().IntVar(&f.round, "round", 0, "the training set of round `N`, from 0")
	c.Flags().BoolVar(&f.validation, "validation", false, "the validation set")
	c.Flags().IntVar(&f.benchmark, "benchmark", 0, "the held-out set with so many `AGENTS`")
	c.Flags().StringVar(&f.curriculum, "curriculum", "", "`FILE` with the round's curriculum, YAML or JSON")
	c.Flags().StringVarP(&f.out, "out", "O", "", "`FILE` to write, .jsonl or .jsonl.zst (default NAME-SET.jsonl.zst)")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "override a field, such as `samples=400`; can be repeated")
	return c
}

func (a *app) datasetVerifyCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Redraw a set from its record and compare byte for byte",
		Long: `Redraws the set from the orders in FILE.conformance.json and compares the file and
the record with it byte for byte. Reports the line of the first difference and exits
with code 1.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.datasetVerify(c.Context(), args[0]) },
	}
}

func (a *app) datasetStatsCmd() *cobra.Command {
	var environment string
	c := &cobra.Command{
		Use:   "stats FILE",
		Short: "Show what is in a set, per size and group",
		Long: `Counts tasks per size and group and shows the range of their measures. It solves
every task again and rejects a set with a wrong optimum. TOKENS is the referee's
estimate of the optimal answer's length. Values are mean (min-max).`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.datasetStats(c.Context(), args[0], environment) },
	}
	environmentFlag(c, &environment)
	return c
}

func (a *app) datasetShowCmd() *cobra.Command {
	var f showTaskFlags
	c := &cobra.Command{
		Use:   "show FILE [ID]",
		Short: "Show tasks of a set: prompt, instance and an optimal answer",
		Example: `  starter dataset show validation.jsonl.zst val-3x3-0000
  starter dataset show validation.jsonl.zst --first 3`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				if f.id = args[1]; c.Flags().Changed("first") {
					return fail(exitUsage, "found both an ID and --first; want one of them")
				}
			}
			return a.datasetShow(c.Context(), args[0], f)
		},
	}
	c.Flags().IntVar(&f.first, "first", 1, "show the first `N` tasks")
	environmentFlag(c, &f.environment)
	return c
}

func environmentFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "environment", "", "the family of tasks (default: what the record beside the file says, or "+all.Names()[0]+")")
}

// datasetEnv opens the environment of a set: the one named, the one that its
// record names, or the first.
func datasetEnv(file, name string) (env.Environment, error) {
	if name == "" {
		r, err := readRecord(file)
		switch {
		case err == nil:
			name = r.Environment
		case errors.Is(err, os.ErrNotExist):
			name = all.Names()[0]
		default:
			return nil, err
		}
	}
	e, err := all.Open(name)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return e, nil
}

// measuringEnv opens the environment of a set for measuring its tasks.
func measuringEnv(e env.Environment) (env.Measuring, error) {
	m, ok := e.(env.Measuring)
	if !ok {
		return nil, fail(exitUsage, "environment %s has no measures of its tasks", e.Name())
	}
	return m, nil
}

// readTasks works on the tasks of a set on all cores, and takes the results in the
// order of the rows. The first rows that are no tasks are shown; then the set is refused.
func readTasks[T any](ctx context.Context, a *app, file string, work func(numbered) (T, error), take func(T) error) error {
	in, done, err := openRowFile(file)
	if err != nil {
		return err
	}
	defer done()
	type outcome struct {
		line int
		got  T
		err  error
	}
	in, end := a.withProgress(in, "reading tasks")
	defer end()
	rows, bad := 0, 0
	each := func(l numbered) outcome {
		if l.err != nil {
			return outcome{line: l.line, err: l.err}
		}
		got, err := work(l)
		return outcome{l.line, got, err}
	}
	err = eachLine(ctx, in, func() func(numbered) outcome { return each }, func(batch []outcome, _ bool) error {
		for _, o := range batch {
			if rows++; o.err != nil {
				if bad++; bad <= shownRowFaults {
					a.badRow(file, o.line, o.err)
				}
			} else if err := take(o.got); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return inFile(file, err)
	case bad > 0:
		return fail(exitUsage, "%s: %d of %d rows are not valid tasks", file, bad, rows)
	case rows == 0:
		return fail(exitUsage, "%s: found no rows; want one task a line", file)
	}
	return nil
}

// isRows says whether a name is that of a file of rows.
func isRows(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".zst"), ".jsonl")
}

func datasetName(experiment, set string) string {
	return fmt.Sprintf("%s-%s.jsonl.zst", experiment, set)
}
