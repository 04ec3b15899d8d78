package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"floe/workflows"
)

// listed is one experiment in a list.
type listed struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Designer  string   `json:"designer"`
	Variant   string   `json:"variant"`
	Round     *int64   `json:"round"`      // null before the first
	ValidRate *float64 `json:"valid_rate"` // null before the first validation
	Started   string   `json:"started"`
	Ended     string   `json:"ended,omitempty"`
}

func (a *app) listCmd() *cobra.Command {
	var state string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List experiments, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return fail(exitUsage, "--limit is %d; want at least 1", limit)
			}
			return a.list(c.Context(), state, limit)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only experiments in this `STATE` (preparing, running, waiting, benchmarking, done, failed, cancelled)")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return c
}

func (a *app) list(ctx context.Context, state string, limit int) error {
	q := "WorkflowType = 'Experiment'"
	switch state {
	case "":
	case "waiting":
		q += fmt.Sprintf(" AND FloeState = '%s'", workflows.StateWaiting)
	case workflows.StatePreparing, workflows.StateRunning, workflows.StateWaiting, workflows.StateBenchmarking, workflows.StateDone, workflows.StateFailed, workflows.StateCancelled:
		q += fmt.Sprintf(" AND FloeState = '%s'", state)
	default:
		return fail(exitUsage, "--state is %q; want preparing, running, waiting, benchmarking, done, failed or cancelled", state)
	}
	all, err := a.find(ctx, q, limit)
	if err != nil {
		return err
	}
	return a.emit(all, func(w io.Writer) error { return listTable(w, all) })
}

// find pages through visibility. A name that ran several times is listed once,
// with its newest run.
func (a *app) find(ctx context.Context, q string, limit int) ([]listed, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	all, seen := []listed{}, map[string]bool{}
	var page []byte
	for {
		out, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: q, NextPageToken: page})
		if err != nil {
			return nil, err
		}
		for _, e := range out.Executions {
			l := listedOf(e)
			if seen[l.Name] {
				continue
			}
			seen[l.Name] = true
			if all = append(all, l); len(all) == limit {
				return all, nil
			}
		}
		if page = out.NextPageToken; len(page) == 0 {
			return all, nil
		}
	}
}

func listedOf(e *workflow.WorkflowExecutionInfo) listed {
	l := listed{Name: workflows.ExperimentName(e.Execution.WorkflowId), Started: utc(e.StartTime.AsTime())}
	if e.CloseTime != nil {
		l.Ended = utc(e.CloseTime.AsTime())
	}
	attr := e.SearchAttributes.GetIndexedFields()
	read := func(name string, into any) bool {
		p, ok := attr[name]
		return ok && converter.GetDefaultDataConverter().FromPayload(p, into) == nil
	}
	read("FloeState", &l.State)
	read("FloeDesigner", &l.Designer)
	read("FloeVariant", &l.Variant)
	var round int64
	if read("FloeRound", &round) {
		l.Round = &round
	}
	var rate float64
	if read("FloeValidRate", &rate) {
		l.ValidRate = &rate
	}
	// A run that was killed from outside had no chance to say so.
	if word := stateWord(e.Status); word == "terminated" || word == "timed_out" {
		l.State = word
	}
	return l
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func listTable(w io.Writer, all []listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no experiments yet; start one with: starter run examples/demo.yaml")
		return err
	}
	var lines [][]string
	for _, l := range all {
		round, rate := "-", "-"
		if l.Round != nil {
			round = fmt.Sprint(*l.Round)
		}
		if l.ValidRate != nil {
			rate = fmt.Sprintf("%.1f %%", 100**l.ValidRate)
		}
		lines = append(lines, []string{l.Name, l.State, l.Designer, l.Variant, round, rate, local(l.Started)})
	}
	return rows(w, []string{"NAME", "STATE", "DESIGNER", "CONTEXT", "ROUND", "VALID", "STARTED"}, lines)
}

// local is a machine time as a person reads it.
func local(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Local().Format("2006-01-02 15:04")
}
