package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/cleantext"
	"floe/internal/job/runner"
	planning "floe/internal/plan"
)

func (a *app) jobsCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "jobs NAME",
		Short: "Show the attempts at an experiment's training jobs",
		Long: `Shows every attempt of the jobs that train an experiment's language model: where it
runs, its GPU time, the step of its newest complete checkpoint, and how it ended. The
data comes from the artifact store and is as fresh as the worker's last write;
starter watch shows training steps live.`,
		Example:           "  starter jobs paper\n  starter jobs paper -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			jobs, err := a.jobs(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.emit(jobs, jobs.table)
		},
	}
}

// trainingJobs are the jobs of an experiment, round by round.
type trainingJobs []trainingJob

// trainingJob is the job of one round's training.
type trainingJob struct {
	Round      string         `json:"round"` // "round-0"
	GPUSeconds float64        `json:"gpu_seconds"`
	History    runner.History `json:"history"`
}

func (a *app) jobs(ctx context.Context, name string) (trainingJobs, error) {
	p, err := a.plan(ctx, name, nil, false)
	if err != nil {
		return nil, err
	}
	if p.Trainings == nil {
		return nil, fail(exitFailed, "%s trains the embedded policy: this run has no external jobs", name)
	}
	jobs := trainingJobs{}
	for _, s := range p.Steps {
		if s.ID.Kind != planning.KindTrain || s.Open {
			continue
		}
		h, err := activities.JobHistory(ctx, *a.steps, s.ID)
		if err != nil {
			return nil, err
		}
		if len(h.Attempts) > 0 {
			jobs = append(jobs, trainingJob{strings.TrimSuffix(s.Path, "/train"), h.GPUTime(time.Now()).Seconds(), h})
		}
	}
	return jobs, nil
}

func (j trainingJobs) table(w io.Writer) error {
	if len(j) == 0 {
		_, err := fmt.Fprintln(w, "no training has been started yet")
		return err
	}
	head := []string{"ROUND"}
	for _, h := range runner.TableHead {
		head = append(head, strings.ToUpper(h))
	}
	var lines [][]string
	var sum time.Duration
	for _, t := range j {
		for _, line := range t.History.Table(time.Now()) {
			for i := range line {
				line[i] = cleantext.Line(line[i])
			}
			lines = append(lines, append([]string{t.Round}, line...))
		}
		sum += t.History.GPUTime(time.Now())
	}
	if err := rows(w, head, lines); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%.2f GPU-hours\n", sum.Hours())
	return err
}
