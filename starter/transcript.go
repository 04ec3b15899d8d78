package main

import (
	"io"

	"github.com/spf13/cobra"

	"floe/internal/report"
)

func (a *app) transcriptCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "transcript",
		Short: "Show designer prompts, replies and parsing",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.transcriptShowCmd())
	return c
}

func (a *app) transcriptShowCmd() *cobra.Command {
	var round roundFlag
	var part report.Part
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one design in full: evidence, prompt, replies, parsing and result",
		Long: `Shows one design in full: the sections in the designer's context, the prompt, every
reply and how it was parsed, the proposed curriculum and the one in use, tokens,
cost, time and model. -o json prints the stored transcript, with requests and
responses byte for byte.`,
		Example:           "  starter transcript show demo --round 1\n  starter transcript show demo --round 1 --attempt 2 --raw",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.design(c.Context(), args[0], round)
			if err != nil {
				return err
			}
			return a.transcript(d, part, c.Flags().Changed("attempt"))
		},
	}
	round.register(c)
	c.Flags().IntVar(&part.Attempt, "attempt", 0, "only the model call of this `NUMBER`, from 1")
	c.Flags().BoolVar(&part.Raw, "raw", false, "requests and responses too, as they went over the wire")
	return c
}

func (a *app) transcript(d design, part report.Part, one bool) error {
	calls := d.Transcript.Attempts
	switch {
	case !one:
	case len(calls) == 0:
		return fail(exitNotFound, "the design after round %d asked no model: the designer is %s", d.Round, d.Transcript.Designer)
	case part.Attempt < 1 || part.Attempt > len(calls):
		return fail(exitNotFound, "the design after round %d has no call %d; it has calls 1 to %d", d.Round, part.Attempt, len(calls))
	}
	var data any = d.Transcript
	if one {
		data = calls[part.Attempt-1]
	}
	return a.emitStyled(data, func(w io.Writer) error {
		return report.Transcript(w, a.designText(d), part, report.Options{Width: width(a.out, textWidth), Color: a.color(a.out)})
	})
}
