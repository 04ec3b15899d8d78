package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

// Arms by how their experiments go in scripted.
const (
	armQuick = "quick" // is done at once
	armFails = "fails" // needs attention until it is retried
	armHolds = "holds" // runs until it gets the signal "finish"
	armWorse = "worse" // runs like holds, and gets worse than it began
)

// scripted is an experiment without work. It is steered like a real one.
func scripted(ctx workflow.Context, in workflows.ExperimentInput) (workflows.ExperimentResult, error) {
	start, rate := 0.4, 0.5
	if in.Arm == armWorse {
		rate = 0.1
	}
	enter := func(state, cause string) {
		_ = workflow.UpsertTypedSearchAttributes(ctx, workflows.AttrState.ValueSet(state))
		cell := activities.CellState{Name: in.Spec.Name, State: state, Cause: cause, Start: &start, ValidRate: &rate, Validated: 1}
		_ = workflow.SignalExternalWorkflow(ctx, workflows.SweepID(in.Sweep), "", workflows.SignalCell, cell).Get(ctx, nil)
	}
	end := func(state string) (workflows.ExperimentResult, error) {
		enter(state, "")
		return workflows.ExperimentResult{State: state}, nil
	}
	enter(workflows.StateRunning, "")
	if in.Arm == armQuick {
		return end(workflows.StateDone)
	}
	if in.Arm == armFails {
		enter(workflows.StateAttention, in.Spec.Name+" needs attention: round 0, train: the disk is full")
	}
	stopping, paused := false, false
	for !stopping || paused {
		verb := ""
		s := workflow.NewSelector(ctx)
		s.AddReceive(workflow.GetSignalChannel(ctx, workflows.SignalControl), func(c workflow.ReceiveChannel, _ bool) {
			var control workflows.Control
			c.Receive(ctx, &control)
			verb = control.Verb
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, "finish"), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			verb = "finish"
		})
		s.Select(ctx)
		switch verb {
		case "finish":
			return end(workflows.StateDone)
		case workflows.VerbRetry:
			enter(workflows.StateRunning, "")
			return end(workflows.StateDone)
		case workflows.VerbPause:
			paused = true
			enter(workflows.StatePaused, "")
		case workflows.VerbResume:
			paused = false
			enter(workflows.StateRunning, "")
		case workflows.VerbStop:
			stopping, paused = true, false
		case workflows.VerbCancel:
			enter(workflows.StateCancelled, "")
			return workflows.ExperimentResult{}, temporal.NewCanceledError()
		}
	}
	return end(workflows.StateStopped)
}

// program is a sweep with these arms, each with as many seeds.
func program(name string, parallel, seeds int, arms ...string) experiment.Sweep {
	s := experiment.Sweep{Name: name, Limits: experiment.SweepLimits{Parallel: parallel}, Stop: experiment.SweepStop{Cells: 1}}
	for i, name := range arms {
		arm := experiment.Arm{Name: name, Spec: spec()}
		arm.Spec.Name, arm.Spec.Trainer.Rollouts = "", 2+i
		for seed := range seeds {
			arm.Seeds = append(arm.Seeds, int64(seed))
		}
		s.Arms = append(s.Arms, arm)
	}
	return s
}

// status asks a sweep how it stands.
func (h *theater) status(t *testing.T, name string) workflows.SweepStatus {
	t.Helper()
	var s workflows.SweepStatus
	v, err := h.client.QueryWorkflow(t.Context(), workflows.SweepID(name), "", workflows.QuerySweep)
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// comes waits until a sweep's cells are in these states, told as "arm-sSEED
// state" in order, and the sweep is in its.
func (h *theater) comes(t *testing.T, name, state string, cells ...string) workflows.SweepStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		s := h.status(t, name)
		var got []string
		for _, c := range s.Cells {
			got = append(got, strings.TrimPrefix(s.NameOf(c), name+"-")+" "+c.State)
		}
		slices.Sort(got)
		slices.Sort(cells)
		if s.State == state && slices.Equal(got, cells) {
			if n := s.Tally; n.Wanted != n.Done+n.Running+n.Waiting+n.Failed+n.Stopped || n.Wanted != len(cells) {
				t.Errorf("the sum does not add up: %+v", n)
			}
			return s
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("sweep %s is %s with %q; want %s with %q", name, s.State, got, state, cells)
		}
	}
}

