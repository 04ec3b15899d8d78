package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

// sweepView is a sweep as commands show it.
type sweepView struct {
	Name    string         `json:"name"`
	State   string         `json:"state"`
	Reason  string         `json:"reason,omitempty"`
	Tally   sweep.Tally    `json:"tally"`
	Used    sweep.Need     `json:"used"`
	Began   string         `json:"began,omitempty"`
	UI      string         `json:"ui,omitempty"`
	Arms    []sweepArmView `json:"arms"`
	Cells   []cellView     `json:"cells"`
	LeftOut []cellView     `json:"left_out,omitempty"` // cells that earlier files had and this one has not
	Renewed int            `json:"renewed"`            // runs of the workflow before this one
}

type sweepArmView struct {
	Name     string      `json:"name"`
	Tally    sweep.Tally `json:"tally"`
	Measured int         `json:"measured"`       // cells with a validation, which the means are over
	Final    bool        `json:"final"`          // all cells are done
	Start    *float64    `json:"untrained_rate"` // mean valid rate of the untrained policy
	Valid    *float64    `json:"valid_rate"`     // mean of the cells' last validations
	GivenUp  string      `json:"given_up,omitempty"`
}

type cellView struct {
	Name    string   `json:"name"`
	Arm     string   `json:"arm"`
	Seed    int64    `json:"seed"`
	State   string   `json:"state"`
	Round   *int     `json:"round"` // of the last validation; null before the first
	Start   *float64 `json:"untrained_rate"`
	Valid   *float64 `json:"valid_rate"`
	Cause   string   `json:"cause,omitempty"`
	Tries   int      `json:"tries"`
	Adopted bool     `json:"adopted,omitempty"`
	LeftOut bool     `json:"left_out,omitempty"` // not in the file any more
}

func viewOf(s workflows.SweepStatus) sweepView {
	v := sweepView{
		Arms: []sweepArmView{}, Cells: []cellView{},
		Name: s.Name, State: s.State, Reason: s.Reason, Tally: s.Tally, Used: s.Used, Renewed: s.Renewed,
	}
	if !s.Began.IsZero() {
		v.Began = utc(s.Began)
	}
	rates := sweep.Rates(s.Cells, len(s.Arms), 0)
	for i, a := range s.Arms {
		arm := sweepArmView{Name: a.Name, GivenUp: a.GivenUp}
		if r := rates[i]; r.Cells > 0 {
			arm.Start, arm.Valid, arm.Measured = &r.Start, &r.Mean, r.Cells
		}
		v.Arms = append(v.Arms, arm)
	}
	for _, c := range s.Cells {
		v.Arms[c.Arm].Tally.Add(c)
		cell := cellView{
			Name: s.NameOf(c), Arm: s.Arms[c.Arm].Name, Seed: c.Seed, State: c.State, Start: c.Start, Valid: c.Rate,
			Cause: c.Cause, Tries: c.Tries, Adopted: c.Adopted,
		}
		if c.Round >= 0 {
			cell.Round = &c.Round
		}
		v.Cells = append(v.Cells, cell)
	}
	for i := range v.Arms {
		v.Arms[i].Final = v.Arms[i].Tally.Done == v.Arms[i].Tally.Wanted
	}
	return v
}

// sweepStatus asks a sweep how it stands. A workflow that has ended well has left
// its answer; another is asked, which needs a worker.
func sweepStatus(ctx context.Context, c client.Client, name string) (workflows.SweepStatus, error) {
	var s workflows.SweepStatus
	d, err := describe(ctx, c, workflows.SweepID(name))
	if err != nil {
		return s, err
	}
	if d.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return s, c.GetWorkflow(ctx, workflows.SweepID(name), "").Get(ctx, &s)
	}
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	v, err := c.QueryWorkflow(ctx, workflows.SweepID(name), "", workflows.QuerySweep)
	if err != nil {
		return s, err
	}
	if err := v.Get(&s); err != nil {
		return s, err
	}
	if word := stateWord(d.WorkflowExecutionInfo.Status); word != "running" {
		s.State = word // killed from outside, it had no chance to say so
	}
	return s, nil
}

