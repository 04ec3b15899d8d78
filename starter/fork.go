package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/designer"
	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
	"floe/workflows"
)

func (a *app) forkCmd() *cobra.Command {
	var sets []string
	var name string
	var at int
	var detach bool
	c := &cobra.Command{
		Use:   "fork NAME --at-round K",
		Short: "Start an experiment that shares another's first rounds",
		Long: `Starts a new experiment with the spec of another, changed by --set. It shares the
parent's rounds 0 to K-1 and runs round K and all later rounds itself. Shared rounds
are neither rerun nor copied: both experiments point to the same artifacts. The new
experiment records its parent.

Round K begins with the curriculum that the parent's designer proposed after round
K-1, or with a person's decision about it; decisions about shared rounds are shared
too. The new experiment's designer is first called after round K.`,
		Example:           "  starter fork demo --at-round 1 --set designer.kind=fixed\n  starter fork demo --at-round 2 --name longer --set rounds=6",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("at-round") {
				return fail(exitUsage, "--at-round is missing; want the first round that the new experiment runs itself, from 1; see %s --help", c.CommandPath())
			}
			if name == "" {
				name = fmt.Sprintf("%s-fork-%d", args[0], at)
			}
			again := a.command(fmt.Sprintf("fork %s --at-round %d", args[0], at), repeatFlags(name, sets)...)
			spec, f, err := a.forkOf(c.Context(), args[0], at, name, sets)
			if err != nil {
				return err
			}
			return a.runFork(c.Context(), spec, f, detach, again)
		},
	}
	c.Flags().IntVar(&at, "at-round", 0, "first round `K` that the new experiment runs itself, from 1")
	c.Flags().StringArrayVar(&sets, "set", nil, "change a field, such as `designer.kind=fixed`; can be repeated")
	c.Flags().StringVar(&name, "name", "", "name of the new experiment (default NAME-fork-K)")
	c.Flags().BoolVar(&detach, "detach", false, "start without following")
	return c
}

// forkOf makes the new spec and finds what is shared.
func (a *app) forkOf(ctx context.Context, parent string, at int, name string, sets []string) (experiment.Spec, activities.Fork, error) {
	old, refs, err := a.parent(ctx, parent)
	if err != nil {
		return experiment.Spec{}, activities.Fork{}, err
	}
	spec, err := config.Amend(activities.DocSpec+" of "+parent, old, append([]string{"name=" + name}, sets...), all.Open)
	if err != nil {
		return spec, activities.Fork{}, err
	}
	same := spec
	same.Name = old.Name
	if err := a.effective(old, same, sets); err != nil {
		return spec, activities.Fork{}, err
	}
	r, err := a.results(ctx, parent)
	if err != nil {
		return spec, activities.Fork{}, err
	}
	faults := append(forkFaults(old, spec, refs, at), undecided(old, spec, refs, r, at)...)
	if len(faults) > 0 {
		return spec, activities.Fork{}, fail(exitUsage, "cannot fork %s at round %d:\n  %s", parent, at, strings.Join(faults, "\n  "))
	}
	f := activities.Fork{Experiment: parent, Round: at, Refs: refs}
	f.Refs.Rounds, f.Refs.Benchmarks = refs.Rounds[:at], nil
	for _, round := range r.Rounds[:min(at, len(r.Rounds))] {
		f.Figures = append(f.Figures, activities.ForkFigures{Rates: round.Scorecard.Total(), Outcome: round.Transcript.Outcome})
	}
	return spec, f, nil
}

// parent reads what is stored of an experiment that others build on.
func (a *app) parent(ctx context.Context, name string) (experiment.Spec, activities.Refs, error) {
	spec, err := a.storedSpec(ctx, name)
	if err != nil {
		return experiment.Spec{}, activities.Refs{}, err
	}
	if spec == nil {
		return experiment.Spec{}, activities.Refs{}, notThere(name)
	}
	refs, err := a.refs(ctx, name)
	return *spec, refs, err
}

// frozen are the fields that decide what rounds before the fork did or were
// measured on. A change of them would make the shared rounds those of another
// experiment.
var frozen = []string{
	"environment", "agents", "objective", "validation", "curriculum", "trainer.kind", "trainer.warm_start", "trainer.warm_epochs",
}

// forkFaults says everything that speaks against a fork.
func forkFaults(old, spec experiment.Spec, refs activities.Refs, at int) []string {
	var faults []string
	switch {
	case at < 1:
		faults = append(faults, fmt.Sprintf("--at-round is %d; want at least 1 (an experiment that shares no round is one of its own: starter run)", at))
	case at > len(refs.Rounds):
		faults = append(faults, fmt.Sprintf("--at-round is %d, and %s has finished %d rounds; want at most %d", at, old.Name, len(refs.Rounds), len(refs.Rounds)))
	case at >= spec.Rounds:
		faults = append(faults, fmt.Sprintf("--at-round is %d of rounds 0 to %d; want at least one round to do (--set rounds=%d)", at, spec.Rounds-1, at+1))
	}
	for _, change := range config.Diff(old, spec) {
		path, _, _ := strings.Cut(change, ":")
		for _, s := range frozen {
			if path == s || strings.HasPrefix(path, s+".") {
				faults = append(faults, change+": the shared rounds were done and measured with the first; a fork keeps it")
			}
		}
	}
	if spec.Name == old.Name {
		faults = append(faults, "the name is the parent's; want another (--name)")
	}
	return faults
}

// undecided refuses to begin with a proposal that a person should have decided
// about and never did: of the last round, after which nobody was asked, or of one
// that was stopped while it waited.
func undecided(old, spec experiment.Spec, refs activities.Refs, r experiment.Results, at int) []string {
	if at < 1 || at > len(refs.Rounds) || at > len(r.Rounds) || refs.Rounds[at-1].Proposal.ID.Key != "" {
		return nil
	}
	t := r.Rounds[at-1].Transcript
	if t == nil || t.Outcome == activities.OutcomeSkipped {
		return nil
	}
	old.Rounds = at + 1 // as if it had gone on
	var known experiment.Transcript
	if spec.Designer.Trivial == designer.TrivialStop {
		known.NeedsApproval = t.NeedsApproval
	}
	why := planning.NeedsApproval(spec, at-1, known)
	if planning.NeedsApproval(old, at-1, *t) == "" || why == "" {
		return nil
	}
	return []string{fmt.Sprintf("the proposal after round %d has no decision (%s); want an earlier round, or a spec without approval (such as --set designer.approve=false)", at-1, why)}
}

// runFork starts a fork, or attaches to the one that was started before.
func (a *app) runFork(ctx context.Context, spec experiment.Spec, f activities.Fork, detach bool, again string) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	old, _, err := a.registered(ctx, c, spec.Name)
	if err != nil {
		return err
	}
	if old == nil {
		if _, err := a.workStore(ctx); err != nil {
			return err
		}
		a.say("starting experiment %s: rounds 0 to %d are those of %s", spec.Name, f.Round-1, f.Experiment)
		run, err := a.launch(ctx, c, workflows.ExperimentInput{Spec: spec, Fork: &f}, "")
		if err != nil {
			return err
		}
		return a.attend(ctx, c, spec.Name, run, detach, again)
	}
	k, err := a.keptOf(ctx, spec.Name)
	if err != nil {
		return err
	}
	if k.fork != nil && !reflect.DeepEqual(k.fork.Refs, f.Refs) {
		return fail(exitUsage, "the name %s belongs to a fork of %s at round %d with other artifacts; choose another name (--name)",
			spec.Name, k.fork.Experiment, k.fork.Round)
	}
	return a.runSpec(ctx, spec, detach, again)
}
