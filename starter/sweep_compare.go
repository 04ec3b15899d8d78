package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"floe/internal/analysis"
	"floe/internal/experiment"
)

type compareFlags struct{ baseline, csv, json string }

func (a *app) sweepCompareCmd() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare NAME",
		Short: "Compare a sweep's arms: rates with n and intervals, differences to a baseline",
		Long: `Shows, for each set, arms by metrics. Rates are pooled over seeds, with Wilson 95 %
intervals over instances; the spread between seeds stands beside them. Differences
to the baseline are on the same instances of the same seeds: Newcombe's paired 95 %
interval, and McNemar's exact p, adjusted for the number of arms (Holm). Cells
without a result are listed as holes.`,
		Example:           "  starter sweep compare ablation-demo\n  starter sweep compare ablation-demo --baseline v3-learnability --csv ablation.csv",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.sweepNames,
		RunE: func(c *cobra.Command, args []string) error {
			v, err := a.compareSweep(c.Context(), args[0], f.baseline)
			if err != nil {
				return err
			}
			if err := f.write(v); err != nil {
				return err
			}
			return a.emit(versioned{"floe.sweep-compare/v1", v}, v.table)
		},
	}
	c.Flags().StringVar(&f.baseline, "baseline", "", "`ARM` to compare with (default the file's)")
	c.Flags().StringVar(&f.csv, "csv", "", "also write all figures to this CSV `FILE`")
	c.Flags().StringVar(&f.json, "json", "", "also write all figures to this JSON `FILE`")
	return c
}

func (f compareFlags) write(v comparison) error {
	if f.csv != "" {
		var b bytes.Buffer
		if err := v.writeCSV(&b); err != nil {
			return err
		}
		if err := writeFile(f.csv, b.Bytes()); err != nil {
			return err
		}
	}
	if f.json == "" {
		return nil
	}
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(f.json, append(body, '\n'))
}

var csvHead = []string{
	"set", "arm", "metric", "cells", "cells_wanted", "n", "k", "rate", "low", "high", "seed_mean", "seed_sd", "seed_min", "seed_max",
	"baseline", "pairs", "arm_only", "baseline_only", "difference", "diff_low", "diff_high", "p", "p_holm",
	"diff_seed_mean", "diff_seed_sd", "seeds_better", "seeds_worse",
}

// writeCSV has one line for each set, arm and metric. What is not known is empty.
func (v comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for _, set := range v.Sets {
		for _, r := range set.Rows {
			if err := out.Write(csvLine(set.Set, r)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func csvLine(set string, r analysis.Row) []string {
	line := []string{set, r.Arm, r.Metric, strconv.Itoa(r.Cells), strconv.Itoa(r.Wanted), strconv.Itoa(r.N), strconv.Itoa(r.K)}
	if r.N == 0 {
		line = append(line, "", "", "", "", "", "", "")
	} else {
		line = append(line, number(r.Rate), number(r.Low), number(r.High), number(r.Seeds.Mean), maybe(r.Seeds.SD), number(r.Seeds.Min), number(r.Seeds.Max))
	}
	d := r.Versus
	if d == nil {
		return append(line, make([]string, len(csvHead)-len(line))...)
	}
	return append(line, d.Baseline, strconv.Itoa(d.Pairs.N()), strconv.Itoa(d.Pairs.First), strconv.Itoa(d.Pairs.Second),
		number(d.Difference), number(d.Low), number(d.High), number(d.P), number(d.PHolm),
		number(d.Seeds.Mean), maybe(d.Seeds.SD), strconv.Itoa(d.Better), strconv.Itoa(d.Worse))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

func maybe(x *float64) string {
	if x == nil {
		return ""
	}
	return number(*x)
}

// table is for people: a table for each set and metric.
func (v comparison) table(w io.Writer) error {
	for _, set := range v.Sets {
		for _, metric := range analysis.Metrics {
			fmt.Fprintf(w, "%s, %s\n", set.Set, metric)
			var lines [][]string
			for _, r := range set.Rows {
				if r.Metric == metric {
					lines = append(lines, compareLine(r, v.Baseline))
				}
			}
			head := []string{"ARM", "CELLS", "N", "RATE", "95 % INTERVAL", "SEEDS", "DIFFERENCE", "95 % INTERVAL", "P (HOLM)"}
			if err := rows(w, head, lines); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	if len(v.Sets) == 0 {
		fmt.Fprintln(w, "no cell is complete yet")
	}
	for i, h := range v.Holes {
		if i == failuresShown {
			fmt.Fprintf(w, "and %d more holes; -o json lists them all\n", len(v.Holes)-i)
			break
		}
		fmt.Fprintf(w, "hole: %s: %s\n", h.Cell, h.Why)
	}
	return nil
}

func compareLine(r analysis.Row, baseline string) []string {
	line := []string{r.Arm, fmt.Sprintf("%d/%d", r.Cells, r.Wanted), strconv.Itoa(r.N), "-", "-", "-"}
	if r.N > 0 {
		line[3] = experiment.Percent(r.Rate)
		line[4] = experiment.Tenths(r.Low) + " to " + experiment.Tenths(r.High)
		line[5] = seedsText(r.Seeds)
	}
	switch d := r.Versus; {
	case d != nil:
		line = append(line, experiment.Points(d.Difference), experiment.Points(d.Low)+" to "+experiment.Points(d.High), pText(d.PHolm))
	case r.Arm == baseline:
		line = append(line, "baseline", "", "")
	default:
		line = append(line, "-", "", "")
	}
	return line
}

// seedsText is how far seeds lie apart; a single one has no spread.
func seedsText(s analysis.Spread) string {
	if s.SD == nil {
		return "one"
	}
	return fmt.Sprintf("%s to %s, sd %s", experiment.Tenths(s.Min), experiment.Tenths(s.Max), experiment.Tenths(*s.SD))
}

func pText(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
