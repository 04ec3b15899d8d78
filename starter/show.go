package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/report"
	"floe/workflows"
)

func (a *app) showCmd() *cobra.Command {
	var attempts bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one experiment: state, learning curve, designs, benchmarks",
		Long: `Shows one experiment. The first line gives its state; if a step failed permanently,
it names the step, the cause and what to do. --attempts lists every attempt of every
step instead: when, on which worker, and how it ended.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		Annotations:       map[string]string{knowsJSONL: ""},
		RunE: func(c *cobra.Command, args []string) error {
			if attempts {
				return a.showAttempts(c.Context(), args[0])
			}
			if a.output == "jsonl" {
				return fail(exitUsage, "--output jsonl is for lists; want table, json or yaml, or --attempts")
			}
			return a.show(c.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&attempts, "attempts", false, "list the attempts of all steps")
	return c
}

// names completes the names of experiments.
func (a *app) names(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := a.find(c.Context(), "WorkflowType = 'Experiment'", 100, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// shown is all that is known of an experiment.
type shown struct {
	Name    string              `json:"name"`
	State   string              `json:"state"`
	Failure string              `json:"failure,omitempty"` // one sentence
	Left    []string            `json:"left,omitempty"`    // what still runs while it is being cancelled
	UI      string              `json:"ui,omitempty"`
	Sweep   string              `json:"sweep,omitempty"`
	Arm     string              `json:"arm,omitempty"`
	Tags    []string            `json:"tags"`
	Notes   []remark            `json:"notes"`
	Events  []activities.Event  `json:"events"`           // what people did, and what befell it
	Rates   []validation        `json:"rates"`            // on the validation set, oldest first
	Status  *workflows.Status   `json:"status,omitempty"` // while it runs
	Results *experiment.Results `json:"results"`          // null before the first are published
}

// validation is what one found: the counts, and the rates.
type validation struct {
	Round *int `json:"round"` // null for the untrained policy
	experiment.Rates
	ValidRate   float64 `json:"valid_rate"`
	OptimalRate float64 `json:"optimal_rate"`
}

// measuredOf are the validations so far, from the workflow if it answered, else from
// the last results.
func measuredOf(s shown) []validation {
	all := []validation{}
	add := func(round *int, r experiment.Rates) {
		all = append(all, validation{round, r, r.ValidRate(), r.OptimalRate()})
	}
	if s.Status != nil {
		if s.Status.Base != nil {
			add(nil, *s.Status.Base)
		}
		for _, r := range s.Status.Done {
			add(&r.Round, r.Rates)
		}
		return all
	}
	if s.Results == nil {
		return all
	}
	if s.Results.Base != nil {
		add(nil, s.Results.Base.Total())
	}
	for _, r := range s.Results.Rounds {
		if r.Scorecard != nil {
			add(&r.Round, r.Scorecard.Total())
		}
	}
	return all
}

// headline says in one line how the experiment stands.
func (s shown) headline() string {
	switch {
	case s.State == workflows.StateAttention && s.Failure != "":
		return s.Failure
	case len(s.Left) > 0:
		return fmt.Sprintf("%s: %s; %s", s.Name, s.State, strings.Join(s.Left, "; "))
	case s.Status != nil && s.Status.Waits():
		return fmt.Sprintf("%s: %s; %s: %s", s.Name, s.State, s.Status.Position(), s.Status.Waiting.Reason)
	case s.State == workflows.StateUndesigned:
		return fmt.Sprintf("%s: %s; %s", s.Name, s.State, workflows.Undesigned(s.Name))
	case s.Status != nil && s.State != workflows.StateDone:
		return fmt.Sprintf("%s: %s; %s", s.Name, s.State, s.Status.Line())
	}
	return s.Name + ": " + s.State
}

func (a *app) show(ctx context.Context, name string) error {
	s, err := a.look(ctx, name)
	if err != nil {
		return err
	}
	s.Rates = measuredOf(s)
	if s.Events == nil {
		s.Events = []activities.Event{}
	}
	return a.emitStyled(versioned{"floe.show/v1", s}, func(out io.Writer) error {
		w := a.plain(out)
		fmt.Fprintln(w, s.headline())
		if s.Status != nil && s.Status.Waits() {
			for _, l := range append([]string{a.command("design show " + s.Name)}, a.decideWith(s.Name)...) {
				fmt.Fprintf(w, "  %s\n", l)
			}
		}
		if s.Failure != "" && s.State != workflows.StateAttention {
			fmt.Fprintf(w, "%s\n", s.Failure)
		}
		a.showAround(w, s)
		if s.Results == nil {
			_, err := fmt.Fprintln(w, "no results yet")
			return err
		}
		fmt.Fprintln(w)
		s.Results.State = s.State // the report is as old as the last round
		return report.Text(out, *s.Results, report.Options{Width: width(a.out, textWidth), Color: a.color(a.out)})
	})
}

const reasonColumns = 100

// showAround shows what people did with an experiment and wrote about it.
func (a *app) showAround(w io.Writer, s shown) {
	if s.UI != "" {
		fmt.Fprintf(w, "Temporal UI  %s\n", s.UI)
	}
	if s.Sweep != "" {
		fmt.Fprintf(w, "sweep        %s, arm %s\n", s.Sweep, s.Arm)
	}
	if len(s.Tags) > 0 {
		fmt.Fprintf(w, "tags         %s\n", strings.Join(s.Tags, ", "))
	}
	rounds := 0
	if s.Status != nil {
		rounds = s.Status.Rounds
	} else if s.Results != nil {
		rounds = s.Results.Spec.Rounds
	}
	for _, e := range s.Events {
		e.At, e.Reason = local(e.At), cut(e.Reason, reasonColumns)
		fmt.Fprintf(w, "  %s\n", workflows.EventLine(e, rounds))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "note         %s %s: %s\n", local(n.At), n.By, n.Text)
	}
}

// look gathers from the workflow and from the artifacts. Either may be missing:
// results outlive the server, and a young experiment has none yet.
func (a *app) look(ctx context.Context, name string) (shown, error) {
	s := shown{Name: name, State: stateLost, Tags: []string{}, Notes: []remark{}, Rates: []validation{}}
	if _, err := a.client(ctx); err != nil {
		return s, err
	}
	if err := a.lookStored(ctx, &s); err != nil {
		return s, err
	}
	d, err := describe(ctx, a.temporal, workflows.ExperimentID(name))
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		if s.Results == nil {
			return s, notThere(name)
		}
		if !slices.Contains([]string{workflows.StateDone, workflows.StateUndesigned, workflows.StateStopped, workflows.StateFailed, workflows.StateCancelled}, s.State) {
			s.State = stateLost
		}
		return s, nil
	}
	if err != nil {
		return s, err
	}
	return s, a.lookRunning(ctx, &s, d)
}

// lookStored takes in what the artifact store knows.
func (a *app) lookStored(ctx context.Context, s *shown) error {
	r, err := a.results(ctx, s.Name)
	switch {
	case err == nil:
		s.Results, s.State = &r, r.State
	case codeOf(ctx, err) != exitNotFound:
		return err
	}
	k, err := a.keptOf(ctx, s.Name)
	if err != nil {
		return err
	}
	s.Tags, s.Events, s.Sweep, s.Arm = k.tags, k.ops.Events, k.ops.Sweep, k.ops.Arm
	s.Notes, err = a.notesOf(ctx, s.Name)
	return err
}

// lookRunning takes in what Temporal knows of the newest run.
func (a *app) lookRunning(ctx context.Context, s *shown, d *workflowservice.DescribeWorkflowExecutionResponse) error {
	c := a.temporal
	run := c.GetWorkflow(ctx, workflows.ExperimentID(s.Name), d.WorkflowExecutionInfo.Execution.RunId)
	l := listedOf(d.WorkflowExecutionInfo)
	s.State, s.UI = l.State, a.uiURL(run)
	switch d.WorkflowExecutionInfo.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		s.Failure = cause(run.Get(ctx, nil))
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		// Without a worker nobody answers; what is known besides is still shown.
		if status, err := snapshot(ctx, c, run); err == nil {
			s.Status, s.Events, s.Failure = &status, status.Events, status.Cause
			s.State = status.State
		}
		return a.lookCancelling(ctx, s, d)
	default: // done, cancelled, terminated: the state says it all
	}
	return nil
}

// lookCancelling names what is left of an experiment that was told to end.
func (a *app) lookCancelling(ctx context.Context, s *shown, d *workflowservice.DescribeWorkflowExecutionResponse) error {
	if !d.GetWorkflowExtendedInfo().GetCancelRequested() && s.State != workflows.StateCancelling {
		return nil
	}
	s.State = workflows.StateCancelling
	left, err := a.left(ctx, s.Name)
	if line := left.String(); line != "" {
		s.Left = append(s.Left, line)
	}
	return err
}

// existing finds the newest run of a name; exit code 3 if there is none.
func (a *app) existing(ctx context.Context, name string) (client.WorkflowRun, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	d, err := describe(ctx, c, workflows.ExperimentID(name))
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return nil, notThere(name)
	}
	if err != nil {
		return nil, err
	}
	e := d.WorkflowExecutionInfo.Execution
	return c.GetWorkflow(ctx, e.WorkflowId, e.RunId), nil
}
