// Package workflows orchestrates: what happens after what, and what a person
// sees of it. All work is done by activities; all results are artifacts.
package workflows

import (
	"errors"
	"fmt"

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
	// Fork has the experiment share the first rounds of another.
	Fork *activities.Fork `json:"fork,omitempty"`
	// Redo are the steps to make anew although they are done, and Events what
	// people did, when an experiment whose workflow is gone is started again.
	Redo   []activities.Redo  `json:"redo,omitempty"`
	Events []activities.Event `json:"events,omitempty"`
}

// ExperimentResult is where a finished experiment left its results.
type ExperimentResult struct {
	Refs   activities.Refs      `json:"refs"`
	Base   experiment.Rates     `json:"base"`
	Rounds []RoundFigures       `json:"rounds"`
	Report activities.Published `json:"report"`
	State  string               `json:"state,omitempty"` // done, done without designs, or stopped
}

// Experiment runs one arm with one seed: the untrained policy's measurement, R
// rounds, and the benchmarks. A step that fails for good leaves it waiting for
// somebody to decide (attention.go); people steer it meanwhile (control.go).
func Experiment(ctx workflow.Context, in ExperimentInput) (ExperimentResult, error) {
	ctx, cancel := workflow.WithCancel(ctx)
	e, err := open(ctx, in, cancel)
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
	redo   []activities.Redo
	input  ExperimentInput

	registered bool
	forked     bool
	waits      bool   // this run waits where an older one would have failed
	sweep      string // workflow ID of the sweep, if any
	child      string // workflow ID of the round that runs, if any
	stopping   bool   // to end after the round that runs
	pausing    bool   // to begin no other step
	before     string // state before StateOutage
	skip       string // reason to leave out the design of the round to come
	decided    *decision
	cancel     workflow.CancelFunc
}

func open(ctx workflow.Context, in ExperimentInput, cancel workflow.CancelFunc) (*arm, error) {
	info := workflow.GetInfo(ctx)
	e := &arm{
		spec:  in.Spec,
		where: activities.Where{Workflow: info.WorkflowExecution.ID, Name: in.Spec.Name, Round: -1},
		runID: info.WorkflowExecution.RunID,
		status: Status{
			Name: in.Spec.Name, Rounds: in.Spec.Rounds, Progress: activities.Progress{Round: -1}, Events: in.Events,
		},
		redo:   in.Redo,
		input:  in,
		waits:  changed(ctx, changeAttention),
		sweep:  sweepOf(info, in),
		cancel: cancel,
	}
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (Status, error) { return e.status, nil }); err != nil {
		return nil, err
	}
	if err := e.listen(ctx); err != nil {
		return nil, err
	}
	e.listenWaiting(ctx)
	return e, e.enter(ctx, StatePreparing)
}

// run goes through the experiment; after somebody's decision to try again it
// goes through it once more, and what is there already is passed over.
func (e *arm) run(ctx workflow.Context) error {
	for {
		if err := e.course(ctx); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// course is the experiment from start to end.
func (e *arm) course(ctx workflow.Context) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	if err := e.enter(ctx, StateRunning); err != nil {
		return err
	}
	for len(e.refs.Rounds) < e.spec.Rounds && !e.stopping {
		round := len(e.refs.Rounds)
		if err := e.round(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err := e.benchmarks(ctx); err != nil {
		return err
	}
	return e.finish(ctx)
}

// finish publishes the last report and says how the experiment ended.
func (e *arm) finish(ctx workflow.Context) error {
	state := StateDone
	if why := e.status.undesigned(); why != "" && changed(ctx, changeUndesigned) {
		state, e.status.Cause = StateUndesigned, why
	}
	if e.stopping {
		state = StateStopped
	}
	if err := e.publish(ctx, state); err != nil {
		return err
	}
	return e.enter(ctx, state)
}

// publish writes the report of all there is so far.
func (e *arm) publish(ctx workflow.Context, state string) error {
	return e.try(ctx, "publish", func(ctx workflow.Context) error {
		in := activities.PublishInput{Where: e.where, Spec: e.spec, RunID: e.runID, State: state, Refs: e.refs}
		in.Operations = e.operations()
		out, err := call(ctx, shortWork, e.spec.Limits, "publish the report", do.Publish, in)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		e.report, e.status.Report = out, out.URL
		return nil
	})
}

// operations is what is kept beside spec and artifacts, if there is anything.
func (e *arm) operations() *activities.Operations {
	if e.input.Sweep == "" && len(e.status.Events) == 0 && len(e.redo) == 0 {
		return nil
	}
	return &activities.Operations{Sweep: e.input.Sweep, Arm: e.input.Arm, Events: e.status.Events, Redo: e.redo}
}

func (e *arm) result() ExperimentResult {
	out := ExperimentResult{Refs: e.refs, Base: e.base, Rounds: e.status.Done, Report: e.report}
	if e.waits {
		out.State = e.status.State
	}
	return out
}
