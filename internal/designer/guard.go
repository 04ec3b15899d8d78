package designer

import (
	"fmt"
	"strings"

	"floe/internal/experiment"
)

// Constants of the guard against trivial environments; they are ours. A size is
// mastered if it had at least masteredN answers in the validation after the round
// just finished, and at least masteredRate of them were valid. A curriculum is
// trivial if at least trivialShare of its samples are on mastered sizes: with
// min_share, or out of caution, a crumb is left elsewhere.
const (
	masteredRate = 0.95
	masteredN    = 20
	trivialShare = 0.99
)

// What to do about a trivial environment, as in DesignerSpec.Trivial.
const (
	TrivialIgnore = "ignore"
	TrivialWarn   = "warn"
	TrivialStop   = "stop"
)

// guard warns of a curriculum from which nothing is left to learn, and asks for a
// person if the experiment wants that. After the last round nobody trains on the
// curriculum any more, so nobody has to decide.
func (e Evidence) guard(trivial string, t *experiment.Transcript) {
	if trivial != TrivialWarn && trivial != TrivialStop {
		return
	}
	t.Warning = TrivialWarning(t.Used, e.current().Scorecard)
	if t.Warning != "" && trivial == TrivialStop && e.Round+1 < e.Rounds {
		t.NeedsApproval = t.Warning
	}
}

// TrivialWarning says in a sentence that a curriculum puts practically all samples
// on sizes that a scorecard shows as mastered; empty when it does not.
func TrivialWarning(c experiment.Curriculum, card experiment.Scorecard) string {
	share := 0.0
	var sizes []string
	for _, row := range c.Rows {
		rates := card.Of(row.Size)
		if row.DataRatio > 0 && rates.N >= masteredN && rates.ValidRate() >= masteredRate {
			share += row.DataRatio
			sizes = append(sizes, fmt.Sprintf("%s (%s valid, %d of %d)", row.Size, percent(rates.ValidRate()), rates.Valid, rates.N))
		}
	}
	if share < trivialShare-1e-9 {
		return ""
	}
	return fmt.Sprintf("The environment becomes trivial: %s of the samples are on sizes that are mastered already: %s.", percent(share), strings.Join(sizes, ", "))
}
