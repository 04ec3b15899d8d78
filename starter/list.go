package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"floe/internal/config"
	"floe/workflows"
)

// listed is one experiment in a list.
type listed struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Designer string `json:"designer"`
	// Variant is the context, what the designer is shown; empty for one that is shown nothing.
	Variant string `json:"variant"`
	Seed    *int64 `json:"seed"`
	Round   *int64 `json:"round"` // null before the first
	// The last validation; null before the first. Optimal and N are null too where
	// no worker answers for an experiment that runs.
	ValidRate   *float64 `json:"valid_rate"`
	OptimalRate *float64 `json:"optimal_rate"`
	N           *int     `json:"n"`

	runID   string
	status  enumspb.WorkflowExecutionStatus
	Sweep   string   `json:"sweep,omitempty"`
	Arm     string   `json:"arm,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	Started string   `json:"started"`
	Ended   string   `json:"ended,omitempty"`
}

func (a *app) listCmd() *cobra.Command {
	var f filter
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List experiments, newest first",
		Example: `  starter list --state "needs attention"
  starter list --sweep ablation --arm v3 --since 24h
  starter list --name 'demo-*' --tag paper -o jsonl`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{knowsJSONL: ""},
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return fail(exitUsage, "--limit is %d; want at least 1", limit)
			}
			return a.list(c.Context(), f, limit)
		},
	}
	f.register(c)
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return c
}

func (a *app) list(ctx context.Context, f filter, limit int) error {
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	tagged, err := a.tagged(ctx, f.tag)
	if err != nil {
		return err
	}
	all, err := a.find(ctx, q, limit, func(l listed) bool { return f.matches(l, tagged) })
	if err != nil {
		return err
	}
	a.lookUpRates(ctx, all)
	if a.output == "jsonl" {
		return emitLines(a.out, all)
	}
	return a.emit(all, func(w io.Writer) error { return listTable(w, all, f != filter{}) })
}

// find pages through visibility. A name that ran several times is listed once,
// with its newest run.
func (a *app) find(ctx context.Context, q string, limit int, want func(listed) bool) ([]listed, error) {
	all, seen := []listed{}, map[string]bool{}
	err := a.eachVisible(ctx, q, func(e *workflow.WorkflowExecutionInfo) bool {
		l := listedOf(e)
		if !seen[l.Name] && (want == nil || want(l)) {
			seen[l.Name] = true
			all = append(all, l)
		}
		return len(all) < limit
	})
	return all, err
}

// visible is all that visibility knows of.
func (a *app) visible(ctx context.Context, q string) ([]*workflow.WorkflowExecutionInfo, error) {
	var all []*workflow.WorkflowExecutionInfo
	err := a.eachVisible(ctx, q, func(e *workflow.WorkflowExecutionInfo) bool {
		all = append(all, e)
		return true
	})
	return all, err
}

// eachVisible calls f, newest first, until it has enough.
func (a *app) eachVisible(ctx context.Context, q string, f func(*workflow.WorkflowExecutionInfo) bool) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var page []byte
	for {
		out, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: q, NextPageToken: page})
		if err != nil {
			return err
		}
		for _, e := range out.Executions {
			if !f(e) {
				return nil
			}
		}
		if page = out.NextPageToken; len(page) == 0 {
			return nil
		}
	}
}

func listedOf(e *workflow.WorkflowExecutionInfo) listed {
	l := listed{Name: workflows.ExperimentName(e.Execution.WorkflowId), runID: e.Execution.RunId, status: e.Status, Started: utc(e.StartTime.AsTime())}
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
	if config.ReadsContext(l.Designer) {
		read("FloeVariant", &l.Variant)
	}
	if spec, err := specOf(e.GetMemo()); err == nil {
		l.Seed = &spec.Seed
	}
	read("FloeSweep", &l.Sweep)
	read("FloeArm", &l.Arm)
	read("FloeTags", &l.Tags)
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

func listTable(w io.Writer, all []listed, filtered bool) error {
	if len(all) == 0 && filtered {
		_, err := fmt.Fprintln(w, "no experiment matches; starter list without filters shows all")
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no experiments; start one with: starter run examples/demo.yaml")
		return err
	}
	var lines [][]string
	for _, l := range all {
		lines = append(lines, []string{
			l.Name, l.State, l.Designer, cmp.Or(l.Variant, "-"), orDash(l.Seed), orDash(l.Round),
			share(l.ValidRate), share(l.OptimalRate), orDash(l.N), local(l.Started), strings.Join(l.Tags, ","),
		})
	}
	return rows(w, []string{"NAME", "STATE", "DESIGNER", "CONTEXT", "SEED", "ROUND", "VALID", "OPTIMAL", "N", "STARTED", "TAGS"}, lines)
}

// orDash is a number that may be missing.
func orDash[T int | int64](n *T) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// local is a machine time as a person reads it.
func local(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Local().Format("2006-01-02 15:04")
}
