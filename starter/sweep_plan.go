package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
	"floe/internal/sweep"
)

// sweepPlan is what a sweep will run, and what it saves.
type sweepPlan struct {
	Name    string           `json:"name"`
	Cells   []plannedCell    `json:"cells"`
	Sharing planning.Sharing `json:"sharing"`
	Most    sweep.Need       `json:"most"` // used at most: nothing shared, every repair needed
	Cost    float64          `json:"cost"` // of that, by the prices of the limits
	Exceeds string           `json:"exceeds,omitempty"`
	// Seconds are estimated on two cores, one cell after the other, with sharing;
	// without training language models and without asking them.
	Seconds float64 `json:"seconds"`
	// Trainings is what trainings of language models take, each once; null where all
	// cells train the embedded policy.
	Trainings *trainings             `json:"trainings"`
	Limits    experiment.SweepLimits `json:"limits"`
}

type plannedCell struct {
	Name     string               `json:"name"`
	Arm      string               `json:"arm"`
	Seed     int64                `json:"seed"`
	Settings []experiment.Setting `json:"settings"`
	Steps    int                  `json:"steps"`
	New      int                  `json:"new"` // steps that no cell before it has, and that are not done
}

func (a *app) sweepPlanCmd() *cobra.Command {
	var done bool
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show a sweep's cells, shared steps and maximum cost",
		Long: `Reads a sweep file and shows its cells, how many steps they share, and upper bounds
on trainings, model calls and cost. Cells may share more than shown, if two designers
propose the same curriculum, but never less.`,
		Example:           "  starter sweep plan examples/ablation-demo.yaml\n  starter sweep plan examples/ablation-demo.yaml --done",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSweep(args[0])
			if err != nil {
				return err
			}
			if err := checkDeadline(args[0]); err != nil {
				return err
			}
			p, err := a.planSweep(c.Context(), s, done)
			if err != nil {
				return err
			}
			return a.emit(p, func(w io.Writer) error { return p.table(w) })
		},
	}
	c.Flags().BoolVar(&done, "done", false, "check the artifact store for completed steps")
	return c
}

func (a *app) planSweep(ctx context.Context, s experiment.Sweep, done bool) (sweepPlan, error) {
	planner := planning.New(nil)
	if done {
		steps, err := a.store(ctx)
		if err != nil {
			return sweepPlan{}, err
		}
		planner = planning.New(steps)
	}
	p := sweepPlan{Name: s.Name, Limits: s.Limits}
	var plans [][]planning.Step
	seen := map[experiment.StepID]bool{}
	y := newTally()
	for _, c := range s.Cells() {
		spec := s.SpecOf(c)
		e, err := all.Open(spec.Environment)
		if err != nil {
			return p, err
		}
		steps, err := planner.Plan(ctx, spec, e)
		if err != nil {
			return p, err
		}
		cell := plannedCell{Name: spec.Name, Arm: s.Arms[c.Arm].Name, Seed: c.Seed, Settings: s.Arms[c.Arm].Settings, Steps: len(steps)}
		for _, step := range steps {
			if !seen[step.ID] && !step.Done {
				cell.New++
			}
			seen[step.ID] = true
		}
		y.add(spec, e, steps)
		alone, err := planOf(spec)
		if err != nil {
			return p, err
		}
		p.Seconds += alone.Seconds * float64(cell.New) / float64(max(1, len(steps)))
		p.Most = p.Most.Plus(sweep.NeedOf(spec))
		p.Cells = append(p.Cells, cell)
		plans = append(plans, steps)
	}
	p.Trainings = y.sum()
	p.Sharing, p.Cost, p.Exceeds = planning.Share(plans...), p.Most.Cost(s.Limits), sweep.Exceeds(s.Limits, p.Most)
	return p, nil
}

// cellsShown bounds the cells that a plan lists for people; -o json has all.
const cellsShown = 60

func (p sweepPlan) table(w io.Writer) error {
	var lines [][]string
	for _, c := range p.Cells[:min(len(p.Cells), cellsShown)] {
		lines = append(lines, []string{c.Name, fmt.Sprint(c.Seed), fmt.Sprint(c.Steps), fmt.Sprint(c.New), settingsText(c.Settings)})
	}
	if err := rows(w, []string{"CELL", "SEED", "STEPS", "NEW", "DIFFERS IN"}, lines); err != nil {
		return err
	}
	if more := len(p.Cells) - cellsShown; more > 0 {
		fmt.Fprintf(w, "and %d more; -o json lists them all\n", more)
	}
	fmt.Fprintln(w)
	lines = nil
	for _, k := range p.Sharing.Kinds {
		lines = append(lines, []string{k.Kind, fmt.Sprint(k.Steps), fmt.Sprint(k.Distinct), fmt.Sprint(k.Done), fmt.Sprint(k.Steps - k.Distinct + k.Done)})
	}
	s := p.Sharing
	lines = append(lines, []string{"all", fmt.Sprint(s.Steps), fmt.Sprint(s.Distinct), fmt.Sprint(s.Done), fmt.Sprint(s.Saved())})
	if err := rows(w, []string{"STEP", "WANTED", "DIFFERENT", "DONE", "SAVED"}, lines); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d cells, %d at a time; at most %d trainings and %d designer calls", len(p.Cells), p.Limits.Parallel, p.Most.Jobs, p.Most.Calls)
	if p.Cost > 0 {
		fmt.Fprintf(w, ", which cost at most %.2f", p.Cost)
	}
	fmt.Fprintln(w)
	beside := ""
	if p.Trainings != nil {
		beside = ", beside training and asking"
		if err := p.Trainings.lines(w); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "estimated work: %.0f s on two cores%s\n", p.Seconds, beside)
	if p.Exceeds != "" {
		fmt.Fprintf(w, "limits may end it early: %s at most\n", p.Exceeds)
	}
	return nil
}

func settingsText(settings []experiment.Setting) string {
	if len(settings) == 0 {
		return "nothing: the base"
	}
	parts := make([]string, len(settings))
	for i, s := range settings {
		parts[i] = s.Field + "=" + s.Value
	}
	return strings.Join(parts, " ")
}
