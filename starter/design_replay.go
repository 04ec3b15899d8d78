package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/curriculum"
	"floe/internal/designer"
	designers "floe/internal/designer/all"
	"floe/internal/designer/replay"
	"floe/internal/endpoint"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/orders"
)

// replayFlags are what a person can choose about a replay.
type replayFlags struct {
	round       int
	roundGiven  bool
	variants    []string
	designers   []string
	model       string
	temperature float64
	tempGiven   bool
	n           int
	concurrency int
	maxTokens   int64
	maxCost     float64
	endpoints   string
	folder      string
}

func (a *app) designReplayCmd() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay NAME",
		Short: "Call designers again on a finished round's evidence and compare",
		Long: `Rebuilds the evidence of a finished round from artifacts and calls every context and
designer on it --n times. It trains nothing. The result compares the mean and spread
of every setting, a designer's distance to itself (its noise floor), how broadly it
edits, and which proposals agree.

Every answer is stored as an artifact: the same command resumes an interrupted
replay, and a larger --n reuses the answers so far. The result is a document of the
experiment, from which figures can be rebuilt.

At temperature 0 a model mostly repeats itself, and the spread is the server's.
Designers: fixed, random, uniform, linear, learnability, regret,
replay, and openai, openai:NAME (of the endpoints file) or openai:URL. Experiments
that train a language model add trained, the round's checkpoint, and base: they are
served as the experiment file says, from this machine's worker folder, by the
worker's server if it is running.`,
		Example: `  starter design replay demo --round 1 --variant V1,V3,V6 --designer learnability,random
  starter design replay paper --round 1 --designer trained,base --temperature 0.7
  starter design replay demo --variant V3 --designer openai:lab --n 16 --temperature 0.7 --endpoints endpoints.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			f.roundGiven, f.tempGiven = c.Flags().Changed("round"), c.Flags().Changed("temperature")
			return a.designReplay(c.Context(), args[0], f)
		},
	}
	fs := c.Flags()
	fs.IntVar(&f.round, "round", 0, "`ROUND` whose evidence is shown, from 0 (default: the last that is finished)")
	fs.StringSliceVar(&f.variants, "variant", nil, "`CONTEXTS`, such as V1,V3,V6 (default: the experiment's)")
	fs.StringSliceVar(&f.designers, "designer", nil, "`DESIGNERS` (default: the experiment's)")
	fs.StringVar(&f.model, "model", "", "`MODEL` to ask (default: the experiment's, or the endpoint's)")
	fs.Float64Var(&f.temperature, "temperature", 0, "sampling temperature of models (default: the experiment's)")
	fs.IntVar(&f.n, "n", 8, "answers of each context and designer")
	fs.IntVar(&f.concurrency, "concurrency", 4, "answers at one time")
	fs.Int64Var(&f.maxTokens, "max-tokens", 1_000_000, "maximum tokens of the whole replay, stored answers included (0: no limit)")
	fs.Float64Var(&f.maxCost, "max-cost", 0, "maximum cost of the whole replay, by the endpoints file's prices (0: no limit)")
	fs.StringVar(&f.endpoints, "endpoints", "", "`FILE` that names endpoints ("+endpoint.EnvFile+")")
	fs.StringVar(&f.folder, "folder", "", "`DIR` of the worker, for designers trained and base (default: worker in --data)")
	return c
}

// check says everything that is wrong with the flags.
func (f replayFlags) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(f.round < 0, "--round is %d; want a round, from 0", f.round)
	bad(f.n < 1 || f.n > 10_000, "--n is %d; want 1 to 10000", f.n)
	bad(f.concurrency < 1 || f.concurrency > endpoint.MostConcurrent, "--concurrency is %d; want 1 to %d", f.concurrency, endpoint.MostConcurrent)
	bad(f.maxTokens < 0, "--max-tokens is %d; want 0 or more", f.maxTokens)
	bad(!(f.maxCost >= 0 && f.maxCost <= 1e9), "--max-cost is %g; want 0 to 1e9", f.maxCost)
	bad(!(f.temperature >= 0 && f.temperature <= 2), "--temperature is %g; want 0 to 2", f.temperature)
	if err := errors.Join(errs...); err != nil {
		return fail(exitUsage, "%w", err)
	}
	return nil
}

func (a *app) designReplay(ctx context.Context, name string, f replayFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	directory, err := endpoint.Load(f.endpoints)
	if err != nil {
		return err
	}
	own, err := a.ownModels(ctx, directory, f.folder)
	if err != nil {
		return err
	}
	defer own.close() //nolint:contextcheck // also after an interrupt
	plan, err := a.replayPlan(ctx, name, f, own)
	if err != nil {
		return err
	}
	return a.runReplay(ctx, replay.Runner{
		Plan: plan, Steps: *a.steps, Designer: own.maker(designers.With(directory)),
		Concurrency: f.concurrency, MaxTokens: f.maxTokens, MaxCost: f.maxCost,
	})
}

// replayPlan reads the evidence of a round from the artifacts of an experiment.
func (a *app) replayPlan(ctx context.Context, name string, f replayFlags, own *ownModels) (replay.Plan, error) {
	spec, err := a.storedSpec(ctx, name)
	if err != nil {
		return replay.Plan{}, err
	}
	if spec == nil {
		return replay.Plan{}, fail(exitNotFound, "experiment %s not found; see `starter list`", name)
	}
	cells, err := replayCells(*spec, f)
	if err != nil {
		return replay.Plan{}, err
	}
	in, err := a.finishedRound(ctx, *spec, f)
	if err != nil {
		return replay.Plan{}, err
	}
	if err := own.find(ctx, in, cells); err != nil {
		return replay.Plan{}, err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return replay.Plan{}, err
	}
	evidence, err := activities.Evidence(ctx, *a.steps, e, in)
	if err != nil {
		return replay.Plan{}, err
	}
	return replay.Plan{
		Experiment: name, Seed: orders.Seed(*spec, "replay"), N: f.n, Cells: cells, Evidence: evidence,
		Feasible: curriculum.Feasible(e, orders.Training(*spec, in.Where.Round+1, experiment.Curriculum{})),
	}, nil
}

func (a *app) finishedRound(ctx context.Context, spec experiment.Spec, f replayFlags) (activities.DesignInput, error) {
	refs, err := a.refs(ctx, spec.Name)
	if err != nil {
		return activities.DesignInput{}, err
	}
	last := len(refs.Rounds) - 1
	if last < 0 {
		return activities.DesignInput{}, fail(exitNotFound, "no round of %s is finished yet", spec.Name)
	}
	round := last
	if f.roundGiven {
		round = f.round
	}
	in, ok := activities.StoredDesign(spec, refs, round)
	if !ok {
		return in, fail(exitNotFound, "round %d of %s is not finished; rounds 0 to %d are", round, spec.Name, last)
	}
	return in, nil
}

// runReplay asks, keeps the result as a document of the experiment, and shows it.
func (a *app) runReplay(ctx context.Context, r replay.Runner) error {
	id, err := r.ID()
	if err != nil {
		return err
	}
	told := &replayProgress{app: a, meter: a.meter("asking " + plural(len(r.Cells), "way") + " to design, " + plural(r.N, "time") + " each")}
	r.Tell = told.show
	result, stopped, err := r.Run(ctx)
	told.meter.close()
	kept := a.keepReplay(ctx, r.Experiment, id, result)
	if err != nil {
		return a.replayEnded(ctx, result, err)
	}
	if kept != nil {
		return kept
	}
	if err := a.emit(result, func(w io.Writer) error { return replayTable(w, result) }); err != nil {
		return err
	}
	a.say("kept as %s", a.steps.Store.URL(docKey(r.Experiment, id)))
	if stopped != "" {
		return fail(exitFailed, "%s; the same command with a larger budget goes on", stopped)
	}
	return nil
}

// replayEnded says what became of a replay that met trouble.
func (a *app) replayEnded(ctx context.Context, result replay.Result, err error) error {
	there, wanted := 0, 0
	for _, c := range result.Cells {
		there, wanted = there+len(c.Draws), wanted+result.N
	}
	kept := "the same command goes on"
	if wanted > 0 {
		kept = fmt.Sprintf("%d of %d answers are kept; %s", there, wanted, kept)
	}
	if ctx.Err() != nil {
		a.say("interrupted; %s", kept)
		return ctx.Err()
	}
	code := exitFailed
	if _, away := errors.AsType[*designer.UnavailableError](err); away {
		code = exitUnreachable
	}
	return fail(code, "%w; %s", err, kept)
}

// keepReplay keeps what there is, also of a replay that was interrupted.
func (a *app) keepReplay(ctx context.Context, name, id string, result replay.Result) error {
	if result.ID == "" {
		return nil // it never began
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	body, err := indented(result)
	if err != nil {
		return err
	}
	return a.steps.PutDoc(ctx, name, replay.Doc(id), body)
}

// replayProgress shows how far a replay is, and what is waited for.
type replayProgress struct {
	app   *app
	meter *meter
	mu    sync.Mutex
	told  string
}

func (p *replayProgress) show(done, total int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meter.show(done, total)
	if waits(note) && note != p.told {
		p.told = note
		p.meter.close()
		p.app.say("%s", note)
	}
}

// faultsOf are the lines of a fault, or nil.
func faultsOf(err error) []string {
	if faults, ok := errors.AsType[*config.Faults](err); ok {
		return faults.Lines
	}
	return nil
}
