package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"floe/internal/experiment"
	"floe/internal/sweep"
)

// UpdateExtend has a running sweep take in an extended file.
const UpdateExtend = "extend"

// SweepExtend is a sweep file read anew: all its cells, those that the sweep has
// among them.
type SweepExtend struct {
	Plan   string                 `json:"plan"`
	Arms   []SweepArm             `json:"arms"`
	Limits experiment.SweepLimits `json:"limits"`
	Stop   experiment.SweepStop   `json:"stop"`
	Cells  []sweep.Cell           `json:"cells"`
}

// SweepRetry names cells that are to try again; Failed means all that failed.
type SweepRetry struct {
	Cells  []string `json:"cells,omitempty"`
	Failed bool     `json:"failed,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// SweepAnswer is how the sweep stands after an update, and how many cells it
// concerned.
type SweepAnswer struct {
	Cells int         `json:"cells"`
	Tally sweep.Tally `json:"tally"`
}

func (s *sweepRun) answer(n int) SweepAnswer { return SweepAnswer{n, sweep.Count(s.in.Cells)} }

// handle takes updates. They only note what is wanted; the sweep's own turn does
// it, so that nothing changes under its hands.
func (s *sweepRun) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSteer, s.steered,
			workflow.UpdateHandlerOptions{Validator: s.maySteer, Description: "pause, resume, stop or cancel the whole sweep"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateRetry, s.retried,
			workflow.UpdateHandlerOptions{Validator: s.mayRetry, Description: "have cells try again"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateExtend, s.extended,
			workflow.UpdateHandlerOptions{Validator: s.mayExtend, Description: "take in an extended sweep file"}),
	)
}

func (s *sweepRun) maySteer(c Control) error {
	switch c.Verb {
	case VerbPause:
		if s.in.Mode != modeRun {
			return fmt.Errorf("sweep %s is %s; it cannot be paused", s.in.Name, s.stateWord())
		}
	case VerbResume:
		if s.in.Mode != modePause && sweep.Count(s.in.Cells).Paused == 0 {
			return fmt.Errorf("sweep %s is %s; nothing is paused", s.in.Name, s.stateWord())
		}
		if s.in.Mode == modeStop || s.in.Mode == modeCancel {
			return fmt.Errorf("sweep %s is %s; when it has ended, start it again", s.in.Name, s.stateWord())
		}
	case VerbStop:
		if s.in.Mode == modeStop || s.in.Mode == modeCancel {
			return fmt.Errorf("sweep %s is %s already", s.in.Name, s.stateWord())
		}
	case VerbCancel:
		if s.in.Mode == modeCancel {
			return fmt.Errorf("sweep %s is %s already", s.in.Name, s.stateWord())
		}
	default:
		return fmt.Errorf("found verb %q; want pause, resume, stop or cancel", c.Verb)
	}
	return nil
}

func (s *sweepRun) steered(_ workflow.Context, c Control) (SweepAnswer, error) {
	s.in.Reason, s.fresh = c.Reason, true
	before := sweep.Count(s.in.Cells)
	switch c.Verb {
	case VerbPause:
		s.in.Mode = modePause
	case VerbStop:
		s.in.Mode = modeStop
	case VerbCancel:
		s.in.Mode = modeCancel
	case VerbResume:
		s.in.Mode = modeRun
		for i := range s.in.Cells {
			if c := &s.in.Cells[i]; c.State == sweep.Paused {
				c.State, c.Verb = sweep.Waiting, VerbResume
			}
		}
	}
	return s.answer(before.Running + before.Paused), nil
}

// steer brings the cells to what the mode of the sweep wants of them.
func (s *sweepRun) steer(ctx workflow.Context) {
	var verbs []verb
	for i := range s.in.Cells {
		c := &s.in.Cells[i]
		want := s.wanted(c)
		if want != "" && c.Told != want {
			c.Told = want
			verbs = append(verbs, verb{i, want})
		}
	}
	if gone := s.tell(ctx, verbs); len(gone) > 0 {
		s.due = true // they have ended, or are about to begin: look how they are
	}
}

// wanted is what a cell is to be told; a cell that has not begun is settled here.
func (s *sweepRun) wanted(c *sweep.Cell) string {
	ending := s.in.Mode == modeStop || s.in.Mode == modeCancel
	if c.State == sweep.Waiting && ending {
		switch {
		case c.Verb == VerbResume:
			c.State = sweep.Paused
		case c.Verb == VerbRetry:
			c.State = sweep.Attention
		case s.in.Mode == modeCancel:
			c.State, c.Cause = sweep.Cancelled, cut(s.in.Reason)
		default:
			c.State, c.Cause = sweep.Stopped, cut(s.in.Reason)
		}
		c.Verb = ""
	}
	switch {
	case !c.Live():
	case s.in.Mode == modeCancel:
		return VerbCancel
	case s.in.Mode == modeStop && c.State != sweep.Running: // it would wait for somebody for ever
		return VerbStop
	case s.in.Arms[c.Arm].GivenUp != "" && (c.State == sweep.Running || c.State == sweep.Approval):
		return VerbStop
	case c.State != sweep.Running:
	case s.in.Mode == modePause:
		return VerbPause
	case c.Told == VerbPause:
		return VerbResume // it has not come to a halt yet
	}
	return ""
}

func (s *sweepRun) mayRetry(r SweepRetry) error {
	_, err := s.toRetry(r)
	return err
}

// toRetry finds the cells to try again; it is an error if there are none.
func (s *sweepRun) toRetry(r SweepRetry) (cells []int, err error) {
	if s.in.Mode == modeStop || s.in.Mode == modeCancel {
		return nil, fmt.Errorf("sweep %s is %s; when it has ended, start it again", s.in.Name, s.stateWord())
	}
	var faults []error
	for _, name := range r.Cells {
		i, ok := s.index[name]
		if !ok {
			faults = append(faults, fmt.Errorf("sweep %s has no cell %s", s.in.Name, name))
			continue
		}
		switch c := s.in.Cells[i]; {
		case s.in.Arms[c.Arm].GivenUp != "":
			faults = append(faults, fmt.Errorf("%s: its arm was given up: %s; change stop in the file and start the sweep again", name, s.in.Arms[c.Arm].GivenUp))
		case c.State == sweep.Attention || (c.Ended() && c.State != sweep.Done):
			cells = append(cells, i)
		default:
			faults = append(faults, fmt.Errorf("%s is %s; there is nothing to retry", name, c.State))
		}
	}
	for i, c := range s.in.Cells {
		if r.Failed && (c.State == sweep.Attention || c.State == sweep.Failed) && !slices.Contains(cells, i) {
			cells = append(cells, i)
		}
	}
	if len(faults) == 0 && len(cells) == 0 {
		faults = append(faults, fmt.Errorf("nothing to retry: %s", sweep.Count(s.in.Cells)))
	}
	return cells, errors.Join(faults...)
}

func (s *sweepRun) retried(_ workflow.Context, r SweepRetry) (SweepAnswer, error) {
	cells, err := s.toRetry(r)
	if err != nil {
		return SweepAnswer{}, err
	}
	for _, i := range cells {
		c := &s.in.Cells[i]
		if c.State == sweep.Attention {
			c.Verb = VerbRetry
		}
		c.State, c.Cause, c.Told = sweep.Waiting, "", ""
	}
	s.in.Reason, s.fresh = r.Reason, true
	return s.answer(len(cells)), nil
}

// faultsShown bounds how many changed cells a refusal names.
const faultsShown = 10

// mayExtend refuses a file that changes or drops a cell.
func (s *sweepRun) mayExtend(x SweepExtend) error {
	if s.in.Mode == modeStop || s.in.Mode == modeCancel {
		return fmt.Errorf("sweep %s is %s; when it has ended, start it again", s.in.Name, s.stateWord())
	}
	if s.wider != nil {
		return fmt.Errorf("sweep %s is being extended; try again in a moment", s.in.Name)
	}
	digests := map[string]string{}
	for _, c := range x.Cells {
		digests[experiment.CellName(s.in.Name, x.Arms[c.Arm].Name, c.Seed)] = c.Digest
	}
	var changed []string
	for i, c := range s.in.Cells {
		switch digest, there := digests[s.nameOf(i)]; {
		case !there:
			changed = append(changed, s.nameOf(i)+" is not in the file any more")
		case digest != c.Digest:
			changed = append(changed, s.nameOf(i)+" has another spec")
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if more := len(changed) - faultsShown; more > 0 {
		changed = append(changed[:faultsShown], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("sweep %s runs cells that the file changes: %s", s.in.Name, strings.Join(changed, "; "))
}

func (s *sweepRun) extended(ctx workflow.Context, x SweepExtend) (SweepAnswer, error) {
	added := len(x.Cells) - len(s.in.Cells)
	s.wider, s.fresh = &x, true
	if err := workflow.Await(ctx, func() bool { return s.wider == nil }); err != nil {
		return SweepAnswer{}, err
	}
	return s.answer(added), nil
}

// extend takes in a wider file, between two turns.
func (s *sweepRun) extend(ctx workflow.Context) {
	x := s.wider
	if x == nil {
		return
	}
	s.wider = nil
	old := map[string]sweep.Cell{}
	for i, c := range s.in.Cells {
		old[s.nameOf(i)] = c
	}
	if x.Stop == s.in.Stop { // else the arms are judged anew
		for i := range x.Arms {
			if j := slices.IndexFunc(s.in.Arms, func(a SweepArm) bool { return a.Name == x.Arms[i].Name }); j >= 0 {
				x.Arms[i].GivenUp = s.in.Arms[j].GivenUp
			}
		}
	}
	moved := s.in.Limits.Deadline != x.Limits.Deadline
	s.in.Plan, s.in.Arms, s.in.Limits, s.in.Stop, s.in.Cells = x.Plan, x.Arms, x.Limits, x.Stop, x.Cells
	for i := range s.in.Cells {
		if c, ok := old[s.nameOf(i)]; ok {
			c.Arm = s.in.Cells[i].Arm
			s.in.Cells[i] = c
		}
	}
	s.reindex()
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoPlan: x.Plan}); err != nil {
		workflow.GetLogger(ctx).Warn("cannot report the plan of the extended sweep", "error", err)
	}
	if moved {
		s.deadline(ctx)
	}
}
