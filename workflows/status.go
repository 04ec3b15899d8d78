package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
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
	// Waiting is the proposal that a person has to decide about, in StateWaiting.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// RoundFigures is one finished round in a status.
type RoundFigures struct {
	Round   int              `json:"round"`
	Rates   experiment.Rates `json:"rates"`
	Outcome string           `json:"outcome"` // of the design
}

// Waits says whether a person has to decide before the experiment goes on.
func (s Status) Waits() bool { return s.State == StateWaiting && s.Waiting != nil }

// details is the line that the Temporal UI shows on top of the experiment.
func (s Status) details() string {
	line := s.State
	p := s.Progress
	switch {
	case s.Waits():
		line = fmt.Sprintf("%s: **%s**: %s\n\n    starter design show %s", s.Position(), s.State, s.Waiting.Reason, s.Name)
	case p.Step != "" && s.State != StateDone:
		line = fmt.Sprintf("%s: %s", s.Position(), p.Step)
		if p.Total > 0 {
			line += fmt.Sprintf(", %d %%", 100*p.Done/p.Total)
		}
		if p.Note != "" {
			line += ", " + p.Note
		}
	}
	if s.Base != nil {
		line += fmt.Sprintf("\n\nuntrained: %s valid, %s optimal", percent(s.Base.ValidRate()), percent(s.Base.OptimalRate()))
	}
	for _, r := range s.Done {
		line += fmt.Sprintf("\n\nround %d: %s valid, %s optimal; next design: %s", r.Round,
			percent(r.Rates.ValidRate()), percent(r.Rates.OptimalRate()), loud(r.Outcome))
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

// enter moves to a state and tells the search attributes.
func (s *Status) enter(ctx workflow.Context, state string) error {
	s.State = state
	s.show(ctx)
	return workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(state))
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
