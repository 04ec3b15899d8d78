package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// LookAtCell says how one cell stands: by its workflow, and where the server knows
// none by its artifacts, which outlive the server. It needs no worker.
func LookAtCell(ctx context.Context, s *Sweeps, ref CellRef, metered bool) (CellFound, error) {
	found, _, err := s.look(ctx, ref, metered)
	return found, err
}

// look also finds the spec that the experiment runs with; nil if unknown.
func (s *Sweeps) look(ctx context.Context, ref CellRef, results bool) (CellFound, *experiment.Spec, error) {
	d, err := s.Client.DescribeWorkflow(ctx, ref.Workflow, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return s.published(ctx, ref)
	}
	if err != nil {
		return CellFound{}, nil, fmt.Errorf("look at %s: %w", ref.Workflow, err)
	}
	info := d.RawResponse.WorkflowExecutionInfo
	found := CellFound{Name: ref.Name, Round: -1}
	readAttributes(info, &found)
	s.status(ctx, info, &found)
	spec := memoSpec(info)
	if found.State != sweep.Done || !results {
		return found, spec, nil
	}
	full, stored, err := s.published(ctx, ref)
	if err != nil || full.State != sweep.Done {
		return found, spec, err // done, by its workflow; its figures are not there yet
	}
	if spec == nil {
		spec = stored
	}
	return full, spec, nil
}

// readAttributes takes in what an experiment tells everybody.
func readAttributes(info *workflowpb.WorkflowExecutionInfo, found *CellFound) {
	fields := info.GetSearchAttributes().GetIndexedFields()
	var state string
	var round int
	var rate float64
	if attribute(fields, "FloeState", &state) {
		found.State = CellStateOf(state)
	}
	attribute(fields, "FloeRound", &round)
	if attribute(fields, "FloeValidRate", &rate) {
		found.Rate = &rate
		found.Round = max(0, round-1) // the round under way has no validation yet
	}
}

func attribute(fields map[string]*commonpb.Payload, name string, into any) bool {
	p, ok := fields[name]
	return ok && converter.GetDefaultDataConverter().FromPayload(p, into) == nil
}

// memoSpec is the effective spec that an experiment was started with.
func memoSpec(info *workflowpb.WorkflowExecutionInfo) *experiment.Spec {
	var spec experiment.Spec
	if !attribute(info.GetMemo().GetFields(), "floe_spec", &spec) {
		return nil
	}
	return &spec
}

// cellStates are an experiment's states as a sweep sees them; all others are of an
// experiment under way.
var cellStates = map[string]string{
	"done":                 sweep.Done,
	"done without designs": sweep.Done,
	"needs attention":      sweep.Attention,
	"waiting for approval": sweep.Approval,
	"paused":               sweep.Paused,
	"stopped":              sweep.Stopped,
	"failed":               sweep.Failed,
	"cancelled":            sweep.Cancelled,
}

// CellStateOf is what an experiment's state means to a sweep.
func CellStateOf(state string) string {
	if s, ok := cellStates[state]; ok {
		return s
	}
	return sweep.Running
}

// status lets the server's word count where an experiment could not say how it
// ended: terminated, timed out, failed before its first line.
func (s *Sweeps) status(ctx context.Context, info *workflowpb.WorkflowExecutionInfo, found *CellFound) {
	switch info.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if found.State == "" || found.State == sweep.Done {
			found.State = sweep.Running // the last lines of its workflow
		}
		return
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		if found.State != sweep.Stopped {
			found.State = sweep.Done
		}
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		found.State = sweep.Cancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		found.State, found.Cause = sweep.Failed, "its workflow was terminated"
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		found.State, found.Cause = sweep.Failed, "its workflow timed out"
	default:
		found.State = sweep.Failed
		if err := s.Client.GetWorkflow(ctx, info.Execution.WorkflowId, info.Execution.RunId).Get(ctx, nil); err != nil {
			found.Cause = DeepestMessage(err)
		}
	}
}

// DeepestMessage is the innermost message of an error that came through Temporal.
func DeepestMessage(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Message()
	}
	return err.Error()
}

// published reads how an experiment ended from its documents. One that did not
// end as done is not there: its steps are, and are not done again.
func (s *Sweeps) published(ctx context.Context, ref CellRef) (CellFound, *experiment.Spec, error) {
	none := CellFound{Name: ref.Name, Round: -1}
	body, err := s.Steps.GetDoc(ctx, ref.Name, DocResults)
	if errors.Is(err, artifact.ErrNotFound) {
		return none, nil, nil
	}
	if err != nil {
		return none, nil, err
	}
	var r experiment.Results
	if err := json.Unmarshal(body, &r); err != nil {
		return none, nil, fmt.Errorf("read %s of %s: %w", DocResults, ref.Name, err)
	}
	if CellStateOf(r.State) != sweep.Done {
		return none, nil, nil
	}
	used, err := s.used(ctx, ref.Name, r)
	if err != nil {
		return none, nil, err
	}
	found := CellFound{Name: ref.Name, State: sweep.Done, Round: len(r.Rounds) - 1, Used: &used}
	if r.Base != nil {
		start := r.Base.Total().ValidRate()
		found.Start = &start
	}
	if last := len(r.Rounds) - 1; last >= 0 && r.Rounds[last].Scorecard != nil {
		rate := r.Rounds[last].Scorecard.Total().ValidRate()
		found.Rate = &rate
	}
	return found, &r.Spec, nil
}

// used counts the trainings that an experiment did itself, and the designer calls
// in its ledger: designs that it shares with others were paid for by those.
func (s *Sweeps) used(ctx context.Context, name string, r experiment.Results) (sweep.Need, error) {
	made, err := ledger(ctx, s.Steps, name)
	if err != nil {
		return sweep.Need{}, err
	}
	n := sweep.Need{Calls: len(made)}
	body, err := s.Steps.GetDoc(ctx, name, DocIndex)
	if errors.Is(err, artifact.ErrNotFound) {
		n.Jobs = len(r.Rounds)
		if !r.Spec.Trainer.TrainsModel() {
			n.Jobs++ // the warm start
		}
		return n, nil
	}
	if err != nil {
		return n, err
	}
	var refs Refs
	if err := json.Unmarshal(body, &refs); err != nil {
		return n, fmt.Errorf("read %s of %s: %w", DocIndex, name, err)
	}
	var trained []Done
	if !r.Spec.Trainer.TrainsModel() {
		trained = append(trained, refs.Policy) // the warm start
	}
	for _, round := range refs.Rounds {
		trained = append(trained, round.Policy)
	}
	for _, p := range trained {
		if !p.Reused {
			n.Jobs++
		}
	}
	return n, nil
}
