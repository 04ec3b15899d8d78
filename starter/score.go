package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/textfile"
)

func (a *app) scoreCmd() *cobra.Command {
	var f scoreFlags
	c := &cobra.Command{
		Use:   "score",
		Short: "Score answers: JSONL in, verdicts and rewards out",
		Long: `Reads answers, one JSON object per line, and writes one verdict per line, in the same
order:

  {"id":"val-3x3-0000","answer":"Agent 0: (0, 1) -> ..."}

The task is looked up by id in --tasks, or is given in the line as "task". On stdin
and stdout it can serve a trainer for its whole life: each line is answered at once,
and a line that cannot be scored gets an error and does not end the program.
docs/score.md describes the lines. The exit code is 2 if any line could not be
scored.`,
		Example: `  starter score --tasks dataset.jsonl.zst --in answers.jsonl > verdicts.jsonl
  starter score --tasks dataset.jsonl.zst --dynamic            # serve a trainer
  starter score --in answers.jsonl --set reward.length_of=all  # tasks in the lines`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{knowsJSONL: ""},
		RunE:        func(c *cobra.Command, _ []string) error { return a.score(c.Context(), f) },
	}
	c.Flags().StringVar(&f.in, "in", "-", "`FILE` of answers, plain or packed; - for stdin")
	c.Flags().StringVar(&f.tasks, "tasks", "", "dataset `FILE`, plain or packed, whose tasks the answers name by id")
	c.Flags().StringVar(&f.environment, "environment", all.Names()[0], "the family of tasks")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "override a field of the reward, such as `reward.floor=0.2`; can be repeated")
	c.Flags().StringVar(&f.state, "reward-state", "", "`JSON` of the answers seen before, {\"answers\":N,\"within\":M}: the weights depend on it")
	c.Flags().BoolVar(&f.dynamic, "dynamic", false, "count every answer into the reward state, so that weights move from answer to answer")
	return c
}

type scoreFlags struct {
	in, tasks, environment, state string
	sets                          []string
	dynamic                       bool
}

func (a *app) score(ctx context.Context, f scoreFlags) error {
	if a.output != "table" && a.output != "jsonl" {
		return fail(exitUsage, "--output is %q; score writes JSONL", a.output)
	}
	s, err := newScorer(ctx, f)
	if err != nil {
		return err
	}
	in, done, err := a.openRows(f.in)
	if err != nil {
		return err
	}
	defer done()
	s.name = f.in
	in, end := a.withProgress(in, "scoring")
	tally, err := s.run(ctx, in, a.out)
	end()
	if err != nil {
		return err
	}
	a.say("%s", tally)
	return tally.faults.err()
}

// scorer is what every line is scored with.
type scorer struct {
	name    string // of the input, for errors
	tasks   taskBook
	reward  experiment.RewardSpec
	state   env.RewardState // before the first line
	dynamic bool
}

func newScorer(ctx context.Context, f scoreFlags) (*scorer, error) {
	e, err := all.Open(f.environment)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	s := &scorer{tasks: taskBook{environment: e}, dynamic: f.dynamic}
	if s.reward, err = rewardOf(f.sets); err != nil {
		return nil, err
	}
	if f.state != "" {
		if s.state, err = readRewardState([]byte(f.state)); err != nil {
			return nil, fail(exitUsage, "--reward-state: %w", err)
		}
	}
	if f.tasks != "" {
		err = s.tasks.load(ctx, f.tasks)
	}
	return s, err
}

// rewardOf is the reward of an experiment file that says nothing but these sets.
func rewardOf(sets []string) (experiment.RewardSpec, error) {
	for _, set := range sets {
		if !strings.HasPrefix(set, "reward.") {
			return experiment.RewardSpec{}, fail(exitUsage, "--set %s: want a field of the reward, such as reward.floor=0.2", set)
		}
	}
	spec, err := config.Load("score", []byte("name: score\n"), sets, all.Open)
	return spec.Reward, err
}

// readRewardState reads {"answers":N,"within":M} strictly.
func readRewardState(body []byte) (env.RewardState, error) {
	var raw struct {
		Answers *int64 `json:"answers"`
		Within  *int64 `json:"within"`
	}
	if err := textfile.UnmarshalStrict(body, &raw); err != nil {
		return env.RewardState{}, fmt.Errorf("read reward state: %w", err)
	}
	if raw.Answers == nil || raw.Within == nil || *raw.Within < 0 || *raw.Within > *raw.Answers {
		return env.RewardState{}, fmt.Errorf(`reward state is %.80s; want {"answers":N,"within":M} with 0 <= M <= N`, body)
	}
	return env.RewardState{Answers: *raw.Answers, Within: *raw.Within}, nil
}

// openRows opens a file of rows in any form that package textfile reads; - is stdin.
func (a *app) openRows(file string) (rows io.Reader, done func(), err error) {
	if file == "-" {
		return textfile.NewReader(a.in), func() {}, nil
	}
	return openRowFile(file)
}

func openRowFile(file string) (rows io.Reader, done func(), err error) {
	f, err := textfile.Open(file)
	if err != nil {
		return nil, nil, fail(exitUsage, "%w", err)
	}
	return f, func() { _ = f.Close() }, nil // it was only read
}

// longestText bounds files that are read whole.
const longestText = 16 << 20

// readText reads a whole file in any form that package textfile reads.
func readText(file string) ([]byte, error) {
	body, err := textfile.ReadFile(file, longestText)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return body, nil
}
