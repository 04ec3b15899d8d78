package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

// scaleCells is how many cells the simulation has; `make sweep-scale` sets it.
func scaleCells(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FLOE_SCALE_CELLS")
	if text == "" {
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("FLOE_SCALE_CELLS is %q; want a number of cells", text)
	}
	return n
}

// costsNothing is an experiment whose steps cost nothing. To its sweep it looks
// like any other: same name, same signals, same search attributes.
func costsNothing(ctx workflow.Context, in workflows.ExperimentInput) (workflows.ExperimentResult, error) {
	start, rate := 0.25, 0.5
	for _, state := range []string{workflows.StateRunning, workflows.StateDone} {
		if err := workflow.UpsertTypedSearchAttributes(ctx, workflows.AttrState.ValueSet(state)); err != nil {
			return workflows.ExperimentResult{}, err
		}
		cell := activities.CellState{Name: in.Spec.Name, State: state, Start: &start, ValidRate: &rate}
		if state == workflows.StateDone {
			cell.Validated = in.Spec.Rounds
		}
		parent := workflow.GetInfo(ctx).ParentWorkflowExecution
		if err := workflow.SignalExternalWorkflow(ctx, parent.ID, "", workflows.SignalCell, cell).Get(ctx, nil); err != nil {
			return workflows.ExperimentResult{}, err
		}
	}
	return workflows.ExperimentResult{State: workflows.StateDone}, nil
}

// theater is a real server with a worker whose experiments cost nothing.
type theater struct {
	*devtest.Stack
	client client.Client
	steps  artifact.Steps
}

func newTheater(t *testing.T, experiment any) *theater {
	t.Helper()
	s := devtest.Start(t)
	c, err := client.Dial(client.Options{HostPort: s.Temporal, Namespace: s.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	h := &theater{s, c, artifact.Steps{Store: s.Store()}}
	w := worker.New(c, workflows.QueueWork, worker.Options{DeadlockDetectionTimeout: time.Minute})
	w.RegisterWorkflow(workflows.Sweep)
	w.RegisterWorkflowWithOptions(experiment, workflow.RegisterOptions{Name: "Experiment"})
	w.RegisterActivity(&activities.Sweeps{Steps: h.steps, Client: c})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return h
}

// begin starts a sweep as the command line does.
func (h *theater) begin(t *testing.T, s experiment.Sweep) client.WorkflowRun {
	t.Helper()
	digest, err := activities.PutPlan(t.Context(), h.steps.Store, s)
	if err != nil {
		t.Fatal(err)
	}
	in := workflows.SweepInput{Name: s.Name, Plan: digest, Limits: s.Limits, Stop: s.Stop, Cells: sweep.Fresh(s)}
	for _, a := range s.Arms {
		in.Arms = append(in.Arms, workflows.SweepArm{Name: a.Name, Need: sweep.NeedOf(a.Spec)})
	}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the sweep's input is %d bytes", len(body))
	run, err := h.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: workflows.SweepID(s.Name), TaskQueue: workflows.QueueWork,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttrSweep.ValueSet(s.Name)),
	}, workflows.Sweep, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// grid is a sweep of so many cells, ten seeds an arm.
func grid(name string, cells, parallel int) experiment.Sweep {
	s := experiment.Sweep{Name: name, Limits: experiment.SweepLimits{Parallel: parallel}}
	for n := 0; n < cells; n += 10 {
		arm := experiment.Arm{Name: fmt.Sprintf("rollouts-%d", n+2), Spec: spec()}
		arm.Spec.Name, arm.Spec.Trainer.Rollouts = "", n+2
		for seed := range min(10, cells-n) {
			arm.Seeds = append(arm.Seeds, int64(seed))
		}
		s.Arms = append(s.Arms, arm)
	}
	return s
}

// TestThousandsOfCellsRunOnceEach runs a small grid here, and thousands of cells
// in `make sweep-scale`, and says what that took.
func TestThousandsOfCellsRunOnceEach(t *testing.T) {
	n := scaleCells(t)
	h := newTheater(t, costsNothing)
	began := time.Now()
	run := h.begin(t, grid("scale", n, 50))
	var s workflows.SweepStatus
	if err := run.Get(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	want := sweep.Tally{Wanted: n, Done: n}
	if s.Tally != want || s.State != workflows.StateDone {
		t.Errorf("sweep ended %s with %+v; want done with %+v", s.State, s.Tally, want)
	}
	for _, c := range s.Cells {
		if c.Tries != 1 {
			t.Errorf("cell %s was started %d times", s.NameOf(c), c.Tries)
		}
	}
	h.waitListed(t, "WorkflowType = 'Experiment' AND FloeSweep = 'scale' AND FloeState = 'done'", n)
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cells in %s (%.1f a second), in %d runs of the sweep's workflow; its status is %d bytes", n, took.Round(time.Second), float64(n)/took.Seconds(), s.Renewed+1, len(body))
	h.waitListed(t, "WorkflowType = 'Sweep' AND FloeSweep = 'scale' AND ExecutionStatus != 'Running'", s.Renewed+1)
	h.sizes(t, "scale")
	t.Logf("resident: devstack %s, worker with the test %s", resident(t, h.PID), resident(t, os.Getpid()))
}

// waitListed waits until visibility counts so many workflows: it follows a little
// behind.
func (h *theater) waitListed(t *testing.T, query string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		out, err := h.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatalf("count %s: %v", query, err)
		}
		if int(out.Count) == want {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s: %d; want %d", query, out.Count, want)
		}
	}
}

// sizes tells the histories of a sweep's runs.
func (h *theater) sizes(t *testing.T, name string) {
	t.Helper()
	var events, bytes, runs int64
	var page []byte
	for {
		out, err := h.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = 'Sweep' AND FloeSweep = '%s'", name), NextPageToken: page,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out.Executions {
			runs++
			events, bytes = max(events, e.HistoryLength), max(bytes, e.HistorySizeBytes)
		}
		if page = out.NextPageToken; len(page) == 0 {
			break
		}
	}
	t.Logf("largest history of %d runs: %d events, %d bytes", runs, events, bytes)
	if events > 50000 || bytes > 50<<20 {
		t.Errorf("a history is beyond what servers allow")
	}
}

var residentLine = regexp.MustCompile(`VmHWM:\s*(\d+ kB)`)

// resident is the most memory that a process has had.
func resident(t *testing.T, pid int) string {
	t.Helper()
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	if m := residentLine.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return "unknown"
}
