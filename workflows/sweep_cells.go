package workflows

import (
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// doSweep names the activities of sweeps; it is never called.
var doSweep *activities.Sweeps

// fill starts cells where there are free places: a batch in each turn, so that
// quick cells do not keep the sweep from everything else.
func (s *sweepRun) fill(ctx workflow.Context) error {
	if s.in.Mode != modeRun {
		return nil
	}
	batch := s.next()
	if len(batch) == 0 {
		return nil
	}
	for _, i := range batch {
		s.in.Cells[i].State = sweep.Running // it has a place
	}
	s.fresh = true // there may be more
	return s.begin(ctx, batch)
}

// next are the cells that may start now, in order.
func (s *sweepRun) next() []int {
	free := s.in.Limits.Parallel
	for _, c := range s.in.Cells {
		if c.State == sweep.Running {
			free--
		}
	}
	use := s.committed()
	var batch []int
	for i, c := range s.in.Cells {
		if len(batch) >= min(free, openBatch) {
			break
		}
		if c.State != sweep.Waiting {
			continue
		}
		if with := use.Plus(s.in.Arms[c.Arm].Need); c.Verb != "" || sweep.Exceeds(s.in.Limits, with) == "" {
			if c.Verb == "" {
				use = with
			}
			batch = append(batch, i)
		}
	}
	return batch
}

// committed is what ended cells have used, and the most that those under way can.
func (s *sweepRun) committed() sweep.Need {
	var use sweep.Need
	for _, c := range s.in.Cells {
		switch {
		case c.Used != nil:
			use = use.Plus(*c.Used)
		case c.Live() || c.Verb != "" || (c.Ended() && c.Tries > 0):
			use = use.Plus(s.in.Arms[c.Arm].Need)
		}
	}
	return use
}

// begin has each cell of a batch go on in the way it needs.
func (s *sweepRun) begin(ctx workflow.Context, batch []int) error {
	var open []int
	var verbs []verb
	for _, i := range batch {
		c := &s.in.Cells[i]
		if c.Verb == "" {
			open = append(open, i)
		} else {
			verbs = append(verbs, verb{i, c.Verb})
			c.Tries++
		}
		c.Verb, c.Cause, c.Told = "", "", ""
	}
	// Those that have ended meanwhile are started like those that never began.
	return s.start(ctx, append(open, s.tell(ctx, verbs)...))
}

// verb is something to tell a cell.
type verb struct {
	cell int
	verb string
}

// tell steers experiments. Those that are not there any more are returned.
func (s *sweepRun) tell(ctx workflow.Context, verbs []verb) (gone []int) {
	told := make([]workflow.Future, len(verbs))
	for j, v := range verbs {
		told[j] = workflow.SignalExternalWorkflow(ctx, ExperimentID(s.nameOf(v.cell)), "", SignalControl, Control{Verb: v.verb, Reason: s.reason()})
	}
	for j, v := range verbs {
		if err := told[j].Get(ctx, nil); err != nil {
			gone = append(gone, v.cell)
		}
	}
	return gone
}

// reason is what experiments are told about why.
func (s *sweepRun) reason() string {
	return strings.TrimSpace("sweep " + s.in.Name + ": " + s.in.Reason)
}

// sweepLimits are for the bookkeeping of sweeps, which is not bounded: a sweep outlives a
// store or a server that is away for a night.
var sweepLimits experiment.LimitsSpec

func (s *sweepRun) refs(batch []int) []activities.CellRef {
	refs := make([]activities.CellRef, len(batch))
	for j, i := range batch {
		c, name := s.in.Cells[i], s.nameOf(i)
		refs[j] = activities.CellRef{
			Cell: experiment.SweepCell{Arm: c.Arm, Seed: c.Seed}, Name: name, Workflow: ExperimentID(name),
		}
	}
	return refs
}

// start starts experiments, unless they are there already.
func (s *sweepRun) start(ctx workflow.Context, batch []int) error {
	if len(batch) == 0 {
		return nil
	}
	opened, err := call(ctx, shortWork, sweepLimits, fmt.Sprintf("open %d cells", len(batch)), doSweep.OpenCells,
		activities.OpenCellsInput{Sweep: s.in.Name, Plan: s.in.Plan, Cells: s.refs(batch)})
	if err != nil {
		return fmt.Errorf("open cells: %w", err)
	}
	var started []workflow.ChildWorkflowFuture
	var cells []int
	for j, i := range batch {
		if found := opened[j].Found; found.State != "" {
			s.in.Cells[i].Adopted = true
			s.take(i, found)
			continue
		}
		s.in.Cells[i].Adopted = false
		s.in.Cells[i].Tries++
		child := workflow.WithChildOptions(ctx, s.childOptions(i, opened[j].Spec))
		started = append(started, workflow.ExecuteChildWorkflow(child, Experiment,
			ExperimentInput{Spec: opened[j].Spec, Sweep: s.in.Name, Arm: s.in.Arms[s.in.Cells[i].Arm].Name}))
		cells = append(cells, i)
	}
	for j, f := range started {
		s.started(ctx, cells[j], f)
	}
	return nil
}

// started waits until a child is there, and watches it.
func (s *sweepRun) started(ctx workflow.Context, i int, f workflow.ChildWorkflowFuture) {
	err := f.GetChildWorkflowExecution().Get(ctx, nil)
	_, there := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err)
	c := &s.in.Cells[i]
	switch {
	case there: // somebody was quicker; what it is, the next look tells
		c.Adopted, s.due = true, true
		return
	case err != nil:
		c.State, c.Cause = sweep.Failed, cut("it could not be started: "+activities.DeepestMessage(err))
		return
	}
	name, try := s.nameOf(i), c.Tries
	workflow.Go(ctx, func(ctx workflow.Context) {
		var r struct {
			State string `json:"state"`
		}
		err := f.Get(ctx, &r)
		if c := &s.in.Cells[s.index[name]]; c.Tries == try && c.Live() {
			s.closed(c, r.State, err)
			s.fresh, s.due = true, s.due || s.unsettled(*c)
		}
	})
}

