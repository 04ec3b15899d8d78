package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
)

func (a *app) planCmd() *cobra.Command {
	var sets []string
	var offline bool
	c := &cobra.Command{
		Use:   "plan FILE|NAME",
		Short: "Show the steps of an experiment and which are done",
		Long: `Shows the steps of an experiment file or of a started experiment, their keys, and
which are in the artifact store already, from any experiment: those will be reused.
The key of a step whose inputs do not exist yet is unknown and shown as open.`,
		Example:           "  starter plan examples/demo.yaml\n  starter plan examples/demo.yaml --set designer.kind=fixed\n  starter plan demo -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.plan(c.Context(), args[0], sets, offline)
			if err != nil {
				return err
			}
			return a.emit(versioned{"floe.plan/v1", p}, func(w io.Writer) error { return p.table(w) })
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a field of a file, such as `seed=7`; can be repeated")
	c.Flags().BoolVar(&offline, "offline", false, "do not ask the artifact store; plan a file as if nothing were done")
	return c
}

// planned is the plan of one experiment.
type planned struct {
	Name    string           `json:"name"`
	Steps   []planning.Step  `json:"steps"`
	Sharing planning.Sharing `json:"sharing"`
	// SavedSeconds is what the steps that are done took whoever did them.
	SavedSeconds float64 `json:"saved_seconds"`
	// Trainings is what trainings of a language model take that are not done yet;
	// null for the embedded policy.
	Trainings *trainings `json:"trainings"`
}

// plan plans a file, or an experiment by its name.
func (a *app) plan(ctx context.Context, what string, sets []string, offline bool) (planned, error) {
	var steps *artifact.Steps
	if !offline {
		var err error
		if steps, err = a.store(ctx); err != nil {
			return planned{}, err
		}
	}
	spec, given, err := a.planSource(ctx, what, sets, offline)
	if err != nil {
		return planned{}, err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return planned{}, err
	}
	p := planned{Name: spec.Name}
	if p.Steps, err = planning.New(steps).Plan(ctx, spec, e, given...); err != nil {
		return p, err
	}
	p.Sharing = planning.Share(p.Steps)
	y := newTally()
	y.add(spec, e, p.Steps)
	p.Trainings = y.sum()
	for _, s := range p.Steps {
		p.SavedSeconds += s.Seconds
	}
	return p, nil
}

// planSource is a file where there is one, else an experiment.
func (a *app) planSource(ctx context.Context, what string, sets []string, offline bool) (experiment.Spec, []planning.Round, error) {
	_, err := os.Stat(what)
	if offline || len(sets) > 0 || !errors.Is(err, os.ErrNotExist) {
		spec, err := loadSpec(what, sets)
		if err == nil {
			a.sayIdle(what, sets, spec)
		}
		return spec, nil, err
	}
	spec, err := a.storedSpec(ctx, what)
	if err != nil {
		return experiment.Spec{}, nil, err
	}
	if spec == nil {
		return experiment.Spec{}, nil, fail(exitNotFound, "%s is neither a file nor an experiment; see `starter list`", what)
	}
	k, err := a.keptOf(ctx, what)
	if err != nil || k.fork == nil {
		return *spec, nil, err
	}
	return *spec, activities.Rounds(k.fork.Refs), nil
}

func (p planned) table(w io.Writer) error {
	var lines [][]string
	open := 0
	for _, s := range p.Steps {
		key, state := s.ID.Key[:12], "to do"
		if s.Open {
			key, open = "open", open+1
		}
		if s.Done {
			state = fmt.Sprintf("done, in %.1f s", s.Seconds)
		}
		lines = append(lines, []string{s.Path, s.ID.Kind, key, state})
	}
	if err := rows(w, []string{"STEP", "KIND", "KEY", "STATE"}, lines); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d steps: %d done already, which saves %.1f s; %d to do, of which %d wait for what they work on\n",
		p.Sharing.Steps, p.Sharing.Steps-p.Sharing.Todo, p.SavedSeconds, p.Sharing.Todo, open)
	if err != nil || p.Trainings == nil {
		return err
	}
	return p.Trainings.lines(w)
}