func (h *theater) update(t *testing.T, name, update string, arg any) error {
	t.Helper()
	u, err := h.client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflows.SweepID(name), UpdateName: update, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return u.Get(t.Context(), nil)
}

func (h *theater) mustUpdate(t *testing.T, name, update string, arg any) {
	t.Helper()
	if err := h.update(t, name, update, arg); err != nil {
		t.Fatalf("%s: %v", update, err)
	}
}

func (h *theater) steer(t *testing.T, name, verb string) {
	t.Helper()
	h.mustUpdate(t, name, workflows.UpdateSteer, workflows.Control{Verb: verb, Reason: "the test says so"})
}

func (h *theater) finish(t *testing.T, sweep, cell string) {
	t.Helper()
	h.there(t, sweep+"-"+cell)
	if err := h.client.SignalWorkflow(t.Context(), workflows.ExperimentID(sweep+"-"+cell), "", "finish", nil); err != nil {
		t.Fatal(err)
	}
}

// there waits until an experiment has begun: a cell counts as running as soon as
// it has a place.
func (h *theater) there(t *testing.T, name string) {
	t.Helper()
	h.waitListed(t, fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running' AND FloeState = 'running'", workflows.ExperimentID(name)), 1)
}

// runs counts how often experiments of a sweep were started.
func (h *theater) runs(t *testing.T, sweep string) int {
	t.Helper()
	out, err := h.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = 'Experiment' AND FloeSweep = '%s'", sweep),
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(out.Count)
}

func TestSweeps(t *testing.T) {
	h := newTheater(t, scripted)

	t.Run("a cell that needs attention frees its place, and a retry retries it alone", func(t *testing.T) {
		h.begin(t, program("alone", 1, 1, armFails, armQuick))
		s := h.comes(t, "alone", workflows.StateAttention, "fails-s0 needs attention", "quick-s0 done")
		if c := s.Cells[0]; c.Cause != "round 0, train: the disk is full" {
			t.Errorf("cause %q", c.Cause)
		}
		for _, r := range []workflows.SweepRetry{{Cells: []string{"alone-quick-s0"}}, {Cells: []string{"alone-what-s0"}}} {
			if err := h.update(t, "alone", workflows.UpdateRetry, r); err == nil {
				t.Errorf("retry of %v was taken", r.Cells)
			}
		}
		h.mustUpdate(t, "alone", workflows.UpdateRetry, workflows.SweepRetry{Failed: true})
		h.comes(t, "alone", workflows.StateDone, "fails-s0 done", "quick-s0 done")
		if n := h.runs(t, "alone"); n != 2 {
			t.Errorf("%d experiments were started; want 2", n)
		}
	})

	t.Run("with nothing failed a retry is refused with the sum", func(t *testing.T) {
		h.begin(t, program("nothing", 1, 1, armHolds))
		h.comes(t, "nothing", workflows.StateRunning, "holds-s0 running")
		err := h.update(t, "nothing", workflows.UpdateRetry, workflows.SweepRetry{Failed: true})
		if err == nil || !strings.Contains(err.Error(), "nothing to retry: 1 cells = 0 done + 1 running + 0 waiting + 0 failed") {
			t.Errorf("got %v", err)
		}
		h.finish(t, "nothing", "holds-s0")
		h.comes(t, "nothing", workflows.StateDone, "holds-s0 done")
	})

	t.Run("a paused sweep starts nothing and resumes", func(t *testing.T) {
		h.begin(t, program("pause", 1, 2, armHolds))
		h.comes(t, "pause", workflows.StateRunning, "holds-s0 running", "holds-s1 waiting")
		h.steer(t, "pause", workflows.VerbPause)
		h.comes(t, "pause", workflows.StatePaused, "holds-s0 paused", "holds-s1 waiting")
		h.steer(t, "pause", workflows.VerbResume)
		h.comes(t, "pause", workflows.StateRunning, "holds-s0 running", "holds-s1 waiting")
		h.finish(t, "pause", "holds-s0")
		h.comes(t, "pause", workflows.StateRunning, "holds-s0 done", "holds-s1 running")
		h.finish(t, "pause", "holds-s1")
		h.comes(t, "pause", workflows.StateDone, "holds-s0 done", "holds-s1 done")
		if n := h.runs(t, "pause"); n != 2 {
			t.Errorf("%d experiments were started; want 2", n)
		}
	})

	t.Run("stop lets what runs finish and ends what waits for a decision", func(t *testing.T) {
		h.begin(t, program("stop", 1, 1, armFails, armHolds, armQuick))
		h.comes(t, "stop", workflows.StateRunning, "fails-s0 needs attention", "holds-s0 running", "quick-s0 waiting")
		h.steer(t, "stop", workflows.VerbStop)
		h.comes(t, "stop", workflows.StateStopping, "fails-s0 stopped", "holds-s0 running", "quick-s0 stopped")
		if err := h.update(t, "stop", workflows.UpdateRetry, workflows.SweepRetry{Cells: []string{"stop-quick-s0"}}); err == nil {
			t.Error("a stopping sweep took a retry")
		}
		h.finish(t, "stop", "holds-s0")
		h.comes(t, "stop", workflows.StateStopped, "fails-s0 stopped", "holds-s0 done", "quick-s0 stopped")
		// Starting it again runs what is missing, and adopts what is done.
		h.begin(t, program("stop", 1, 1, armFails, armHolds, armQuick))
		h.comes(t, "stop", workflows.StateAttention, "fails-s0 needs attention", "holds-s0 done", "quick-s0 done")
		h.steer(t, "stop", workflows.VerbCancel)
		h.comes(t, "stop", workflows.StateCancelled, "fails-s0 cancelled", "holds-s0 done", "quick-s0 done")
	})

	t.Run("cancelling the workflow itself ends every cell and waits", func(t *testing.T) {
		run := h.begin(t, program("cancel", 4, 2, armHolds, armFails))
		h.comes(t, "cancel", workflows.StateRunning, "fails-s0 needs attention", "fails-s1 needs attention", "holds-s0 running", "holds-s1 running")
		if err := h.client.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
			t.Fatal(err)
		}
		if err := run.Get(t.Context(), nil); !temporal.IsCanceledError(err) {
			t.Errorf("the sweep ended with %v; want cancelled", err)
		}
		h.comes(t, "cancel", workflows.StateCancelled, "fails-s0 cancelled", "fails-s1 cancelled", "holds-s0 cancelled", "holds-s1 cancelled")
	})

	t.Run("a terminated cell is a failure, and a retry starts it again", func(t *testing.T) {
		h.begin(t, program("killed", 2, 1, armHolds))
		h.comes(t, "killed", workflows.StateRunning, "holds-s0 running")
		h.there(t, "killed-holds-s0")
		if err := h.client.TerminateWorkflow(t.Context(), workflows.ExperimentID("killed-holds-s0"), "", "by hand"); err != nil {
			t.Fatal(err)
		}
		s := h.comes(t, "killed", workflows.StateAttention, "holds-s0 failed")
		if c := s.Cells[0]; !strings.Contains(c.Cause, "terminated") {
			t.Errorf("cause %q", c.Cause)
		}
		h.mustUpdate(t, "killed", workflows.UpdateRetry, workflows.SweepRetry{Failed: true})
		h.comes(t, "killed", workflows.StateRunning, "holds-s0 running")
		h.finish(t, "killed", "holds-s0")
		if s := h.comes(t, "killed", workflows.StateDone, "holds-s0 done"); s.Cells[0].Tries != 2 {
			t.Errorf("%d tries; want 2", s.Cells[0].Tries)
		}
	})

	t.Run("a wider file adds cells, and one that changes a cell is refused", func(t *testing.T) {
		h.begin(t, program("wider", 1, 1, armHolds))
		h.comes(t, "wider", workflows.StateRunning, "holds-s0 running")
		changed := program("wider", 1, 1, armHolds)
		changed.Arms[0].Spec.Rounds++
		for name, s := range map[string]experiment.Sweep{"changed": changed, "dropped": program("wider", 1, 1, armQuick)} {
			if err := h.update(t, "wider", workflows.UpdateExtend, h.extension(t, s)); err == nil || !strings.Contains(err.Error(), "wider-holds-s0") {
				t.Errorf("%s: got %v; want a refusal that names the cell", name, err)
			}
		}
		// The new arm comes first in the file: cells keep their states by name.
		next := program("wider", 2, 2, armHolds)
		next.Arms = append(program("wider", 2, 1, armQuick).Arms, next.Arms...)
		next.Arms[0].Spec.Trainer.Rollouts = 50
		h.mustUpdate(t, "wider", workflows.UpdateExtend, h.extension(t, next))
		h.comes(t, "wider", workflows.StateRunning, "holds-s0 running", "holds-s1 running", "quick-s0 done")
		h.finish(t, "wider", "holds-s0")
		h.finish(t, "wider", "holds-s1")
		h.comes(t, "wider", workflows.StateDone, "holds-s0 done", "holds-s1 done", "quick-s0 done")
		if n := h.runs(t, "wider"); n != 3 {
			t.Errorf("%d experiments were started; want 3", n)
		}
	})

	t.Run("an experiment that is there already is adopted, and one with another spec is not", func(t *testing.T) {
		s := program("adopt", 3, 1, armQuick, armHolds, armFails)
		other := s.SpecOf(experiment.SweepCell{Arm: 2})
		other.Rounds++
		for _, spec := range []experiment.Spec{s.SpecOf(experiment.SweepCell{Arm: 0}), s.SpecOf(experiment.SweepCell{Arm: 1}), other} {
			h.alone(t, spec, strings.TrimSuffix(strings.TrimPrefix(spec.Name, "adopt-"), "-s0"))
		}
		h.waitListed(t, "FloeExperiment STARTS_WITH 'adopt-' AND FloeState = 'done'", 1)
		h.begin(t, s)
		got := h.comes(t, "adopt", workflows.StateRunning, "fails-s0 failed", "holds-s0 running", "quick-s0 done")
		if c := got.Cells[2]; !strings.Contains(c.Cause, "another spec") {
			t.Errorf("cause %q", c.Cause)
		}
		if n := h.runs(t, "adopt"); n != 0 {
			t.Errorf("the sweep started %d experiments; want none", n)
		}
		h.steer(t, "adopt", workflows.VerbCancel)
		if err := h.client.TerminateWorkflow(t.Context(), workflows.SweepID("adopt"), "", "its cells tell another sweep"); err != nil && !gone(err) {
			t.Fatal(err)
		}
	})

	t.Run("an arm that falls below its start is given up", func(t *testing.T) {
		s := program("below", 1, 2, armWorse, armQuick)
		s.Stop = experiment.SweepStop{BelowStart: true, Margin: 0.05, Cells: 1}
		h.begin(t, s)
		got := h.comes(t, "below", workflows.StateStopped, "quick-s0 done", "quick-s1 done", "worse-s0 stopped", "worse-s1 stopped")
		want := "valid rate fell below its start: 10.0 % against 40.0 % untrained, mean of 1 cells"
		if got.Arms[0].GivenUp != want {
			t.Errorf("given up: %q; want %q", got.Arms[0].GivenUp, want)
		}
	})

	t.Run("cells that no limit has room for are not started", func(t *testing.T) {
		s := program("budget", 5, 3, armQuick)
		s.Limits.Jobs = 7 // three trainings each: two cells and a training
		h.begin(t, s)
		got := h.comes(t, "budget", workflows.StateStopped, "quick-s0 done", "quick-s1 done", "quick-s2 stopped")
		if c := got.Cells[2]; c.Cause != "no room within limits.jobs: 9 of 7" {
			t.Errorf("cause %q", c.Cause)
		}
	})
}