// closed takes in that a cell's workflow is over. Mostly the cell has said so
// before; one that was terminated could not.
func (s *sweepRun) closed(c *sweep.Cell, state string, err error) {
	switch {
	case err == nil && state == StateStopped:
		c.State = sweep.Stopped
	case err == nil && state == StateUndesigned:
		c.State = sweep.Done // and the cell has said why
	case err == nil:
		c.State, c.Cause = sweep.Done, ""
	case temporal.IsCanceledError(err):
		c.State = sweep.Cancelled
	case temporal.IsTerminatedError(err):
		c.State, c.Cause = sweep.Failed, "its workflow was terminated"
	default:
		c.State, c.Cause = sweep.Failed, cut(activities.DeepestMessage(err))
	}
}

// childOptions leave a cell to itself (ABANDON): a sweep that goes on in a new
// run, or is terminated, must not take days of training with it. Ending a sweep
// ends its cells one by one, and waits for them.
func (s *sweepRun) childOptions(i int, spec experiment.Spec) workflow.ChildWorkflowOptions {
	arm := s.in.Arms[s.in.Cells[i].Arm].Name
	return workflow.ChildWorkflowOptions{
		WorkflowID:            ExperimentID(spec.Name),
		TaskQueue:             QueueWork,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, // OpenCells has looked
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:         fmt.Sprintf("%s: arm %s, seed %d", s.in.Name, arm, spec.Seed),
		Memo:                  map[string]any{MemoSpec: spec},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			AttrExperiment.ValueSet(spec.Name),
			AttrVariant.ValueSet(spec.Designer.Context),
			AttrDesigner.ValueSet(spec.Designer.Kind),
			AttrState.ValueSet(StatePreparing),
			AttrSweep.ValueSet(s.in.Name),
			AttrArm.ValueSet(arm),
		),
	}
}
