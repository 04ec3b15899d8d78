package main

import (
	"context"
	"encoding/json"
	"fmt"

	"floe/activities"
	"floe/internal/analysis"
	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

// comparison is what a sweep found: for each set, arms by metrics.
type comparison struct {
	Sweep    string          `json:"sweep"`
	Baseline string          `json:"baseline"`
	Arms     []comparedArm   `json:"arms"`
	Holes    []hole          `json:"holes"`
	Sets     []setComparison `json:"sets"`
}

type comparedArm struct {
	Name     string               `json:"name"`
	Settings []experiment.Setting `json:"settings"`
	Cells    int                  `json:"cells"`
}

// hole is a cell without a result, and why.
type hole struct {
	Cell string `json:"cell"`
	Arm  string `json:"arm"`
	Seed int64  `json:"seed"`
	Why  string `json:"why"`
}

type setComparison struct {
	Set  string         `json:"set"` // "untrained", "validation", "benchmark-3"
	Rows []analysis.Row `json:"rows"`
}

// gathering collects the answers of a sweep's cells, set by set.
type gathering struct {
	app     *app
	plan    experiment.Sweep
	sets    []string
	results map[string][]analysis.Result
	holes   []hole
}

// Names of what is compared beside the held-out sets.
const (
	setUntrained  = "untrained"
	setValidation = "validation"
)

// compareSweep reads what every complete cell answered.
func (a *app) compareSweep(ctx context.Context, name, baseline string) (comparison, error) {
	digest := ""
	c, err := a.client(ctx)
	if err != nil {
		return comparison{}, err
	}
	if d, err := describe(ctx, c, workflows.SweepID(name)); err == nil {
		digest = planOfSweep(d.WorkflowExecutionInfo.GetMemo().GetFields())
	} // else the newest plan there is: results outlive the server
	p, err := a.storedPlan(ctx, name, digest)
	if err != nil {
		return comparison{}, err
	}
	if baseline == "" {
		baseline = p.Baseline
	}
	base := -1
	out := comparison{Sweep: name, Baseline: baseline, Holes: []hole{}}
	var arms []string
	var wanted []int
	for i, arm := range p.Arms {
		if arm.Name == baseline {
			base = i
		}
		arms, wanted = append(arms, arm.Name), append(wanted, len(arm.Seeds))
		out.Arms = append(out.Arms, comparedArm{arm.Name, arm.Settings, len(arm.Seeds)})
	}
	if base < 0 {
		return out, fail(exitUsage, "sweep %s has no arm %q to compare with; want one of %v", name, baseline, arms)
	}
	g := gathering{app: a, plan: p, results: map[string][]analysis.Result{}}
	for _, cell := range p.Cells() {
		if err := g.cell(ctx, cell); err != nil {
			return out, err
		}
	}
	for _, set := range g.sets {
		out.Sets = append(out.Sets, setComparison{set, analysis.Table(arms, wanted, base, g.results[set])})
	}
	out.Holes = append(out.Holes, g.holes...)
	return out, nil
}

func (g *gathering) hole(c experiment.SweepCell, format string, args ...any) {
	g.holes = append(g.holes, hole{g.plan.NameOf(c), g.plan.Arms[c.Arm].Name, c.Seed, fmt.Sprintf(format, args...)})
}

// cell gathers one cell, if it is complete and is what the plan says.
func (g *gathering) cell(ctx context.Context, c experiment.SweepCell) error {
	name := g.plan.NameOf(c)
	r, err := g.app.results(ctx, name)
	if codeOf(ctx, err) == exitNotFound {
		g.hole(c, "it has no results yet")
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case r.State != workflows.StateDone:
		g.hole(c, "it is %s", r.State)
		return nil
	case sweep.Digest(r.Spec, r.Spec.Seed) != sweep.Digest(g.plan.SpecOf(c), c.Seed):
		g.hole(c, "it ran with other settings than its arm")
		return nil
	}
	body, err := g.app.doc(ctx, name, activities.DocIndex)
	if err != nil {
		return err
	}
	var refs activities.Refs
	if err := json.Unmarshal(body, &refs); err != nil {
		return fmt.Errorf("read the index of %s: %w", name, err)
	}
	return g.answers(ctx, c, refs)
}

// answers reads the answers to every set: those of the untrained policy, those
// after the last round, and those to the held-out sets.
func (g *gathering) answers(ctx context.Context, c experiment.SweepCell, refs activities.Refs) error {
	if err := g.add(ctx, c, setUntrained, refs.Validation, refs.Base); err != nil {
		return err
	}
	if last := len(refs.Rounds) - 1; last >= 0 {
		if err := g.add(ctx, c, setValidation, refs.Validation, refs.Rounds[last].Scorecard); err != nil {
			return err
		}
	}
	for _, b := range refs.Benchmarks {
		if err := g.add(ctx, c, fmt.Sprintf("benchmark-%d", b.Agents), b.Set, b.Trained); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) add(ctx context.Context, c experiment.SweepCell, set string, data, scored activities.Done) error {
	if scored.ID.Key == "" {
		return nil // left out by a person
	}
	m, ok, err := g.app.steps.Find(ctx, scored.ID)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s: step %s has no manifest in the store", g.plan.NameOf(c), scored.ID)
	}
	rows, err := artifact.ReadJSONLines[activities.AnswerRow](ctx, *g.app.steps, m, activities.FileAnswers)
	if err != nil {
		return err
	}
	r := analysis.Result{Arm: c.Arm, Seed: c.Seed, Set: data.ID.Key}
	for _, row := range rows {
		r.Outcomes = append(r.Outcomes, analysis.Outcome{ID: row.ID, Valid: row.Verdict.Valid, Optimal: row.Verdict.Optimal})
	}
	if _, known := g.results[set]; !known {
		g.sets = append(g.sets, set)
	}
	g.results[set] = append(g.results[set], r)
	return nil
}
