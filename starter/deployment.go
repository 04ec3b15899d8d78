package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"floe/workflows"
)

func (a *app) deploymentCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "deployment",
		Short: "Choose the worker build that starts new experiments",
		Long: `Workers started with --deployment NAME belong to a build, and every experiment stays
on the build that started it (docs/deploying.md). These commands show the builds and
choose the one for new experiments.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the builds of a deployment and which still have work",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return a.deploymentShow(c.Context(), args[0]) },
	}
	var empty bool
	promote := &cobra.Command{
		Use:   "promote NAME BUILD",
		Short: "Start new experiments on this build",
		Long: `Starts new experiments on this build. Running experiments stay on theirs: keep its
workers up until starter deployment show reports it drained.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.deploymentPromote(c.Context(), args[0], args[1], empty)
		},
	}
	promote.Flags().BoolVar(&empty, "without-workers", false, "promote a build that no worker serves")
	c.AddCommand(show, promote)
	return c
}

// deployed is one build of a deployment.
type deployed struct {
	Build   string `json:"build"`
	Current bool   `json:"current"` // new experiments start on it
	State   string `json:"state"`   // current, draining, drained, or unused
	Created string `json:"created"`
}

func (a *app) deploymentShow(ctx context.Context, name string) error {
	builds, err := a.builds(ctx, name)
	if err != nil {
		return err
	}
	return a.emit(builds, func(w io.Writer) error {
		var lines [][]string
		for _, b := range builds {
			lines = append(lines, []string{b.Build, b.State, local(b.Created)})
		}
		return rows(w, []string{"BUILD", "STATE", "CREATED"}, lines)
	})
}

func (a *app) builds(ctx context.Context, name string) ([]deployed, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	d, err := c.WorkerDeploymentClient().GetHandle(name).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return nil, noDeployment(name)
	}
	if err != nil {
		return nil, err
	}
	current := ""
	if v := d.Info.RoutingConfig.CurrentVersion; v != nil {
		current = v.BuildID
	}
	all := []deployed{}
	for _, v := range d.Info.VersionSummaries {
		b := deployed{Build: v.Version.BuildID, Current: v.Version.BuildID == current, Created: utc(v.CreateTime), State: "unused"}
		switch {
		case b.Current:
			b.State = "current"
		case v.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDraining:
			b.State = "draining"
		case v.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained:
			b.State = "drained"
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(x, y deployed) int { return strings.Compare(y.Created, x.Created) })
	return all, nil
}

// takesExperiments fails for a build whose workers have only begun to register: a new
// experiment would be begun by whoever else is there.
func (a *app) takesExperiments(ctx context.Context, name, id string) error {
	d, err := a.temporal.WorkerDeploymentClient().GetHandle(name).DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: id})
	if err != nil {
		return fmt.Errorf("look at build %s of %s: %w", id, name, err)
	}
	takes := func(q client.WorkerDeploymentTaskQueueInfo) bool {
		return q.Name == workflows.QueueWork && q.Type == client.TaskQueueTypeWorkflow
	}
	if !slices.ContainsFunc(d.Info.TaskQueuesInfos, takes) {
		return fail(exitFailed, "build %s of %s takes no experiments yet; start a worker of it, or wait until it is ready", id, name)
	}
	return nil
}

func noDeployment(name string) error {
	return fail(exitNotFound, "deployment %s not found; start a worker with --deployment %s", name, name)
}

func (a *app) deploymentPromote(ctx context.Context, name, id string, empty bool) error {
	builds, err := a.builds(ctx, name)
	if err != nil {
		return err
	}
	known := []string{}
	for _, b := range builds {
		known = append(known, b.Build)
	}
	if !slices.Contains(known, id) && !empty {
		return fail(exitNotFound, "deployment %s has no build %s; it has %s", name, id, strings.Join(known, ", "))
	}
	if !empty {
		if err := a.takesExperiments(ctx, name, id); err != nil {
			return err
		}
	}
	_, err = a.temporal.WorkerDeploymentClient().GetHandle(name).SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{
		BuildID: id, AllowNoPollers: empty,
	})
	if err != nil {
		return fmt.Errorf("promote %s of %s: %w", id, name, err)
	}
	a.say("new experiments start on build %s; running experiments stay on theirs", id)
	return nil
}
