package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// Updates of a round that waits for a person. Each answers with
// activities.Decided once the decision is stored, or with why it was refused.
const (
	UpdateApprove = "approve" // takes an Approval
	UpdateEdit    = "edit"    // takes an Edit
	UpdateReject  = "reject"  // takes a Rejection
)

// KindDecided is the kind of refusal of a decision that comes too late.
const KindDecided = "Decided"

// Approval uses a proposal as it is.
type Approval struct {
	By   string `json:"by"`
	Note string `json:"note,omitempty"`
}

// Edit uses another curriculum in place of the proposed one.
type Edit struct {
	By         string                `json:"by"`
	Note       string                `json:"note,omitempty"`
	Rationale  string                `json:"rationale,omitempty"` // what the next round's designer is told
	Curriculum experiment.Curriculum `json:"curriculum"`
}

// Rejection keeps the last curriculum.
type Rejection struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Waiting is a proposal that a person has to decide about.
type Waiting struct {
	Round      int             `json:"round"` // whose design it is
	Reason     string          `json:"reason"`
	Since      string          `json:"since"` // RFC 3339, UTC
	Curriculum activities.Done `json:"curriculum"`
	Scorecard  activities.Done `json:"scorecard"`
	Proposal   activities.Done `json:"proposal"`
}

// approval is the place where a round waits for a person.
type approval struct {
	in      RoundInput
	refs    activities.RoundRefs
	reason  string
	current *activities.Decision // being stored, or stored
	stored  bool
	result  activities.Decided
	refused error // why the last decision could not be used
	freed   bool  // nobody needs to decide any more: the experiment ends after this round
}

// decided returns what is used in place of a proposal, once a person has said; nil
// where the experiment ends after this round, so that nobody would use it. A
// decision of an earlier run of this experiment counts.
func (in RoundInput) decided(ctx workflow.Context, refs activities.RoundRefs, designed activities.Designed) (*activities.Decided, error) {
	if designed.Decided != nil {
		return designed.Decided, nil
	}
	g := &approval{in: in, refs: refs, reason: designed.NeedsApproval}
	if err := g.open(ctx, designed.Outcome); err != nil {
		return nil, err
	}
	for !g.stored {
		if err := workflow.Await(ctx, func() bool { return g.current != nil || g.freed }); err != nil {
			return nil, err
		}
		if g.current == nil {
			return nil, g.close(ctx)
		}
		if err := g.store(ctx); err != nil {
			return nil, err
		}
	}
	return &g.result, g.close(ctx)
}

// open says that the round waits, and listens.
func (g *approval) open(ctx workflow.Context, outcome string) error {
	name := g.in.Where.Name
	note(ctx, g.in, `**%s**: %s (the proposal is %s)

Decide on the command line:

    starter design show %s
    starter design approve %s
    starter design edit %s
    starter design reject %s --reason "..."`, StateWaiting, g.reason, outcome, name, name, name, name)
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(StateWaiting)); err != nil {
		return err
	}
	if err := g.listen(ctx); err != nil {
		return err
	}
	return g.tell(ctx, &Waiting{
		Round: g.in.Where.Round, Reason: g.reason, Since: workflow.Now(ctx).UTC().Format(time.RFC3339),
		Curriculum: g.refs.Curriculum, Scorecard: g.refs.Scorecard, Proposal: g.refs.Design,
	})
}

// listen takes decisions. The first one that can be stored counts.
func (g *approval) listen(ctx workflow.Context) error {
	every(ctx, SignalRelease, func(workflow.Context, bool) { g.freed = true })
	if err := on(ctx, g, UpdateApprove, checkApproval, func(a Approval) activities.Decision {
		return activities.Decision{Verdict: experiment.VerdictApproved, By: a.By, Note: a.Note}
	}); err != nil {
		return err
	}
	if err := on(ctx, g, UpdateEdit, checkEdit, func(e Edit) activities.Decision {
		return activities.Decision{Verdict: experiment.VerdictEdited, By: e.By, Note: e.Note, Rationale: e.Rationale, Curriculum: &e.Curriculum}
	}); err != nil {
		return err
	}
	return on(ctx, g, UpdateReject, checkRejection, func(r Rejection) activities.Decision {
		return activities.Decision{Verdict: experiment.VerdictRejected, By: r.By, Note: r.Reason}
	})
}

