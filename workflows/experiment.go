// Package workflows orchestrates: what happens after what, and what a person
// sees of it. All work is done by activities; all results are artifacts.
package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// ExperimentInput starts an experiment. The spec is effective: all defaults are
// filled in, so that settings never change under a running workflow.
type ExperimentInput struct {
	Spec experiment.Spec `json:"spec"`
	// Sweep and Arm say of which sweep, and of which of its arms, this experiment
	// is a cell; empty for one that was started alone.
	Sweep string `json:"sweep,omitempty"`
	Arm   string `json:"arm,omitempty"`
}

// ExperimentResult is where a finished experiment left its results.
type ExperimentResult struct {
	Refs   activities.Refs      `json:"refs"`
	Base   experiment.Rates     `json:"base"`
	Rounds []RoundFigures       `json:"rounds"`
	Report activities.Published `json:"report"`
}

// Experiment runs one arm with one seed: the untrained policy's measurement, R
// rounds, and the benchmarks.
func Experiment(ctx workflow.Context, in ExperimentInput) (ExperimentResult, error) {
	e, err := open(ctx, in)
	if err != nil {
		return ExperimentResult{}, err
	}
	if err := e.run(ctx); err != nil {
		return ExperimentResult{}, e.end(ctx, err)
	}
	return e.result(), nil
}

// arm is one experiment under way.
type arm struct {
	spec   experiment.Spec
	where  activities.Where
	runID  string
	refs   activities.Refs
	status Status
	base   experiment.Rates
	report activities.Published
	calls  int // designer calls left
	tokens int // designer tokens left
}

func open(ctx workflow.Context, in ExperimentInput) (*arm, error) {
	info := workflow.GetInfo(ctx)
	e := &arm{
		spec:   in.Spec,
		where:  activities.Where{Workflow: info.WorkflowExecution.ID, Name: in.Spec.Name, Round: -1},
		runID:  info.WorkflowExecution.RunID,
		status: Status{Name: in.Spec.Name, Rounds: in.Spec.Rounds, Progress: activities.Progress{Round: -1}},
		calls:  in.Spec.Limits.ModelCalls,
		tokens: in.Spec.Limits.ModelTokens,
	}
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (Status, error) { return e.status, nil }); err != nil {
		return nil, err
	}
	e.listen(ctx)
	return e, e.status.enter(ctx, StatePreparing)
}

// listen takes in the progress that activities tell.
func (e *arm) listen(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, SignalProgress)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var p activities.Progress
			if !signals.Receive(ctx, &p) {
				return
			}
			if p.Round < e.status.Progress.Round {
				continue // told late, by a step that has ended
			}
			e.status.Progress = p
			e.status.show(ctx)
		}
	})
}

func (e *arm) run(ctx workflow.Context) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	if err := e.status.enter(ctx, StateRunning); err != nil {
		return err
	}
	for round := range e.spec.Rounds {
		if err := e.round(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err := e.benchmarks(ctx); err != nil {
		return err
	}
	return e.finish(ctx)
}

// prepare registers the experiment and measures the untrained policy.
func (e *arm) prepare(ctx workflow.Context) (err error) {
	limits := e.spec.Limits
	e.refs.Curriculum, err = call(ctx, shortWork, limits, "register; round 0's curriculum", do.Prepare,
		activities.PrepareInput{Where: e.where, Spec: e.spec, RunID: e.runID})
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	e.refs.Policy, err = call(ctx, jobWork, limits, "the untrained policy", do.WarmStart,
		activities.WarmStartInput{Where: e.where, Spec: e.spec})
	if err != nil {
		return fmt.Errorf("untrained policy: %w", err)
	}
	set, err := call(ctx, cpuWork, limits, "the validation set", do.GenerateValidation,
		activities.ValidationInput{Where: e.where, Spec: e.spec})
	if err != nil {
		return fmt.Errorf("validation set: %w", err)
	}
	e.refs.Validation = set.Done
	scored, err := call(ctx, cpuWork, limits, "validate the untrained policy", do.Evaluate, activities.EvaluateInput{
		Where: e.where, Spec: e.spec, Policy: e.refs.Policy.ID, Dataset: set.ID, Label: "base", Set: "validation",
	})
	if err != nil {
		return fmt.Errorf("validate the untrained policy: %w", err)
	}
	e.refs.Base, e.base, e.status.Base = scored.Done, scored.Rates, &scored.Rates
	return e.publish(ctx, StateRunning)
}

// round runs one round as a child workflow, so that no history grows with the
// number of rounds and each round is a page of its own in the UI.
func (e *arm) round(ctx workflow.Context, round int) error {
	e.where.Round = round
	e.status.Progress = activities.Progress{Round: round, Step: "starting"}
	e.status.show(ctx)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrRound.ValueSet(int64(round))); err != nil {
		return err
	}
	var out RoundResult
	child := workflow.WithChildOptions(ctx, e.childOptions(round))
	err := workflow.ExecuteChildWorkflow(child, Round, RoundInput{
		Where: e.where, Spec: e.spec, Refs: e.refs, ModelCalls: e.calls, ModelTokens: e.tokens,
	}).Get(ctx, &out)
	if err != nil {
		return err
	}
	e.refs.Rounds = append(e.refs.Rounds, out.Refs)
	e.calls -= out.ModelCalls
	e.tokens -= out.ModelTokens
	e.status.Done = append(e.status.Done, RoundFigures{round, out.Rates, out.Outcome})
	e.status.show(ctx)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrValidRate.ValueSet(out.Rates.ValidRate())); err != nil {
		return err
	}
	return e.publish(ctx, StateRunning)
}