func gone(err error) bool { return err != nil && strings.Contains(err.Error(), "already completed") }

// extension is a file read anew, as the command line sends it.
func (h *theater) extension(t *testing.T, s experiment.Sweep) workflows.SweepExtend {
	t.Helper()
	digest, err := activities.PutPlan(t.Context(), h.steps.Store, s)
	if err != nil {
		t.Fatal(err)
	}
	x := workflows.SweepExtend{Plan: digest, Limits: s.Limits, Stop: s.Stop, Cells: sweep.Fresh(s)}
	for _, a := range s.Arms {
		x.Arms = append(x.Arms, workflows.SweepArm{Name: a.Name, Need: sweep.NeedOf(a.Spec)})
	}
	return x
}

// alone starts an experiment outside of any sweep.
func (h *theater) alone(t *testing.T, spec experiment.Spec, arm string) {
	t.Helper()
	_, err := h.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: workflows.ExperimentID(spec.Name), TaskQueue: workflows.QueueWork,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo:                  map[string]any{workflows.MemoSpec: spec},
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttrExperiment.ValueSet(spec.Name)),
	}, "Experiment", workflows.ExperimentInput{Spec: spec, Arm: arm, Sweep: "none"})
	if err != nil {
		t.Fatal(err)
	}
}

// TestASweepGoesOnInANewRunWithItsCells: the new run starts with all that the old
// one knew.
func TestASweepGoesOnInANewRunWithItsCells(t *testing.T) {
	s := newStage(t, nil)
	s.RegisterActivity(&activities.Sweeps{})
	s.SetContinueAsNewSuggested(true)
	rate := 0.5
	cells := []sweep.Cell{
		{State: sweep.Done, Round: 1, Rate: &rate, Tries: 1, Digest: "a"},
		{Seed: 1, State: sweep.Attention, Round: -1, Cause: "the disk is full", Tries: 2, Digest: "b"},
	}
	s.ExecuteWorkflow(workflows.Sweep, workflows.SweepInput{
		Name: "long", Plan: "digest", Arms: []workflows.SweepArm{{Name: "arm"}}, Limits: experiment.SweepLimits{Parallel: 1}, Cells: cells,
	})
	var renewed *workflow.ContinueAsNewError
	if err := s.GetWorkflowError(); !errors.As(err, &renewed) {
		t.Fatalf("got %v; want a new run", err)
	}
	var in workflows.SweepInput
	if err := converter.GetDefaultDataConverter().FromPayloads(renewed.Input, &in); err != nil {
		t.Fatal(err)
	}
	if in.Renewed != 1 || in.Plan != "digest" || in.Began.IsZero() || len(in.Cells) != 2 || in.Cells[1].Cause != "the disk is full" || *in.Cells[0].Rate != rate || in.Cells[1].Tries != 2 {
		t.Errorf("the new run starts with %+v", in)
	}
}

