package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/sweep"
)

// drain takes in what was told and not read yet: a new run would not hear of it.
func (s *sweepRun) drain(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, SignalCell)
	for {
		var c activities.CellState
		if !signals.ReceiveAsync(&c) {
			return
		}
		s.told(c)
	}
}

func (s *sweepRun) told(news activities.CellState) {
	i, ok := s.index[news.Name]
	if !ok {
		return // of a cell that this sweep does not have
	}
	s.take(i, activities.CellFound{
		Name: news.Name, State: activities.CellStateOf(news.State), Cause: news.Cause,
		Round: news.Validated - 1, Rate: news.ValidRate, Start: news.Start,
	})
}

// take brings a cell up to what is known of its experiment.
func (s *sweepRun) take(i int, found activities.CellFound) {
	c := &s.in.Cells[i]
	if before := *c; before.State != found.State || before.Round != found.Round {
		s.fresh = true
	}
	switch {
	case found.State == sweep.Running, found.State == sweep.Done && found.Cause == "":
		c.Cause = ""
	case found.Cause != "" || found.State != c.State: // a look from outside does not see causes
		c.Cause = s.cause(found)
	}
	c.State, c.Round = found.State, found.Round
	if found.Rate != nil {
		c.Rate = found.Rate
	}
	if found.Start != nil {
		c.Start = found.Start
	}
	if found.Used != nil {
		c.Used = found.Used
	}
	s.due = s.due || s.unsettled(*c)
}

// unsettled says that a limit needs to know what a cell has used.
func (s *sweepRun) unsettled(c sweep.Cell) bool {
	return c.State == sweep.Done && c.Used == nil && sweep.Metered(s.in.Limits)
}

// Bounds on what a sweep carries of causes: characters of one, and how many. The
// experiments have the whole sentences.
const (
	causeMost  = 160
	causesMost = 1000
)

// cause is why a cell is as it is, without what the sweep says itself.
func (s *sweepRun) cause(found activities.CellFound) string {
	kept := 0
	for _, c := range s.in.Cells {
		if c.Cause != "" {
			kept++
		}
	}
	if kept >= causesMost {
		return ""
	}
	return cut(strings.TrimPrefix(found.Cause, found.Name+" "+found.State+": "))
}

func cut(s string) string {
	if r := []rune(s); len(r) > causeMost {
		return string(r[:causeMost-1]) + "…"
	}
	return s
}

// lookAtAll looks at the cells under way. While nothing changes it looks less and
// less often.
func (s *sweepRun) lookAtAll(ctx workflow.Context) error {
	var batch []int
	for i, c := range s.in.Cells {
		if c.Live() || s.unsettled(c) {
			batch = append(batch, i)
		}
	}
	for len(batch) > 0 {
		n := min(len(batch), lookBatch)
		if err := s.lookAt(ctx, batch[:n]); err != nil {
			return err
		}
		batch = batch[n:]
	}
	s.due = false
	if s.quiet = min(2*s.quiet, lookMost); s.fresh {
		s.quiet = lookEvery
	}
	return nil
}

func (s *sweepRun) lookAt(ctx workflow.Context, batch []int) error {
	found, err := call(ctx, shortWork, sweepLimits, fmt.Sprintf("look at %d cells", len(batch)), doSweep.LookAtCells,
		activities.LookAtCellsInput{Cells: s.refs(batch), Metered: sweep.Metered(s.in.Limits)})
	if err != nil {
		return fmt.Errorf("look at cells: %w", err)
	}
	for j, i := range batch {
		c := &s.in.Cells[i]
		switch f := found[j]; {
		case f.State == "" && c.Live():
			c.State, c.Verb, s.fresh = sweep.Waiting, "", true // lost: its steps are kept, and it is started again
		case f.State != "" && (c.Live() || f.State == c.State):
			s.take(i, f)
		}
		if s.unsettled(*c) { // it does not say; then the most it can have used counts
			most := s.in.Arms[c.Arm].Need
			c.Used = &most
		}
	}
	return nil
}

// judge gives arms up, and cells that no limit leaves room for.
func (s *sweepRun) judge() {
	for i, rate := range sweep.Rates(s.in.Cells, len(s.in.Arms), s.in.Stop.AfterRound) {
		arm := &s.in.Arms[i]
		if arm.GivenUp != "" {
			continue
		}
		if arm.GivenUp = sweep.GivesUp(s.in.Stop, rate); arm.GivenUp == "" {
			continue
		}
		for j := range s.in.Cells {
			if c := &s.in.Cells[j]; c.Arm == i && c.State == sweep.Waiting && c.Verb == "" {
				c.State, c.Cause = sweep.Stopped, arm.GivenUp
			}
		}
	}
	s.spend()
}

// spend stops what no limit has room for, once nothing under way can free any.
func (s *sweepRun) spend() {
	use := s.committed()
	for _, c := range s.in.Cells {
		if c.Live() || c.Verb != "" || s.unsettled(c) {
			return
		}
	}
	for i := range s.in.Cells {
		c := &s.in.Cells[i]
		if c.State != sweep.Waiting {
			continue
		}
		if over := sweep.Exceeds(s.in.Limits, use.Plus(s.in.Arms[c.Arm].Need)); over != "" {
			c.State, c.Cause = sweep.Stopped, "no room within limits."+over
		}
	}
}
