package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"floe/internal/artifact/s3"
	"floe/internal/connect"
	"floe/internal/outage"
)

func (a *app) checkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Check what floe relies on",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "store",
		Short: "Check that the artifact store behaves as floe requires",
		Long: `Checks every rule that floe requires of the artifact store, one line each, and shows
how to fix those that fail. It writes about 50 MiB under checks/ and deletes it
afterwards. Workers run the same check on first use of a store.

A failed rule marked "minor" costs convenience, never results; the exit code stays 0.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.checkStore(c.Context()) },
	})
	return c
}

func (a *app) checkStore(ctx context.Context) error {
	settings, err := connect.Resolve(a.flags)
	if err != nil {
		return err
	}
	store, err := s3.Open(ctx, settings.S3)
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	tell := func(f s3.Finding) {
		if a.output == "table" {
			tellFinding(a.out, f)
		}
	}
	findings := store.Prove(ctx, tell)
	if err := a.emit(findings, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	return storeVerdict(findings)
}

func tellFinding(w io.Writer, f s3.Finding) {
	switch {
	case f.Untried:
		fmt.Fprintf(w, "not tried  %s\n", f.Rule)
	case f.OK:
		fmt.Fprintf(w, "ok         %s\n", f.Rule)
	default:
		outcome := "FAILED"
		if f.Minor {
			outcome = "minor"
		}
		fmt.Fprintf(w, "%-9s  %s\n           why:  %s\n           help: %s\n", outcome, f.Rule, f.Why, f.Help)
	}
}

// storeVerdict ends the program by what was found.
func storeVerdict(findings []s3.Finding) error {
	failed, code := 0, exitFailed
	for _, f := range findings {
		if f.OK || f.Minor || f.Untried {
			continue
		}
		failed++
		if _, away := outage.As(f.Err); away {
			code = exitUnreachable
		}
	}
	if failed == 0 {
		return nil
	}
	return fail(code, "%d of %d rules failed", failed, len(findings))
}