// lookSweep is how a sweep stands. Where its workflow cannot be asked, because no
// worker is there or the server lost it, its cells are looked at one by one.
func (a *app) lookSweep(ctx context.Context, name string) (sweepView, error) {
	c, err := a.client(ctx)
	if err != nil {
		return sweepView{}, err
	}
	s, err := sweepStatus(ctx, c, name)
	if err != nil {
		if s, err = a.reconstruct(ctx, c, name); err != nil {
			return sweepView{}, err
		}
	}
	v := viewOf(s)
	if s.State != stateLost {
		v.UI = a.uiURL(c.GetWorkflow(ctx, workflows.SweepID(name), ""))
	}
	return v, nil
}

// stateLost is a sweep or an experiment of which the server knows nothing.
const stateLost = "lost"

// reconstruct makes a status from the plan and from what there is of each cell.
func (a *app) reconstruct(ctx context.Context, c client.Client, name string) (workflows.SweepStatus, error) {
	state := stateLost
	digest := ""
	d, err := describe(ctx, c, workflows.SweepID(name))
	switch _, none := errors.AsType[*serviceerror.NotFound](err); {
	case err == nil:
		state, digest = stateWord(d.WorkflowExecutionInfo.Status), planOfSweep(d.WorkflowExecutionInfo.GetMemo().GetFields())
	case !none:
		return workflows.SweepStatus{}, err
	}
	p, err := a.storedPlan(ctx, name, digest)
	if err != nil {
		return workflows.SweepStatus{}, err
	}
	s := workflows.SweepStatus{Name: name, State: state, Limits: p.Limits, Cells: sweep.Fresh(p)}
	s.Arms, _ = carried(p)
	look := &activities.Sweeps{Steps: *a.steps, Client: c}
	for i, cell := range p.Cells() {
		n := p.NameOf(cell)
		found, err := activities.LookAtCell(ctx, look, activities.CellRef{Cell: cell, Name: n, Workflow: workflows.ExperimentID(n)}, true)
		if err != nil {
			return s, err
		}
		if found.State != "" {
			k := &s.Cells[i]
			k.State, k.Cause, k.Round, k.Start, k.Rate = found.State, found.Cause, found.Round, found.Start, found.Rate
		}
	}
	s.Tally = sweep.Count(s.Cells)
	return s, nil
}

// storedPlan reads a plan by its digest, or the newest of a sweep's.
func (a *app) storedPlan(ctx context.Context, name, digest string) (experiment.Sweep, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return experiment.Sweep{}, err
	}
	if digest == "" {
		prefix := "sweeps/" + name + "/"
		listed, err := steps.Store.List(ctx, prefix)
		if err != nil {
			return experiment.Sweep{}, err
		}
		if len(listed) == 0 {
			return experiment.Sweep{}, noSweep(name)
		}
		newest := listed[0]
		for _, o := range listed {
			if o.Modified.After(newest.Modified) {
				newest = o
			}
		}
		digest, _, _ = strings.Cut(strings.TrimPrefix(newest.Key, prefix), ".")
	}
	return activities.GetPlan(ctx, steps.Store, name, digest)
}

func noSweep(name string) error {
	return fail(exitNotFound, "sweep %s not found; start one with: starter sweep start FILE", name)
}

// updateSweep sends an update and waits for its answer.
func (a *app) updateSweep(ctx context.Context, c client.Client, name, update string, arg any) (workflows.SweepAnswer, error) {
	var answer workflows.SweepAnswer
	h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.SweepID(name), UpdateName: update, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(ctx, &answer)
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		d, derr := describe(ctx, c, workflows.SweepID(name))
		if derr != nil {
			return answer, noSweep(name)
		}
		return answer, fail(exitFailed, "sweep %s has ended (%s); start it again with: starter sweep start FILE", name, stateWord(d.WorkflowExecutionInfo.Status))
	}
	if err != nil && ctx.Err() == nil {
		return answer, fail(exitFailed, "%s", activities.DeepestMessage(err))
	}
	return answer, err
}

// worst is the first cell that somebody has to look after.
func (v sweepView) worst() (cellView, bool) {
	for _, c := range v.Cells {
		if c.State == sweep.Attention || c.State == sweep.Failed {
			return c, true
		}
	}
	return cellView{}, false
}

// line is the first line of what people see.
func (v sweepView) line() string {
	line := fmt.Sprintf("%s: %s: %s", v.Name, v.State, v.Tally)
	if v.Reason != "" {
		line += " (" + v.Reason + ")"
	}
	return line
}