func (e *arm) childOptions(round int) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            RoundID(e.spec.Name, round),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         roundOf(round, e.spec.Rounds),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			AttrExperiment.ValueSet(e.spec.Name),
			AttrVariant.ValueSet(e.spec.Designer.Context),
			AttrDesigner.ValueSet(e.spec.Designer.Kind),
			AttrRound.ValueSet(int64(round)),
		),
	}
}

// benchmarks scores the untrained and the last policy on the held-out sets.
func (e *arm) benchmarks(ctx workflow.Context) error {
	if len(e.spec.Benchmarks.Agents) == 0 {
		return nil
	}
	e.where.Round = e.spec.Rounds
	if err := e.status.enter(ctx, StateBenchmarking); err != nil {
		return err
	}
	for _, agents := range e.spec.Benchmarks.Agents {
		refs, err := e.benchmark(ctx, agents)
		if err != nil {
			return fmt.Errorf("benchmark with %d agents: %w", agents, err)
		}
		e.refs.Benchmarks = append(e.refs.Benchmarks, refs)
	}
	return nil
}

func (e *arm) benchmark(ctx workflow.Context, agents int) (activities.BenchmarkRefs, error) {
	refs := activities.BenchmarkRefs{Agents: agents}
	set, err := call(ctx, cpuWork, e.spec.Limits, fmt.Sprintf("the %d-agent set", agents), do.GenerateBenchmark,
		activities.BenchmarkInput{Where: e.where, Spec: e.spec, Agents: agents})
	if err != nil {
		return refs, err
	}
	refs.Set = set.Done
	last := e.refs.Rounds[len(e.refs.Rounds)-1]
	for _, p := range []struct {
		label  string
		policy activities.Done
		into   *activities.Done
	}{{"base", e.refs.Policy, &refs.Base}, {fmt.Sprintf("round %d", last.Round), last.Policy, &refs.Trained}} {
		scored, err := call(ctx, cpuWork, e.spec.Limits, fmt.Sprintf("%d agents: score %s", agents, p.label), do.Evaluate,
			activities.EvaluateInput{
				Where: e.where, Spec: e.spec, Policy: p.policy.ID, Dataset: set.ID,
				Label: p.label, Set: fmt.Sprintf("benchmark-%d", agents),
			})
		if err != nil {
			return refs, err
		}
		*p.into = scored.Done
	}
	return refs, nil
}

func (e *arm) finish(ctx workflow.Context) error {
	if err := e.publish(ctx, StateDone); err != nil {
		return err
	}
	return e.status.enter(ctx, StateDone)
}

// publish writes the report of all there is so far.
func (e *arm) publish(ctx workflow.Context, state string) error {
	out, err := call(ctx, shortWork, e.spec.Limits, "publish the report", do.Publish,
		activities.PublishInput{Where: e.where, Spec: e.spec, RunID: e.runID, State: state, Refs: e.refs})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	e.report, e.status.Report = out, out.URL
	return nil
}

// end leaves a failed or cancelled experiment in a state that says so: in the
// search attributes, in the UI and in the report.
func (e *arm) end(ctx workflow.Context, cause error) error {
	state := StateFailed
	if temporal.IsCanceledError(cause) || errors.Is(ctx.Err(), workflow.ErrCanceled) {
		state = StateCancelled
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	e.status.State = state
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s: %v", state, cause))
	// What could not be told must not hide why the experiment ended.
	_ = workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(state))
	if err := e.publish(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("the report of an ended experiment was not written", "error", err)
	}
	return cause
}

func (e *arm) result() ExperimentResult {
	return ExperimentResult{Refs: e.refs, Base: e.base, Rounds: e.status.Done, Report: e.report}
}
