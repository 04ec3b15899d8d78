package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
	"floe/internal/sweep"
	"floe/internal/version"
)

// plan is what a spec will make floe do.
type plan struct {
	Name       string `json:"name"`
	Rounds     int    `json:"rounds"`
	Samples    int    `json:"samples"`     // training samples in all
	Rollouts   int64  `json:"rollouts"`    // answers sampled in training
	Jobs       int    `json:"jobs"`        // trainings, the embedded policy's warm start included
	Scored     int    `json:"scored"`      // answers scored outside training
	ModelCalls int    `json:"model_calls"` // at most
	// Seconds is estimated on two cores; where a language model is trained, without
	// training it and without asking it.
	Seconds float64 `json:"seconds"`
	// Trainings says where a language model is trained and what that takes; null for
	// the embedded policy.
	Trainings *trainings `json:"trainings"`
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
		Short:             "Check an experiment file and show what it will run",
		Example:           "  starter validate examples/demo.yaml\n  starter validate examples/demo.yaml --effective",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			spec, err := loadSpec(args[0], sets)
			if err != nil {
				return err
			}
			a.sayIdle(args[0], sets, spec)
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
			if p.Trainings, err = trainingsOf(c.Context(), spec); err != nil {
				return err
			}
			return a.emit(versioned{"floe.validate/v1", p}, func(w io.Writer) error { return planTable(w, spec, p) })
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
	need := sweep.NeedOf(s)
	p := plan{
		Name: s.Name, Rounds: s.Rounds, Samples: samples, Jobs: need.Jobs, ModelCalls: need.Calls,
		Rollouts: int64(samples) * int64(s.Epochs) * int64(s.Trainer.Rollouts),
		Scored:   (s.Rounds+1)*validation + 2*benchmark,
	}
	steps := 4*(s.Rounds+1) + 3*len(s.Benchmarks.Agents)
	p.Seconds = float64(samples+validation)*secondsPerSample + float64(benchmark)*secondsPerHeldOut + float64(steps)*secondsPerStep
	if s.Trainer.TrainsModel() {
		p.Rollouts = int64(s.Rounds*optimizerSteps(s)) * int64(s.Trainer.Batch) * int64(s.Trainer.Rollouts)
	} else {
		p.Seconds += float64(p.Rollouts)*secondsPerRollout + float64(p.Scored)*secondsPerScore
	}
	return p, nil
}

// trainingsOf is what a spec takes if nothing of it is done.
func trainingsOf(ctx context.Context, s experiment.Spec) (*trainings, error) {
	if !s.Trainer.TrainsModel() {
		return nil, nil //nolint:nilnil // nil is what the embedded policy has
	}
	e, err := all.Open(s.Environment)
	if err != nil {
		return nil, err
	}
	steps, err := planning.New(nil).Plan(ctx, s, e)
	if err != nil {
		return nil, err
	}
	y := newTally()
	y.add(s, e, steps)
	return y.sum(), nil
}

func planTable(w io.Writer, s experiment.Spec, p plan) error {
	lines := [][]string{
		{"experiment", p.Name},
		{"environment", s.Environment},
		{"rounds", fmt.Sprint(p.Rounds)},
	}
	estimate := "%.0f s on two cores"
	if s.Trainer.TrainsModel() {
		lines = append(lines, trainingRows(s, p)...)
		estimate += ", beside training and asking"
	} else {
		lines = append(lines, []string{"training", fmt.Sprintf("%d jobs, %d samples, %d rollouts", p.Jobs, p.Samples, p.Rollouts)},
			[]string{"scored answers", fmt.Sprintf("%d", p.Scored)})
	}
	return rows(w, []string{"FIELD", "VALUE"}, append(lines,
		[]string{"designer", designerText(s.Designer)},
		[]string{"model calls", fmt.Sprintf("at most %d", p.ModelCalls)},
		[]string{"estimated time", fmt.Sprintf(estimate, p.Seconds)}))
}

// designerText is who designs, with what it is shown if it is shown anything.
func designerText(d experiment.DesignerSpec) string {
	if !config.ReadsContext(d.Kind) {
		return d.Kind
	}
	return d.Kind + ", context " + d.Context
}

// trainingRows say what is trained, where, and what it takes.
func trainingRows(s experiment.Spec, p plan) [][]string {
	model := s.Trainer.Model.URI
	if s.Trainer.Model.Revision != "" {
		model += " at " + s.Trainer.Model.Revision
	}
	hours := "not known; job.hours (what one job takes) would tell"
	if p.Trainings.GPUHours != nil {
		w := wayOf(s)
		hours = fmt.Sprintf("%.4g: %d jobs x %.4g hours x %s", *p.Trainings.GPUHours, p.Jobs, w.JobHours, plural(w.GPUs, "GPU"))
	}
	return [][]string{
		{"model", model},
		{"training", fmt.Sprintf("%d jobs of %d steps by %s, tuning %s, on %d samples", p.Jobs, optimizerSteps(s), s.Trainer.Kind, s.Trainer.Recipe.Tuning, p.Samples)},
		{"where", site{way: wayOf(s)}.String()},
		{"GPU-hours", hours},
		{"answers", fmt.Sprintf("%d sampled in training, %d asked of the served model (%s)", p.Rollouts, p.Trainings.Asked, s.Serve.Kind)},
	}
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
	c.Flags().BoolVar(&sweeps, "sweep", false, "of sweep files: save it beside experiment.schema.json, to which it refers")
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