// on handles one kind of update: refused at once if it cannot be meant or comes
// too late, and answered when its decision is stored.
func on[T any](ctx workflow.Context, g *approval, name string, check func(T) error, decision func(T) activities.Decision) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(ctx workflow.Context, arg T) (activities.Decided, error) {
			d := decision(arg)
			d.At = workflow.Now(ctx).UTC().Format(time.RFC3339)
			g.current, g.refused = &d, nil
			err := workflow.Await(ctx, func() bool { return g.stored || g.refused != nil })
			if err == nil {
				err = g.refused
			}
			return g.result, err
		},
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, arg T) error {
			if d := g.current; d != nil {
				return temporal.NewApplicationError(fmt.Sprintf("decided already: %s by %s at %s", d.Verdict, d.By, d.At), KindDecided)
			}
			if g.freed {
				return temporal.NewApplicationError("nothing is left to decide: the experiment ends after this round", KindDecided)
			}
			return check(arg)
		}})
}

// store makes a decision durable. One that cannot be used is refused, and the
// round waits on.
func (g *approval) store(ctx workflow.Context) error {
	d := *g.current
	result, err := call(ctx, shortWork, g.in.Spec.Limits, g.in.summary("%s by %s", d.Verdict, d.By), do.Decide,
		activities.DecideInput{
			Where: g.in.Where, Spec: g.in.Spec, Curriculum: g.refs.Curriculum.ID, Scorecard: g.refs.Scorecard.ID,
			Proposal: g.refs.Design.ID, Reason: g.reason, Decision: d,
		})
	switch {
	case err == nil:
		g.result, g.stored = result, true
		return nil
	case ctx.Err() != nil || temporal.IsCanceledError(err):
		return err
	}
	g.current, g.refused = nil, err
	// The one who decided hears of it before the next decision is taken.
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// close says that the round goes on, and lets the one who decided know.
func (g *approval) close(ctx workflow.Context) error {
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueUnset()); err != nil {
		return err
	}
	if err := g.tell(ctx, nil); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// tell passes on to the experiment that its round waits, or no longer does.
func (g *approval) tell(ctx workflow.Context, w *Waiting) error {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil {
		return nil // a round on its own, in a test
	}
	return workflow.SignalExternalWorkflow(ctx, parent.ID, parent.RunID, SignalWaiting, w).Get(ctx, nil)
}

// listenWaiting takes in that the round waits for a person, or no longer does.
func (e *arm) listenWaiting(ctx workflow.Context) {
	every(ctx, SignalWaiting, func(ctx workflow.Context, w *Waiting) {
		state := StateRunning
		if w != nil {
			state = StateWaiting
		}
		e.status.Waiting = w
		if e.stopping {
			e.release(ctx)
		}
		if e.status.State == StateCancelling {
			return
		}
		if err := e.enter(ctx, state); err != nil {
			workflow.GetLogger(ctx).Warn("cannot report the state", "state", state, "error", err)
		}
	})
}

// release lets a round that waits for a person go on: the experiment ends after
// it, and nothing would use what they decide.
func (e *arm) release(ctx workflow.Context) {
	if e.status.Waiting != nil && e.child != "" {
		workflow.SignalExternalWorkflow(ctx, e.child, "", SignalRelease, true)
	}
}

// mostWords bounds what a person can write into a history.
const mostWords = 4000

func checkApproval(a Approval) error { return errorsOf(who(a.By), text("note", a.Note)) }

func checkEdit(e Edit) error {
	rows := ""
	if len(e.Curriculum.Rows) == 0 {
		rows = "curriculum has no sizes; want at least one"
	}
	return errorsOf(who(e.By), text("note", e.Note), text("rationale", e.Rationale), rows)
}

func checkRejection(r Rejection) error {
	reason := text("reason", r.Reason)
	if strings.TrimSpace(r.Reason) == "" {
		reason = "reason is empty; want why the last curriculum stays"
	}
	return errorsOf(who(r.By), reason)
}

func who(by string) string {
	if strings.TrimSpace(by) == "" {
		return "by is empty; want who decides"
	}
	return text("by", by)
}

func text(field, s string) string {
	if len(s) > mostWords {
		return fmt.Sprintf("%s has %d bytes; want at most %d", field, len(s), mostWords)
	}
	return ""
}

// errorsOf joins the faults there are.
func errorsOf(faults ...string) error {
	var told []string
	for _, f := range faults {
		if f != "" {
			told = append(told, f)
		}
	}
	if len(told) == 0 {
		return nil
	}
	return temporal.NewApplicationError(strings.Join(told, "; "), activities.KindBadInput)
}
