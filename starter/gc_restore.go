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
		Short: "Restore objects that gc quarantined",
		Long: `Restores everything that one gc run quarantined; without MOMENT, lists the runs that
still have objects in quarantine. An object that has been rewritten since is left
alone, and its old copy stays in quarantine.

The next gc --unreferenced removes a step again if no experiment refers to it.`,
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
			fmt.Fprintf(w, "left in quarantine, because it has been rewritten: %s\n", key)
		}
		_, err := fmt.Fprintf(w, "restored %d objects, %d bytes\n", back.Objects, back.Bytes)
		return err
	})
}
