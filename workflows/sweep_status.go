package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"floe/internal/experiment"
	"floe/internal/sweep"
)

// QuerySweep asks a sweep how it stands.
const QuerySweep = "sweep"

// MemoPlan is the workflow memo that holds the digest of a sweep's plan.
const MemoPlan = "floe_plan"

// SweepStatus is how a sweep stands: the answer to QuerySweep, and its result.
// Cells are short, since there may be thousands; names come from arms.
type SweepStatus struct {
	Name    string       `json:"name"`
	State   string       `json:"state"`
	Reason  string       `json:"reason,omitempty"`
	Plan    string       `json:"plan"`
	Tally   sweep.Tally  `json:"tally"`
	Used    sweep.Need   `json:"used"` // and reserved by cells under way
	Arms    []SweepArm   `json:"arms"`
	Cells   []sweep.Cell `json:"cells"`
	Began   time.Time    `json:"began"`
	Renewed int          `json:"renewed,omitempty"`

	Limits experiment.SweepLimits `json:"limits"`
}

// NameOf is the name of a cell's experiment.
func (s SweepStatus) NameOf(c sweep.Cell) string {
	return experiment.CellName(s.Name, s.Arms[c.Arm].Name, c.Seed)
}

func (s *sweepRun) status() SweepStatus {
	return SweepStatus{
		Name: s.in.Name, State: s.stateWord(), Reason: s.in.Reason, Plan: s.in.Plan, Tally: sweep.Count(s.in.Cells),
		Used: s.committed(), Arms: s.in.Arms, Cells: s.in.Cells, Began: s.in.Began, Renewed: s.in.Renewed, Limits: s.in.Limits,
	}
}

// StateStopping is a sweep that lets what runs finish.
const StateStopping = "stopping"

// stateWord is the state of the whole sweep.
func (s *sweepRun) stateWord() string {
	t := sweep.Count(s.in.Cells)
	over := s.over()
	switch {
	case over && s.in.Mode == modeCancel:
		return StateCancelled
	case over && (s.in.Mode == modeStop || t.Done < t.Wanted):
		return StateStopped
	case over:
		return StateDone
	case s.in.Mode == modeCancel:
		return StateCancelling
	case s.in.Mode == modeStop:
		return StateStopping
	case s.in.Mode == modePause:
		return StatePaused
	case t.Running > 0 || t.Waiting > t.Paused+t.Approval:
		return StateRunning
	case t.Failed > 0:
		return StateAttention
	case t.Approval > 0:
		return StateWaiting
	default:
		return StatePaused
	}
}

// What the Temporal UI shows at most; `starter sweep show` has all.
const (
	armsShown   = 40
	causesShown = 10
)

// show makes the status visible in the UI, and the state in search attributes.
func (s *sweepRun) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, s.details())
	if state := s.stateWord(); state != s.shown {
		s.shown = state
		if err := workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(state)); err != nil {
			workflow.GetLogger(ctx).Warn("cannot report the sweep's state", "error", err)
		}
	}
}

func (s *sweepRun) details() string {
	head := s.stateWord() + ": " + sweep.Count(s.in.Cells).String()
	if s.in.Reason != "" {
		head += " (" + s.in.Reason + ")"
	}
	parts := []string{head}
	for i, c := range s.in.Cells {
		if (c.State == sweep.Attention || c.State == sweep.Failed || c.State == sweep.Approval) && len(parts) <= causesShown {
			parts = append(parts, s.nameOf(i)+" "+c.State+": "+c.Cause)
		}
	}
	return strings.Join(append(parts, s.armTable()), "\n\n")
}

func (s *sweepRun) armTable() string {
	tallies := make([]sweep.Tally, len(s.in.Arms))
	for _, c := range s.in.Cells {
		tallies[c.Arm].Add(c)
	}
	rates := sweep.Rates(s.in.Cells, len(s.in.Arms), 0)
	rows := []string{"| arm | done | running | waiting | failed | stopped | valid |", "|---|---|---|---|---|---|---|"}
	for i, a := range s.in.Arms[:min(len(s.in.Arms), armsShown)] {
		t := tallies[i]
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %s |", a.Name, t.Done, t.Running, t.Waiting, t.Failed, t.Stopped, meanText(rates[i], t)))
	}
	return strings.Join(rows, "\n")
}

// meanText is the mean of an arm's last validations, and says where cells are still to
// come to their end.
func meanText(r sweep.ArmRate, t sweep.Tally) string {
	switch {
	case r.Cells == 0:
		return ""
	case t.Done < t.Wanted:
		return fmt.Sprintf("%s so far (%d of %d cells)", experiment.Percent(r.Mean), r.Cells, t.Wanted)
	}
	return experiment.Percent(r.Mean)
}
