package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/textfile"
	"floe/workflows"
)

func (a *app) sweepCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Run arms x seeds, each cell once",
		Long: `A sweep file declares what its experiments share, how the arms differ, and the seeds.
Every cell runs exactly once, even across crashes; cells share the steps they have
in common.`,
		Example: `  starter sweep plan examples/sweep-demo.yaml
  starter sweep start examples/sweep-demo.yaml --dev
  starter sweep compare sweep-demo`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.sweepPlanCmd(), a.sweepStartCmd(), a.sweepShowCmd(), a.sweepWatchCmd(), a.sweepCompareCmd(), a.sweepRetryCmd())
	for _, s := range steerings {
		c.AddCommand(a.sweepSteerCmd(s))
	}
	return c
}

// loadSweep reads a sweep file strictly. Its base file is looked for beside it.
func loadSweep(file string) (experiment.Sweep, error) {
	src, err := readText(file)
	if err != nil {
		return experiment.Sweep{}, err
	}
	if kindOf(src) == experimentFile {
		return experiment.Sweep{}, fail(exitUsage, "%s is an experiment file; use: starter run %s", file, quoted(file))
	}
	return config.LoadSweep(file, src, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return textfile.ReadFile(name, longestText)
	}, all.Open)
}

// sweepNames completes the names of sweeps.
func (a *app) sweepNames(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := a.sweeps(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sweeps are the names of the sweeps that have plans, in order.
func (a *app) sweeps(ctx context.Context) ([]string, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := steps.Store.List(ctx, "sweeps/")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range listed {
		name, _, _ := strings.Cut(strings.TrimPrefix(o.Key, "sweeps/"), "/")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names, nil
}

// final says whether a sweep in this state has ended.
func final(state string) bool {
	return state == workflows.StateDone || state == workflows.StateStopped || state == workflows.StateCancelled
}
