package main

import (
	"fmt"
	"io"
	"strings"

	"floe/internal/designer/replay"
)

// replayTable shows a replay side by side.
func replayTable(w io.Writer, r replay.Result) error {
	fmt.Fprintf(w, "%s, evidence of round %d, %s of each\n\n", r.Experiment, r.Round, plural(r.N, "answer"))
	for _, part := range []func(io.Writer, replay.Result) error{replayCellRows, replayAnswers, replaySettings, replayAgreement} {
		if err := part(w, r); err != nil {
			return err
		}
	}
	return nil
}

// replayCellRows has a row for each way to design.
func replayCellRows(w io.Writer, r replay.Result) error {
	var lines [][]string
	for _, c := range r.Cells {
		lines = append(lines, []string{
			c.Name, fmt.Sprintf("%d of %d", c.Usable, len(c.Draws)), fmt.Sprint(c.Distinct), spread(c.Changed, c.Usable),
			spread(c.FromLast, c.Usable), spread(c.FromFirst, c.Usable), spread(c.Frontier, c.Usable), known(c.NoiseFloor, c.Usable > 1),
			fmt.Sprint(c.Tokens), fmt.Sprintf("%.4g", c.Cost),
		})
	}
	err := rows(w, []string{"CONTEXT, DESIGNER", "USABLE", "DISTINCT", "SIZES CHANGED", "FROM LAST", "FROM FIRST", "FRONTIER", "NOISE FLOOR", "TOKENS", "COST"}, lines)
	fmt.Fprint(w, "\nmean ± standard deviation over usable answers; distances are L1, a setting's range being 1;\n"+
		"noise floor: mean distance of a designer's proposals to each other\n")
	return err
}

// replayAnswers shows which answers are the same proposal, and how replies were read.
func replayAnswers(w io.Writer, r replay.Result) error {
	var lines [][]string
	for _, c := range r.Cells {
		var letters []string
		for _, d := range c.Draws {
			letter := d.Proposal
			if letter == "" {
				letter = "-"
			}
			letters = append(letters, letter)
		}
		var classes []string
		for _, k := range c.Classes {
			classes = append(classes, fmt.Sprintf("%s %d", k.Class, k.Count))
		}
		lines = append(lines, []string{c.Name, strings.Join(letters, " "), strings.Join(classes, ", ")})
	}
	fmt.Fprintln(w)
	return rows(w, []string{"CONTEXT, DESIGNER", "PROPOSALS (equal ones have equal letters, - is none)", "REPLIES"}, lines)
}

// replaySettings has a row for each setting of each size.
func replaySettings(w io.Writer, r replay.Result) error {
	head := []string{"SIZE", "SETTING", "NOW"}
	for _, c := range r.Cells {
		head = append(head, c.Name)
	}
	var lines [][]string
	for i, s := range r.Cells[0].Settings {
		line := []string{s.Size, s.Field, fmt.Sprintf("%.3f", s.Now)}
		for _, c := range r.Cells {
			line = append(line, spread(c.Settings[i].Moments, c.Usable))
		}
		lines = append(lines, line)
	}
	fmt.Fprintln(w)
	return rows(w, head, lines)
}

// replayAgreement compares all pairs.
func replayAgreement(w io.Writer, r replay.Result) error {
	if len(r.Agreement) == 0 {
		return nil
	}
	var lines [][]string
	for _, p := range r.Agreement {
		chance := "-"
		if p.P != nil {
			chance = fmt.Sprintf("%.3f", *p.P)
		}
		lines = append(lines, []string{p.A, p.B, fmt.Sprintf("%.3f", p.Distance), fmt.Sprintf("%.3f", p.Floor), chance, p.Verdict})
	}
	fmt.Fprintln(w)
	err := rows(w, []string{"PROPOSALS OF", "AND OF", "DISTANCE", "FLOOR", "P", "AGREEMENT"}, lines)
	fmt.Fprint(w, "\nP: permutation test on the energy distance, not adjusted for the number of pairs\n")
	return err
}

func spread(m replay.Moments, n int) string {
	switch n {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.3f", m.Mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", m.Mean, m.SD)
}

func known(v float64, is bool) string {
	if !is {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
