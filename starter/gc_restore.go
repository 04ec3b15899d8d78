package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (a *app) gcRestoreCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "restore [MOMENT]",
		Short: "Bring back what a gc put into quarantine",
		Long: `Brings back what one gc put into quarantine; without MOMENT, lists the moments of
which the quarantine holds something. What has been written anew since then stays
as it is, and the swept object stays in quarantine.

A step that no experiment refers to is swept again by the next gc --unreferenced.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.gcMoments(c.Context())
			}
			return a.gcRestore(c.Context(), args[0])
		},
	}
}

func (a *app) gcMoments(ctx context.Context) error {
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	moments, err := steps.Moments(ctx)
	if err != nil {
		return err
	}
	return a.emit(append([]string{}, moments...), func(w io.Writer) error {
		for _, m := range moments {
			fmt.Fprintln(w, m)
		}
		return nil
	})
}

func (a *app) gcRestore(ctx context.Context, moment string) error {
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	back, err := steps.Restore(ctx, moment)
	if err != nil {
		return err
	}
	return a.emit(back, func(w io.Writer) error {
		for _, key := range back.Taken {
			fmt.Fprintf(w, "left in quarantine, as it has been written anew: %s\n", key)
		}
		_, err := fmt.Fprintf(w, "restored %d objects, %d bytes\n", back.Objects, back.Bytes)
		return err
	})
}
