package main

import (
	"strings"

	"github.com/spf13/cobra"

	"floe/workflows"
)

func (a *app) designRejectCmd() *cobra.Command {
	var who byFlag
	var reason string
	c := &cobra.Command{
		Use:               "reject NAME",
		Short:             "Reject the pending proposal and keep the last curriculum",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return fail(exitUsage, "--reason is missing; want why the last curriculum stays: the next round's designer may be told")
			}
			by, err := who.name()
			if err != nil {
				return err
			}
			w, err := a.mustWait(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.decide(c.Context(), args[0], w.Round, workflows.UpdateReject, workflows.Rejection{By: by, Reason: reason})
		},
	}
	who.register(c)
	c.Flags().StringVar(&reason, "reason", "", "`TEXT`: why")
	return c
}