// TestALookFromOutsideKeepsTheCause: search attributes say that a cell needs
// attention, not why. And a cell that told nothing is found out by looking.
func TestALookFromOutsideKeepsTheCause(t *testing.T) {
	s := newStage(t, nil)
	a := &activities.Sweeps{}
	s.RegisterActivity(a)
	looks := 0
	s.OnActivity(a.LookAtCells, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.LookAtCellsInput) ([]activities.CellFound, error) {
		looks++
		found := []activities.CellFound{{Name: "look-arm-s0", State: sweep.Attention, Round: -1}}
		if len(in.Cells) > 1 {
			found = append(found, activities.CellFound{Name: "look-arm-s1", State: sweep.Done, Round: 1})
		}
		return found, nil
	})
	var seen workflows.SweepStatus
	s.RegisterDelayedCallback(func() {
		v, err := s.QueryWorkflow(workflows.QuerySweep)
		if err == nil {
			err = v.Get(&seen)
		}
		if err != nil {
			t.Error(err)
		}
		s.SignalWorkflow(workflows.SignalCell, activities.CellState{Name: "look-arm-s0", State: workflows.StateDone, Validated: 2})
	}, 5*time.Minute)
	s.ExecuteWorkflow(workflows.Sweep, workflows.SweepInput{
		Name: "look", Arms: []workflows.SweepArm{{Name: "arm"}}, Limits: experiment.SweepLimits{Parallel: 2},
		Cells: []sweep.Cell{
			{State: sweep.Attention, Round: -1, Cause: "the disk is full", Tries: 1},
			{Seed: 1, State: sweep.Running, Round: 0, Tries: 1},
		},
	})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if looks == 0 || len(seen.Cells) != 2 || seen.Cells[0].Cause != "the disk is full" || seen.Cells[1].State != sweep.Done {
		t.Errorf("after %d looks: %+v", looks, seen.Cells)
	}
}

