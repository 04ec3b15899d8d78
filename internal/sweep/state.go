package sweep

import (
	"fmt"

	"floe/internal/experiment"
)

// States of a cell, as a sweep sees it.
const (
	Waiting   = "waiting"              // to be started, or to go on
	Running   = "running"              // its experiment is under way
	Paused    = "paused"               // by a person
	Attention = "needs attention"      // a step failed for good; somebody decides
	Approval  = "waiting for approval" // of a design, by a person
	Done      = "done"
	Failed    = "failed"  // its workflow ended without a result
	Stopped   = "stopped" // ended early on purpose: by a person, a rule or a limit
	Cancelled = "cancelled"
)

// Cell is one cell of a sweep under way. Its JSON is short: thousands of them
// travel from one run of the sweep's workflow to the next.
type Cell struct {
	Arm    int    `json:"a"`
	Seed   int64  `json:"s"`
	Digest string `json:"d"` // see Digest
	State  string `json:"x"`
	Round  int    `json:"r"` // of the last validation; -1 before the first
	// Start and Rate are valid rates: the untrained policy's, and the last one.
	Start *float64 `json:"b,omitempty"`
	Rate  *float64 `json:"v,omitempty"`
	Cause string   `json:"c,omitempty"` // why it is in a state that nobody wants
	// Verb is what a waiting cell needs to go on: "retry" or "resume" for one whose
	// experiment is there; "" for one that is to be started.
	Verb    string `json:"w,omitempty"`
	Tries   int    `json:"n,omitempty"` // how often this sweep started it
	Adopted bool   `json:"o,omitempty"` // found under way or done, not started by this sweep
	Used    *Need  `json:"u,omitempty"` // what it really used, once known
	Told    string `json:"t,omitempty"` // what its experiment was told last: "pause", "stop", "cancel"
}

// Live says that the cell's experiment is there and not ended.
func (c Cell) Live() bool {
	return c.State == Running || c.State == Paused || c.State == Attention || c.State == Approval
}

// Ended says that nothing will happen to the cell unless somebody wants it.
func (c Cell) Ended() bool {
	return c.State == Done || c.State == Failed || c.State == Stopped || c.State == Cancelled
}

// Tally adds cells up: Wanted = Done + Running + Waiting + Failed + Stopped.
type Tally struct {
	Wanted    int `json:"wanted"`
	Done      int `json:"done"`
	Running   int `json:"running"`
	Waiting   int `json:"waiting"` // paused cells included, and those that wait for approval
	Failed    int `json:"failed"`  // cells that need attention included
	Stopped   int `json:"stopped"` // ended early on purpose, cancelled ones included
	Paused    int `json:"paused"`  // of those waiting
	Attention int `json:"needs_attention"`
	Approval  int `json:"waiting_for_approval,omitempty"` // of those waiting
}

// Add counts one cell.
func (t *Tally) Add(c Cell) {
	t.Wanted++
	switch c.State {
	case Done:
		t.Done++
	case Running:
		t.Running++
	case Paused:
		t.Waiting++
		t.Paused++
	case Approval:
		t.Waiting++
		t.Approval++
	case Attention:
		t.Failed++
		t.Attention++
	case Failed:
		t.Failed++
	case Stopped, Cancelled:
		t.Stopped++
	default:
		t.Waiting++
	}
}

// Count adds up all cells.
func Count(cells []Cell) Tally {
	var t Tally
	for _, c := range cells {
		t.Add(c)
	}
	return t
}

// String is the sum as people read it.
func (t Tally) String() string {
	line := fmt.Sprintf("%d cells = %d done + %d running + %d waiting + %d failed", t.Wanted, t.Done, t.Running, t.Waiting, t.Failed)
	if t.Stopped > 0 {
		line += fmt.Sprintf(" + %d stopped", t.Stopped)
	}
	if t.Approval > 0 {
		line += fmt.Sprintf("; %d of those waiting want a person's approval", t.Approval)
	}
	return line
}

// ArmRate is how an arm stands: over its cells with a validation from the round
// on that counts, the mean valid rate and that of the start.
type ArmRate struct {
	Cells       int
	Start, Mean float64
}

// Rates looks at the cells of each of so many arms, in one pass: it is done at
// every turn of a sweep of thousands. The start is the untrained policy's rate.
func Rates(cells []Cell, arms, fromRound int) []ArmRate {
	rates := make([]ArmRate, arms)
	for _, c := range cells {
		if c.Start != nil && c.Rate != nil && c.Round >= fromRound && c.Round >= 0 {
			r := &rates[c.Arm]
			r.Cells++
			r.Start += *c.Start
			r.Mean += *c.Rate
		}
	}
	for i := range rates {
		if n := rates[i].Cells; n > 0 {
			rates[i].Start /= float64(n)
			rates[i].Mean /= float64(n)
		}
	}
	return rates
}

// GivesUp says why an arm is given up; "" if it is not.
func GivesUp(rule experiment.SweepStop, r ArmRate) string {
	if !rule.BelowStart || r.Cells < rule.Cells || r.Mean >= r.Start-rule.Margin {
		return ""
	}
	return fmt.Sprintf("valid rate fell below its start: %s against %s untrained, mean of %d cells", experiment.Percent(r.Mean), experiment.Percent(r.Start), r.Cells)
}
