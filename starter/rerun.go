package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
	"floe/workflows"
)

func (a *app) rerunCmd() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "rerun NAME",
		Short: "Rerun a finished experiment from scratch and compare every artifact",
		Long: `Runs the spec of a finished experiment under another name with sharing off, so every
step really runs again, and compares all artifacts by sha256. The exit code is 0 only
if all are identical. With the embedded trainer and a rule as designer they are; a
model behind an endpoint may answer differently.

If a person decided about designs, the second run asks again: a decision belongs to
its experiment. Later artifacts can match only if the decision does; the decision
itself, which has a timestamp, never matches.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			if name == "" {
				name = args[0] + "-rerun"
			}
			return a.rerun(c.Context(), args[0], name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of the second run (default NAME-rerun)")
	return c
}

func (a *app) rerun(ctx context.Context, first, second string) error {
	spec, f, err := a.again(ctx, first, second)
	if err != nil {
		return err
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	old, _, err := a.registered(ctx, c, second)
	if err != nil {
		return err
	}
	run, err := a.startAgain(ctx, old == nil, workflows.ExperimentInput{Spec: spec, Fork: f})
	if err != nil {
		return err
	}
	if err := a.follow(ctx, c, run); err != nil {
		return err
	}
	return a.compareRuns(ctx, first, second)
}

// again is the spec of a second run; the first must be done.
func (a *app) again(ctx context.Context, first, second string) (experiment.Spec, *activities.Fork, error) {
	old, _, err := a.parent(ctx, first)
	if err != nil {
		return old, nil, err
	}
	r, err := a.results(ctx, first)
	if err != nil {
		return old, nil, err
	}
	if !workflows.Finished(r.State) {
		return old, nil, fail(exitFailed, "experiment %s is not done (%s): there is nothing to compare with yet", first, r.State)
	}
	src, err := config.Marshal(old)
	if err != nil {
		return old, nil, err
	}
	spec, err := config.Load(activities.DocSpec+" of "+first, src, []string{"name=" + second, "share=false"}, all.Open)
	if err != nil {
		return spec, nil, err
	}
	k, err := a.keptOf(ctx, first)
	return spec, k.fork, err
}

func (a *app) startAgain(ctx context.Context, fresh bool, in workflows.ExperimentInput) (client.WorkflowRun, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.workStore(ctx); err != nil {
		return nil, err
	}
	if fresh {
		a.say("rerunning all steps as %s", in.Spec.Name)
		if planning.NeedsApproval(in.Spec, 0, experiment.Transcript{}) != "" {
			a.say("a person decides about its designs: each is asked for again; see %s", a.command("design show "+in.Spec.Name))
		}
		return a.launch(ctx, c, in, "")
	}
	return a.start(ctx, c, in.Spec)
}

// sameness says whether two runs made the same.
type sameness struct {
	First     string             `json:"first"`
	Second    string             `json:"second"`
	Equal     bool               `json:"equal"`
	Artifacts []comparedArtifact `json:"artifacts"`
}

// comparedArtifact is one path's sha256 in both; empty where one lacks it.
type comparedArtifact struct {
	Path   string `json:"path"`
	Equal  bool   `json:"equal"`
	First  string `json:"first"`
	Second string `json:"second"`
}

// compareRuns compares all artifacts of two experiments by sha256.
func (a *app) compareRuns(ctx context.Context, first, second string) error {
	before, err := a.entries(ctx, first)
	if err != nil {
		return err
	}
	after, err := a.entries(ctx, second)
	if err != nil {
		return err
	}
	r := compared(before, after)
	r.First, r.Second = first, second
	if err := a.emit(r, func(w io.Writer) error { return r.table(w) }); err != nil || r.Equal {
		return err
	}
	return fail(exitFailed, "%d of %d artifacts of %s and %s differ", r.differing(), len(r.Artifacts), first, second)
}

func compared(before, after []entry) sameness {
	r := sameness{Equal: true}
	sums := map[string]string{}
	for _, e := range after {
		sums[e.Path] = e.SHA256
	}
	for _, e := range before {
		r.Artifacts = append(r.Artifacts, comparedArtifact{e.Path, e.SHA256 == sums[e.Path], e.SHA256, sums[e.Path]})
		delete(sums, e.Path)
	}
	for _, e := range after {
		if _, only := sums[e.Path]; only {
			r.Artifacts = append(r.Artifacts, comparedArtifact{Path: e.Path, Second: e.SHA256})
		}
	}
	r.Equal = r.differing() == 0
	return r
}

func (r sameness) differing() int {
	n := 0
	for _, c := range r.Artifacts {
		if !c.Equal {
			n++
		}
	}
	return n
}

func (r sameness) table(w io.Writer) error {
	if r.Equal {
		_, err := fmt.Fprintf(w, "all %d artifacts of %s and %s have the same sha256\n", len(r.Artifacts), r.First, r.Second)
		return err
	}
	var lines [][]string
	for _, c := range r.Artifacts {
		if !c.Equal {
			lines = append(lines, []string{c.Path, shortSum(c.First), shortSum(c.Second)})
		}
	}
	return rows(w, []string{"DIFFERS", r.First, r.Second}, lines)
}

// shortSum is how a sum stands in a table.
func shortSum(sum string) string {
	if len(sum) < 12 {
		return "-"
	}
	return sum[:12]
}
