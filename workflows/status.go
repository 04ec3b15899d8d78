package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/retry"
)

// Status is what the query "status" answers: all that a live view needs.
type Status struct {
	Name     string              `json:"name"`
	State    string              `json:"state"`
	Rounds   int                 `json:"rounds"` // in all
	Progress activities.Progress `json:"progress"`
	Base     *experiment.Rates   `json:"base,omitempty"` // the untrained policy
	Done     []RoundFigures      `json:"done"`
	Report   string              `json:"report,omitempty"`
	// Cause says in one sentence why the experiment waits or ended.
	Cause   string   `json:"cause,omitempty"`
	Failure *Failure `json:"failure,omitempty"` // what it waits for a decision on
	Reason  string   `json:"reason,omitempty"`  // of the last thing that somebody did
	// Pausing and Stopping say what was asked for and has not come about yet, or
	// is the state by now.
	Pausing  bool               `json:"pausing,omitempty"`
	Stopping bool               `json:"stopping,omitempty"`
	Skipped  []string           `json:"skipped,omitempty"` // benchmarks that were left out
	Events   []activities.Event `json:"events,omitempty"`
	// Waiting is the proposal that a person has to decide about, in StateWaiting.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// RoundFigures is one finished round in a status.
type RoundFigures struct {
	Round   int              `json:"round"`
	Rates   experiment.Rates `json:"rates"`
	Outcome string           `json:"outcome"` // of the design
}

// doneBefore are the figures of the rounds before one.
func (s Status) doneBefore(round int) []RoundFigures {
	return slices.DeleteFunc(slices.Clone(s.Done), func(r RoundFigures) bool { return r.Round >= round })
}

// ended says whether nothing will happen any more.
func (s Status) ended() bool {
	return Finished(s.State) || slices.Contains([]string{StateStopped, StateFailed, StateCancelled}, s.State)
}

// Waits says whether a person has to decide before the experiment goes on.
func (s Status) Waits() bool { return s.State == StateWaiting && s.Waiting != nil }

// Outage is the service that the running step waits for; nil if all answer.
func (s Status) Outage() *retry.Outage {
	if s.State != StateOutage {
		return nil
	}
	return s.Progress.Outage
}

// details is what the Temporal UI shows on top of the experiment.
func (s Status) details() string {
	text := []string{s.Line()}
	if s.Base != nil {
		text = append(text, fmt.Sprintf("untrained: %s valid, %s optimal", experiment.Percent(s.Base.ValidRate()), experiment.Percent(s.Base.OptimalRate())))
	}
	for _, r := range s.Done {
		text = append(text, fmt.Sprintf("round %d: %s valid, %s optimal; next design: %s", r.Round,
			experiment.Percent(r.Rates.ValidRate()), experiment.Percent(r.Rates.OptimalRate()), loud(r.Outcome)))
	}
	for _, skipped := range s.Skipped {
		text = append(text, skipped+": left out")
	}
	if len(s.Events) > 0 {
		text = append(text, "what happened:")
	}
	for _, e := range s.Events {
		text = append(text, "- "+EventLine(e, s.Rounds))
	}
	return strings.Join(text, "\n\n")
}

// EventLine says in a line what somebody did.
func EventLine(e activities.Event, rounds int) string { return e.At + " " + e.Line(rounds) }

// Line says in one sentence how the experiment stands.
func (s Status) Line() string {
	switch {
	case s.Cause != "":
		return s.Cause
	case s.ended():
		return withReason(s.State, s.stoppedFor())
	case s.State == StatePaused:
		return withReason("paused, "+s.Position(), s.Reason)
	case s.State == StateCancelling:
		return withReason("cancelling", s.Reason) + "; waits for " + s.work() + " to end"
	}
	line := s.work()
	if s.Waits() {
		line = fmt.Sprintf("%s: %s: %s; see starter design show %s", s.Position(), s.State, s.Waiting.Reason, s.Name)
	}
	if s.Pausing {
		line += withReason("; pauses after this step", s.Reason)
	}
	if s.Stopping {
		line += withReason("; stops after this round", s.Reason)
	}
	return line
}

func (s Status) stoppedFor() string {
	if s.State == StateStopped {
		return s.Reason
	}
	return ""
}

func withReason(line, reason string) string {
	if reason == "" {
		return line
	}
	return line + " (" + reason + ")"
}

// work says what goes on.
func (s Status) work() string {
	p := s.Progress
	line := s.Position()
	if p.Step != "" {
		line += ": " + p.Step
	}
	if o := s.Outage(); o != nil {
		return line + ", " + o.String()
	}
	if p.Total > 0 {
		line += fmt.Sprintf(", %d %%", 100*p.Done/p.Total)
	}
	if p.Note != "" {
		line += ", " + p.Note
	}
	return line
}

// Position says in words where the experiment is.
func (s Status) Position() string {
	switch {
	case s.Progress.Round < 0:
		return "preparing"
	case s.Progress.Round >= s.Rounds:
		return "benchmarks"
	default:
		return roundOf(s.Progress.Round, s.Rounds)
	}
}

// show makes the status visible in the UI.
func (s Status) show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, s.details()) }

// undesigned says why a finished experiment was not designed: nothing that its designer
// proposed could be used in any round. "" if something could.
func (s Status) undesigned() string {
	designs := s.Done[:max(min(1, len(s.Done)), len(s.Done)-1)] // no round follows the last
	if len(designs) == 0 || slices.ContainsFunc(designs, func(r RoundFigures) bool { return r.Outcome != Fallback }) {
		return ""
	}
	return Undesigned(s.Name)
}

// Undesigned says what is wrong with an experiment in StateUndesigned, and what to do.
func Undesigned(name string) string {
	return fmt.Sprintf("no design was usable, so round 0's curriculum was kept to the end; see starter transcript show %[1]s for the reason, fix the designer, then run starter retry %[1]s", name)
}

// Fallback is the outcome of a design of which nothing could be used.
const Fallback = "fallback"

// loud makes a design that was not used stand out among those that were.
func loud(outcome string) string {
	if outcome == Fallback {
		return "**" + activities.StateFallback + "** (nothing usable came; the last curriculum stays)"
	}
	return outcome
}
