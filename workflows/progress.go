package workflows

import (
	"slices"
	"strings"

	"floe/activities"
)

// roundSteps are the steps of a round as progress names them, in their order.
var roundSteps = []string{"starting", "generate", "train", "evaluate", "design", "decision"}

// Outdated says whether progress is older than what is known already: progress
// reaches the experiment, and those who watch it, by ways of different speed.
func Outdated(p, known activities.Progress) bool {
	if p.Round != known.Round {
		return p.Round < known.Round
	}
	now, last := stepOrder(p.Step), stepOrder(known.Step)
	if now < 0 || last < 0 {
		return false
	}
	// Only heartbeats name their attempt, and they are fresher than signals.
	return now < last || now == last && p.Attempt < known.Attempt
}

// stepOrder is a step's place in its round; -1 if it has none.
func stepOrder(step string) int {
	return slices.Index(roundSteps, strings.TrimPrefix(step, heldBefore))
}

// heldBefore begins the step of a round that is paused.
const heldBefore = "before "

// Reported says whether a round's figures are in the status.
func (s Status) Reported(round int) bool {
	return slices.ContainsFunc(s.Done, func(r RoundFigures) bool { return r.Round == round })
}
