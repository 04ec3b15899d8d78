package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// SweepInput starts a sweep, and carries it from one run of its workflow to the
// next. What is large, the specs, is in the plan that Plan names.
type SweepInput struct {
	Name   string                 `json:"name"`
	Plan   string                 `json:"plan"` // digest of the plan in the artifact store
	Arms   []SweepArm             `json:"arms"`
	Limits experiment.SweepLimits `json:"limits"`
	Stop   experiment.SweepStop   `json:"stop"`
	Cells  []sweep.Cell           `json:"cells"`

	// Mode is what people asked of the whole sweep, and Reason why.
	Mode    string    `json:"mode,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Renewed int       `json:"renewed,omitempty"` // runs of the workflow before this one
	Began   time.Time `json:"began,omitzero"`
}

// SweepArm is an arm as far as the workflow needs to know it.
type SweepArm struct {
	Name    string     `json:"name"`
	Need    sweep.Need `json:"need"`               // the most that one of its cells uses
	GivenUp string     `json:"given_up,omitempty"` // why; "" if it is not
}

// Modes of a sweep.
const (
	modeRun    = ""
	modePause  = "pause"
	modeStop   = "stop"
	modeCancel = "cancel"
)

// Times of a sweep. Cells tell their sweep what happens to them; looking at them
// is for what could not be told: a cell that was terminated, or is not this
// sweep's child.
const (
	lookEvery = time.Minute
	lookMost  = 15 * time.Minute // between looks that found nothing new
	lookBatch = 100              // cells in one activity
	openBatch = 25               // cells that start at the same time
)

// Sweep runs arms x seeds, each cell as an Experiment of its own, at most so many
// at the same time, and waits where cells need somebody's decision.
func Sweep(ctx workflow.Context, in SweepInput) (SweepStatus, error) {
	// A cancellation is a command like others: cells are cancelled and waited for,
	// so the work goes on in a context that does not end with it.
	work, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	s, err := openSweep(work, in)
	if err != nil {
		return SweepStatus{}, err
	}
	s.heed(ctx)
	for {
		s.extend(work)
		s.judge()
		s.steer(work)
		if err := s.fill(work); err != nil {
			return SweepStatus{}, err
		}
		if s.over() {
			return s.finish(work)
		}
		s.show(work)
		if workflow.GetInfo(work).GetContinueAsNewSuggested() {
			return SweepStatus{}, s.renew(work)
		}
		if err := s.rest(work); err != nil {
			return SweepStatus{}, err
		}
	}
}

// sweepRun is one sweep under way.
type sweepRun struct {
	in      SweepInput
	index   map[string]int // of cells, by the name of their experiment
	shown   string         // the state as last shown
	fresh   bool           // something happened since the last turn
	due     bool           // it is time to look at the cells
	quiet   time.Duration  // between looks
	wider   *SweepExtend   // to be taken in at the next turn
	byOwner bool           // cancelled through Temporal itself
}

func openSweep(ctx workflow.Context, in SweepInput) (*sweepRun, error) {
	s := &sweepRun{in: in, quiet: lookEvery, fresh: true}
	if s.in.Began.IsZero() {
		s.in.Began = workflow.Now(ctx)
	}
	s.reindex()
	if err := workflow.SetQueryHandler(ctx, QuerySweep, func() (SweepStatus, error) { return s.status(), nil }); err != nil {
		return nil, err
	}
	if err := s.handle(ctx); err != nil {
		return nil, err
	}
	every(ctx, SignalCell, func(_ workflow.Context, c activities.CellState) { s.told(c) })
	s.tick(ctx)
	s.deadline(ctx)
	return s, nil
}

// heed takes a cancellation through Temporal itself for the command.
func (s *sweepRun) heed(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		s.in.Mode, s.in.Reason, s.byOwner, s.fresh = modeCancel, "its workflow was cancelled", true, true
	})
}

func (s *sweepRun) reindex() {
	s.index = map[string]int{}
	for i := range s.in.Cells {
		s.index[s.nameOf(i)] = i
	}
}

func (s *sweepRun) nameOf(i int) string {
	c := s.in.Cells[i]
	return experiment.CellName(s.in.Name, s.in.Arms[c.Arm].Name, c.Seed)
}

// tick makes it time to look, now and then.
func (s *sweepRun) tick(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Sleep(ctx, s.quiet) == nil {
			s.due = true
		}
	})
}

// deadline stops the sweep when its deadline has come, unless that has changed.
func (s *sweepRun) deadline(ctx workflow.Context) {
	text := s.in.Limits.Deadline
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return // none
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := workflow.Sleep(ctx, max(0, at.Sub(workflow.Now(ctx))))
		if err == nil && s.in.Limits.Deadline == text && s.in.Mode != modeCancel {
			s.in.Mode, s.in.Reason, s.fresh = modeStop, "the deadline "+text+" has come", true
		}
	})
}

// rest waits for news, or for the time to look.
func (s *sweepRun) rest(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return s.fresh || s.due }); err != nil {
		return err
	}
	s.fresh = false
	if !s.due {
		return nil
	}
	err := s.lookAtAll(ctx)
	s.fresh = true // limits may have got room
	return err
}

// over says that nothing is left to do or to decide.
func (s *sweepRun) over() bool {
	for _, c := range s.in.Cells {
		if !c.Ended() || (c.State == sweep.Failed && s.in.Mode != modeStop && s.in.Mode != modeCancel) {
			return false
		}
	}
	return true
}

func (s *sweepRun) finish(ctx workflow.Context) (SweepStatus, error) {
	s.show(ctx)
	if s.byOwner {
		return SweepStatus{}, temporal.NewCanceledError(s.status().Tally.String())
	}
	return s.status(), nil
}

// renew goes on in a new run, before the history of this one gets too long. Cells
// under way are not part of a history: they were left to themselves when they
// started, and tell the new run.
func (s *sweepRun) renew(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	s.drain(ctx)
	s.in.Renewed++
	return workflow.NewContinueAsNewError(ctx, Sweep, s.in)
}
