package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/version"
)

// plan is what a spec will make floe do.
type plan struct {
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"`
	Samples    int     `json:"samples"`     // training samples in all
	Rollouts   int64   `json:"rollouts"`    // answers sampled in training
	Jobs       int     `json:"jobs"`        // trainings, the warm start included
	Scored     int     `json:"scored"`      // answers scored outside training
	ModelCalls int     `json:"model_calls"` // at most
	Seconds    float64 `json:"seconds"`     // estimated on two cores
}

// Figures behind the estimate, measured with the embedded trainer on two cores;
// docs/performance.md has the command.
const (
	secondsPerRollout = 1.0 / 30000
	secondsPerScore   = 1.0 / 20000
	secondsPerSample  = 1.0 / 10000 // two agents
	secondsPerHeldOut = 1.0 / 100   // up to five agents: proving what is optimal dominates
	secondsPerStep    = 0.15
)

func (a *app) validateCmd() *cobra.Command {
	var sets []string
	var effective bool
	c := &cobra.Command{
		Use:               "validate SPEC",
		Short:             "Check an experiment file and say what it will run",
		Example:           "  starter validate examples/demo.yaml\n  starter validate examples/demo.yaml --effective",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := loadSpec(args[0], sets)
			if err != nil {
				return err
			}
			if effective {
				body, err := config.Marshal(spec)
				if err != nil {
					return err
				}
				_, err = a.out.Write(body)
				return err
			}
			p, err := planOf(spec)
			if err != nil {
				return err
			}
			return a.emit(p, func(w io.Writer) error { return planTable(w, spec, p) })
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a field, such as `trainer.rollouts=16`; can be repeated")
	c.Flags().BoolVar(&effective, "effective", false, "print the file with all defaults filled in")
	return c
}

func planOf(s experiment.Spec) (plan, error) {
	e, err := all.Open(s.Environment)
	if err != nil {
		return plan{}, err
	}
	benchmark := 0
	for _, agents := range s.Benchmarks.Agents {
		for _, o := range e.Benchmark(agents, s.Benchmarks.Instances, s.Objective) {
			benchmark += o.Samples
		}
	}
	samples := s.Rounds * s.Samples
	validation := s.Validation.Instances * len(s.Validation.Sizes)
	p := plan{
		Name: s.Name, Rounds: s.Rounds, Samples: samples, Jobs: s.Rounds + 1,
		Rollouts: int64(samples) * int64(s.Epochs) * int64(s.Trainer.Rollouts),
		Scored:   (s.Rounds+1)*validation + 2*benchmark,
	}
	if s.Designer.Kind == "openai" {
		p.ModelCalls = min(s.Rounds*(1+s.Designer.Repairs), s.Limits.ModelCalls)
	}
	steps := 4*(s.Rounds+1) + 3*len(s.Benchmarks.Agents)
	p.Seconds = float64(p.Rollouts)*secondsPerRollout + float64(p.Scored)*secondsPerScore +
		float64(samples+validation)*secondsPerSample + float64(benchmark)*secondsPerHeldOut + float64(steps)*secondsPerStep
	return p, nil
}

func planTable(w io.Writer, s experiment.Spec, p plan) error {
	return rows(w, []string{"FIELD", "VALUE"}, [][]string{
		{"experiment", p.Name},
		{"environment", s.Environment},
		{"rounds", fmt.Sprint(p.Rounds)},
		{"training", fmt.Sprintf("%d jobs, %d samples, %d rollouts", p.Jobs, p.Samples, p.Rollouts)},
		{"scored answers", fmt.Sprintf("%d", p.Scored)},
		{"designer", s.Designer.Kind + ", context " + s.Designer.Context},
		{"model calls", fmt.Sprintf("at most %d", p.ModelCalls)},
		{"estimated time", fmt.Sprintf("%.0f s on two cores", p.Seconds)},
	})
}

func (a *app) schemaCmd() *cobra.Command {
	var sweeps bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, or of sweep files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var envs []env.Environment
			for _, name := range all.Names() {
				e, err := all.Open(name)
				if err != nil {
					return err
				}
				envs = append(envs, e)
			}
			write := config.Schema
			if sweeps {
				write = config.SweepSchema
			}
			body, err := write(envs)
			if err != nil {
				return err
			}
			_, err = a.out.Write(body)
			return err
		},
	}
	c.Flags().BoolVar(&sweeps, "sweep", false, "of sweep files")
	return c
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Get()
			return a.emit(v, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, v)
				return err
			})
		},
	}
}
