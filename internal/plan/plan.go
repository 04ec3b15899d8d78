package plan

import (
	"context"
	"fmt"
	"slices"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
)

// Step is one step of a plan.
type Step struct {
	Path string `json:"path"` // "round-0/train", as in `starter artifacts ls`
	// ID is the step's own, or while Open an ID of that kind for which nothing is
	// stored. Steps with equal IDs are the same work.
	ID      experiment.StepID `json:"id"`
	Open    bool              `json:"open"`    // its inputs are not all known yet
	Done    bool              `json:"done"`    // found in the store
	Seconds float64           `json:"seconds"` // what it took whoever did it; 0 unless done
	// After are the steps whose results it works on.
	After []experiment.StepID `json:"after"`
}

// Planner plans experiments against one store. It remembers what it found there,
// so that the cells of a sweep ask for each shared step once. Not safe for
// concurrent use.
type Planner struct {
	steps *artifact.Steps
	found map[experiment.StepID]*artifact.Manifest // nil: looked for and not done
}

// New plans against a store; nil plans as if nothing were done.
func New(steps *artifact.Steps) *Planner {
	return &Planner{steps: steps, found: map[experiment.StepID]*artifact.Manifest{}}
}

// Plan lists the steps of an experiment in the order in which they run. Rounds
// that a fork takes over from another experiment are given; usually there are
// none. The spec must be effective, as config.Load makes it.
func (p *Planner) Plan(ctx context.Context, spec experiment.Spec, e env.Environment, given ...Round) ([]Step, error) {
	d := &draft{ctx: ctx, planner: p, spec: spec, env: e}
	first := d.step("start/curriculum", KindCurriculum, CurriculumOf(spec, e))
	kind, inputs := policyStep(spec, e)
	base := d.step("start/policy", kind, inputs)
	set := d.step("start/validation-set", KindValidation, DrawOf(e, orders.Validation(spec)))
	d.base = d.step("start/validate", KindEvaluate,
		evaluateInputs(spec, e, set.sum(FileDataset), base.sum(PolicyFile(spec)), LabelBase, SetValidation), set, base)
	d.untrained = base

	curriculum, policy := first, base
	for n := range spec.Rounds {
		var r round
		if n < len(given) {
			r = d.given(given[n])
		} else {
			r = d.round(n, curriculum, policy, set)
		}
		d.rounds = append(d.rounds, r)
		curriculum, policy = r.design, r.policy
	}
	for _, agents := range spec.Benchmarks.Agents {
		d.benchmark(agents, base, policy)
	}
	return d.steps, d.err
}

// draft is a plan in the making. The first error ends it.
type draft struct {
	ctx     context.Context //nolint:containedctx // lives for one call of Plan
	planner *Planner
	spec    experiment.Spec
	env     env.Environment
	base    output // scorecard of the untrained policy

	untrained output
	rounds    []round
	steps     []Step
	err       error
}

type round struct{ curriculum, dataset, policy, scorecard, design output }

func (d *draft) round(n int, curriculum, init, set output) round {
	at := fmt.Sprintf("round-%d/", n)
	r := round{curriculum: curriculum}
	r.dataset = d.generate(at, n, curriculum)
	r.policy = d.step(at+"train", KindTrain, trainInputs(d.spec, d.env, n, r.dataset.sum(FileDataset), init.sum(PolicyFile(d.spec))), r.dataset, init)
	r.scorecard = d.step(at+"validate", KindEvaluate,
		evaluateInputs(d.spec, d.env, set.sum(FileDataset), r.policy.sum(PolicyFile(d.spec)), LabelRound(n), SetValidation), set, r.policy)
	r.design = d.decide(at, n, d.design(at, n, r))
	return r
}

// generate needs to know what the curriculum says, not only its sum. Round 0's
// follows from the spec; another's is known when it has been designed.
func (d *draft) generate(at string, n int, curriculum output) output {
	draw := func(c experiment.Curriculum) Draw { return DrawOf(d.env, orders.Training(d.spec, n, c)) }
	var c experiment.Curriculum
	var err error
	switch {
	case curriculum.done():
		c, err = Load[experiment.Curriculum](d.ctx, *d.planner.steps, curriculum.id, FileCurriculum)
	case n == 0:
		c, err = orders.FirstCurriculum(d.spec, d.env)
	default:
		return d.open(at+"generate", KindGenerate, draw(c), curriculum)
	}
	d.fail(err)
	return d.known(at+"generate", KindGenerate, draw(c), curriculum)
}

// design works on all rounds so far.
func (d *draft) design(at string, n int, r round) output {
	after := []output{d.base}
	if d.spec.Designer.Kind == designer.KindBase {
		after = append(after, d.untrained)
	}
	var read []Round
	for i, past := range append(slices.Clip(d.rounds), r) {
		after = append(after, past.curriculum, past.policy, past.scorecard)
		if i < n {
			after = append(after, past.design)
		}
		read = append(read, Round{Number: i, Curriculum: past.curriculum.id, Policy: past.policy.id, Scorecard: past.scorecard.id, Design: past.design.id})
	}
	for _, o := range after {
		if !o.done() {
			return d.open(at+"design", KindDesign, DesignOf(d.spec, n, Outline(d.spec, d.env, n), d.asked(r)), after...)
		}
	}
	evidence, err := Evidence(d.ctx, *d.planner.steps, d.spec, d.env, d.base.id, read)
	d.fail(err)
	return d.step(at+"design", KindDesign, DesignOf(d.spec, n, evidence, d.asked(r)), after...)
}

// asked names the model of the experiment's own that designs; empty if none does.
func (d *draft) asked(r round) string {
	return Asked(d.spec, d.untrained.sum(PolicyFile(d.spec)), r.policy.sum(PolicyFile(d.spec)))
}

func (d *draft) benchmark(agents int, base, last output) {
	at := fmt.Sprintf("benchmark-%d/", agents)
	set := d.step(at+"set", KindBenchmark, DrawOf(d.env, orders.Benchmark(d.spec, d.env, agents)...))
	for _, p := range []struct {
		path, label string
		policy      output
	}{{"untrained", LabelBase, base}, {"trained", LabelRound(d.spec.Rounds - 1), last}} {
		d.step(at+p.path, KindEvaluate,
			evaluateInputs(d.spec, d.env, set.sum(FileDataset), p.policy.sum(PolicyFile(d.spec)), p.label, SetBenchmark(agents)), set, p.policy)
	}
}

// given takes over a round by reference.
func (d *draft) given(r Round) round {
	at := fmt.Sprintf("round-%d/", r.Number)
	return round{
		curriculum: d.taken("", r.Curriculum), dataset: d.taken(at+"generate", r.Dataset), policy: d.taken(at+"train", r.Policy),
		scorecard: d.taken(at+"validate", r.Scorecard), design: d.taken(at+"design", r.Design),
	}
}
