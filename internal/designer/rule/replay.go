package rule

import (
	"fmt"

	"floe/internal/designer"
)

// replay goes back to the curriculum after which validation was best, of those that
// the context shows: the highest valid rate, of equal ones the highest optimal
// rate, then the latest. A designer's mistake is undone a round later; while every
// round gains, the last curriculum stays. Rounds build on each other, so that a
// later one has an advantage that is not its curriculum's. The rule is ours.
func replay(in designer.Request) (designer.Proposal, error) {
	if in.Shown.History == nil {
		return designer.Proposal{}, hidden("replay", "the curricula of past rounds and what validation found")
	}
	rounds := in.Shown.History.Rounds
	if len(rounds) == 0 {
		return designer.Proposal{Rationale: "No round has trained on a designed curriculum yet, so there is none to go back to: the last curriculum stays."}, nil
	}
	best := rounds[0]
	for _, r := range rounds[1:] {
		if better(r, best) {
			best = r
		}
	}
	return designer.Proposal{Asked: best.Curriculum, Rationale: found(best, rounds)}, nil
}

// found says which rounds were compared and which was best.
func found(best designer.RoundEvidence, rounds []designer.RoundEvidence) string {
	first, last := rounds[0].Round, rounds[len(rounds)-1].Round
	if first == last {
		return fmt.Sprintf("Round %d is the only one to compare: its curriculum stays.", last)
	}
	total, what := best.Scorecard.Total(), "back to its curriculum"
	if best.Round == last {
		what = "its curriculum stays"
	}
	return fmt.Sprintf("Of rounds %d to %d, round %d validated best (%s valid, %s optimal): %s.",
		first, last, best.Round, percent(total.ValidRate()), percent(total.OptimalRate()), what)
}

// better prefers the later round, a, when both are the same.
func better(a, b designer.RoundEvidence) bool {
	x, y := a.Scorecard.Total(), b.Scorecard.Total()
	if x.ValidRate() != y.ValidRate() {
		return x.ValidRate() > y.ValidRate()
	}
	return x.OptimalRate() >= y.OptimalRate()
}
