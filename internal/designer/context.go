package designer

import (
	"fmt"
	"slices"
	"strings"

	"floe/internal/experiment"
)

// Context is what a designer sees: named sections, in order.
type Context struct {
	Name     string
	Sections []string
}

// Contexts are the paper's six. A new one is a row here; a section that says
// something new is a row in sectionTable and a file under sections.
var Contexts = []Context{
	{"V1", []string{"failures"}},
	{"V2", []string{"failures", "guidelines"}},
	{"V3", []string{"failures", "guidelines", "history"}},
	{"V4", []string{"failures", "guidelines", "designed-history"}},
	{"V5", []string{"failures", "guidelines", "designed-history", "summary"}},
	{"V6", []string{"failures", "guidelines", "designed-history", "training"}},
}

// Depths of the training section.
const (
	DetailsBookkeeping = "bookkeeping" // which round, of how many, epochs per round
	DetailsFull        = "full"        // the algorithm, its settings and the reward too
)

// Shown is the part of the evidence that a context shows. What it does not show
// is not in here, so neither a template nor a rule can leak it.
type Shown struct {
	Failures   *experiment.Scorecard // of the round just finished; nil when not shown
	Guidelines bool
	History    *History
	Summary    *Summary
	Training   *Training
}

// History is rounds with their curricula and validation results.
type History struct {
	Rounds []RoundEvidence // without training and rationale
	// SinceDesign says that round 0, which nobody designed, is left out.
	SinceDesign bool
}

// Summary is what the designer wrote last time; Text is empty if it never did.
type Summary struct{ Text string }

// Training is how the policy is trained.
type Training struct {
	Round, Rounds, Epochs int
	Full                  *FullTraining // nil for bookkeeping
}

// FullTraining is what the full depth adds.
type FullTraining struct {
	Samples int
	Trainer experiment.TrainerSpec
	Reward  experiment.RewardSpec
	Base    *experiment.Scorecard
	Last    experiment.Training // of the round just finished
}

// sectionTable says for each section which part of the evidence it takes and
// which file words it.
var sectionTable = []struct {
	name string
	file string
	show func(s *Shown, e Evidence, details string)
}{
	{"failures", "failures.md", func(s *Shown, e Evidence, _ string) { card := e.current().Scorecard; s.Failures = &card }},
	{"guidelines", "guidelines.md", func(s *Shown, _ Evidence, _ string) { s.Guidelines = true }},
	{"history", "history.md", func(s *Shown, e Evidence, _ string) { s.History = &History{Rounds: results(e.History)} }},
	{"designed-history", "history.md", func(s *Shown, e Evidence, _ string) { s.History = &History{results(e.History[1:]), true} }},
	{"summary", "summary.md", func(s *Shown, e Evidence, _ string) { s.Summary = &Summary{e.lastRationale()} }},
	{"training", "training.md", func(s *Shown, e Evidence, details string) { s.Training = training(e, details) }},
}

// Show picks what a context shows of the evidence.
func Show(e Evidence, context, details string) (Shown, error) {
	names, err := sectionsOf(context)
	if err != nil {
		return Shown{}, err
	}
	if details != DetailsBookkeeping && details != DetailsFull {
		return Shown{}, fmt.Errorf("depth of training details %q; want %s or %s", details, DetailsBookkeeping, DetailsFull)
	}
	if err := e.validate(); err != nil {
		return Shown{}, err
	}
	var s Shown
	for _, row := range sectionTable {
		if slices.Contains(names, row.name) {
			row.show(&s, e, details)
		}
	}
	return s, nil
}

func sectionsOf(context string) ([]string, error) {
	var known []string
	for _, c := range Contexts {
		if c.Name == context {
			return c.Sections, nil
		}
		known = append(known, c.Name)
	}
	return nil, fmt.Errorf("context %q; want one of %s", context, strings.Join(known, ", "))
}

// results are rounds without what belongs to other sections.
func results(rounds []RoundEvidence) []RoundEvidence {
	out := make([]RoundEvidence, len(rounds))
	for i, r := range rounds {
		out[i] = RoundEvidence{Round: r.Round, Curriculum: r.Curriculum, Scorecard: r.Scorecard}
	}
	return out
}

func training(e Evidence, details string) *Training {
	t := &Training{Round: e.Round, Rounds: e.Rounds, Epochs: e.Epochs}
	if details == DetailsFull {
		t.Full = &FullTraining{Samples: e.Samples, Trainer: e.Trainer, Reward: e.Reward, Base: e.Base, Last: e.current().Training}
	}
	return t
}
