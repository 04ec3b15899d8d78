package main

import "github.com/spf13/cobra"

func (a *app) watchCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow an experiment live until it ends",
		Long: `Follows an experiment until it ends or needs attention; in that case it prints the
cause and exits with code 1. Ctrl-C stops following, not the experiment.`,
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
