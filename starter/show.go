package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"floe/internal/experiment"
	"floe/internal/report"
	"floe/workflows"
)

func (a *app) showCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Show one experiment: state, learning curve, designs, benchmarks",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE:              func(c *cobra.Command, args []string) error { return a.show(c.Context(), args[0]) },
	}
}

// names completes the names of experiments.
func (a *app) names(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := a.find(c.Context(), "WorkflowType = 'Experiment'", 100)
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
	Failure string              `json:"failure,omitempty"`
	UI      string              `json:"ui,omitempty"`
	Status  *workflows.Status   `json:"status,omitempty"` // while it runs
	Results *experiment.Results `json:"results"`          // null before the first are published
}

func (a *app) show(ctx context.Context, name string) error {
	s, err := a.look(ctx, name)
	if err != nil {
		return err
	}
	return a.emit(s, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.State)
		switch {
		case s.Status != nil && s.Status.Waits():
			fmt.Fprintf(w, "%s: %s\n", s.Status.Position(), s.Status.Waiting.Reason)
			fmt.Fprintf(w, "  %s\n", a.command("design show "+s.Name, a.repeatData()...))
			for _, l := range a.decideWith(s.Name) {
				fmt.Fprintf(w, "  %s\n", l)
			}
		case s.Status != nil:
			p := s.Status.Progress
			fmt.Fprintf(w, "%s: %s %d of %d %s\n", s.Status.Position(), p.Step, p.Done, p.Total, p.Note)
		}
		if s.Failure != "" {
			fmt.Fprintf(w, "%s\n", s.Failure)
		}
		if s.UI != "" {
			fmt.Fprintf(w, "Temporal UI  %s\n", s.UI)
		}
		if s.Results == nil {
			_, err := fmt.Fprintln(w, "no results yet")
			return err
		}
		fmt.Fprintln(w)
		return report.Text(w, *s.Results, report.Options{Width: width(a.out, textWidth), Color: a.color(a.out)})
	})
}

// look gathers from the workflow and from the artifacts. Either may be missing:
// results outlive the server, and a young experiment has none yet.
func (a *app) look(ctx context.Context, name string) (shown, error) {
	c, err := a.client(ctx)
	if err != nil {
		return shown{}, err
	}
	s := shown{Name: name, State: "lost"}
	r, err := a.results(ctx, name)
	switch {
	case err == nil:
		s.Results, s.State = &r, r.State
	case codeOf(ctx, err) != exitNotFound:
		return s, err
	}
	d, err := describe(ctx, c, workflows.ExperimentID(name))
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		if s.Results == nil {
			return s, fail(exitNotFound, "no experiment is called %s; `starter list` shows what there is", name)
		}
		return s, nil
	}
	if err != nil {
		return s, err
	}
	run := c.GetWorkflow(ctx, workflows.ExperimentID(name), d.WorkflowExecutionInfo.Execution.RunId)
	s.State, s.UI = listedOf(d.WorkflowExecutionInfo).State, a.uiURL(run)
	switch d.WorkflowExecutionInfo.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		s.Failure = cause(run.Get(ctx, nil))
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		// Without a worker nobody answers; what is known besides is still shown.
		if status, err := snapshot(ctx, c, run); err == nil {
			s.Status = &status
		}
	default: // done, cancelled, terminated: the state says it all
	}
	return s, nil
}

func (a *app) watchCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "watch NAME",
		Short:             "Follow an experiment live until it ends",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			run, err := a.existing(ctx, args[0])
			if err != nil {
				return err
			}
			if url := a.uiURL(run); url != "" {
				a.say("Temporal UI: %s", url)
			}
			if err := a.follow(ctx, a.temporal, run); err != nil {
				return err
			}
			return a.conclude(ctx, args[0], run)
		},
	}
}

// existing finds the newest run of a name; exit code 3 if there is none.
func (a *app) existing(ctx context.Context, name string) (client.WorkflowRun, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	d, err := describe(ctx, c, workflows.ExperimentID(name))
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return nil, fail(exitNotFound, "no experiment is called %s; `starter list` shows what there is", name)
	}
	if err != nil {
		return nil, err
	}
	e := d.WorkflowExecutionInfo.Execution
	return c.GetWorkflow(ctx, e.WorkflowId, e.RunId), nil
}

func (a *app) cancelCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel NAME",
		Short: "Cancel an experiment and wait until its work has stopped",
		Long: `Cancels an experiment: the activity that runs is told to stop, and the command
returns when it has. What is done is kept; running the same file again goes on.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.cancel(c.Context(), args[0])
		},
	}
}

func (a *app) cancel(ctx context.Context, name string) error {
	run, err := a.existing(ctx, name)
	if err != nil {
		return err
	}
	d, err := describe(ctx, a.temporal, run.GetID())
	if err != nil {
		return err
	}
	if status := d.WorkflowExecutionInfo.Status; status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return fail(exitFailed, "experiment %s is not running: %s", name, stateWord(status))
	}
	if err := a.temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()); err != nil {
		return err
	}
	a.say("cancelling %s; waiting until its work has stopped", name)
	if err := run.Get(ctx, nil); err != nil && ctx.Err() != nil {
		return err
	}
	a.say("cancelled")
	return nil
}