// TestACellThatWaitsForApprovalGivesItsPlaceToAnother: it costs nothing while a
// person thinks, and it ends unasked when the sweep is stopped.
func TestACellThatWaitsForApprovalGivesItsPlaceToAnother(t *testing.T) {
	s := newStage(t, nil)
	a := &activities.Sweeps{}
	s.RegisterActivity(a)
	opened := false
	s.OnActivity(a.OpenCells, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.OpenCellsInput) ([]activities.OpenedCell, error) {
		opened = true
		return []activities.OpenedCell{{Found: activities.CellFound{Name: in.Cells[0].Name, State: sweep.Done, Round: 1}}}, nil
	})
	s.OnActivity(a.LookAtCells, mock.Anything, mock.Anything).Return(func(_ context.Context, _ activities.LookAtCellsInput) ([]activities.CellFound, error) {
		return []activities.CellFound{{Name: "gate-arm-s0", State: activities.CellStateOf(workflows.StateWaiting), Round: -1}}, nil
	})
	s.OnSignalExternalWorkflow(mock.Anything, workflows.ExperimentID("gate-arm-s0"), "", workflows.SignalControl, mock.Anything).Return(
		func(_, _, _, _ string, arg any) error {
			if c, ok := arg.(workflows.Control); !ok || c.Verb != workflows.VerbStop {
				t.Errorf("the cell was told %+v; want stop", arg)
			}
			s.SignalWorkflow(workflows.SignalCell, activities.CellState{Name: "gate-arm-s0", State: workflows.StateStopped, Validated: 1})
			return nil
		})
	var seen workflows.SweepStatus
	s.RegisterDelayedCallback(func() {
		v, err := s.QueryWorkflow(workflows.QuerySweep)
		if err == nil {
			err = v.Get(&seen)
		}
		if err != nil {
			t.Error(err)
		}
		s.update(t, workflows.UpdateSteer, workflows.Control{Verb: workflows.VerbStop}, wantOK(t))
	}, 5*time.Minute)
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(workflows.SignalCell, activities.CellState{Name: "gate-arm-s0", State: workflows.StateWaiting, Cause: "the designer is a person", Validated: 1})
	}, time.Second)
	s.ExecuteWorkflow(workflows.Sweep, workflows.SweepInput{
		Name: "gate", Arms: []workflows.SweepArm{{Name: "arm"}}, Limits: experiment.SweepLimits{Parallel: 1},
		Cells: []sweep.Cell{{State: sweep.Running, Round: 0, Tries: 1}, {Seed: 1, State: sweep.Waiting, Round: -1}},
	})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if !opened || seen.State != workflows.StateWaiting || seen.Tally.Approval != 1 || seen.Tally.Waiting != 1 || seen.Cells[0].Cause != "the designer is a person" || seen.Cells[1].State != sweep.Done {
		t.Errorf("the other cell began: %v; status %+v", opened, seen)
	}
}
