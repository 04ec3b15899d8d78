package designer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"floe/internal/experiment"
)

// Context is what a designer sees: named sections, in order.
type Context struct {
	Name     string // "V1" to "V6", or "custom"
	Sections []string
	Details  string // depth of the training section
	// Guidelines is a text that takes the place of the guidelines section's own;
	// empty for ours.
	Guidelines string
}

// Contexts are the paper's six. A new one is a row here and a word in the enum of
// experiment.DesignerSpec; a section that says something new is a row in
// sectionTable and a file under sections.
var Contexts = []Context{
	{Name: "V1", Sections: []string{"failures"}},
	{Name: "V2", Sections: []string{"failures", "guidelines"}},
	{Name: "V3", Sections: []string{"failures", "guidelines", "history"}},
	{Name: "V4", Sections: []string{"failures", "guidelines", "designed-history"}},
	{Name: "V5", Sections: []string{"failures", "guidelines", "designed-history", "summary"}},
	{Name: "V6", Sections: []string{"failures", "guidelines", "designed-history", "training"}},
}

// CustomContext is the name of a context whose sections the experiment lists.
const CustomContext = "custom"

// Depths of the training section.
const (
	DetailsBookkeeping = "bookkeeping" // which round, of how many, epochs per round
	DetailsFull        = "full"        // the algorithm, its settings and the reward too
)

// Shown is the part of the evidence that a context shows. What it does not show
// is not in here, so neither a template nor a rule can leak it.
type Shown struct {
	Failures   *experiment.Scorecard // of the round just finished; nil when not shown
	Guidelines *Guidelines
	History    *History
	Summary    *Summary
	Training   *Training
}

// Guidelines is general advice. Own is the experiment's text; empty for ours.
type Guidelines struct{ Own string }

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
	show func(s *Shown, e Evidence, c Context)
}{
	{"failures", "failures.md", func(s *Shown, e Evidence, _ Context) { card := e.current().Scorecard; s.Failures = &card }},
	{"guidelines", "guidelines.md", func(s *Shown, _ Evidence, c Context) { s.Guidelines = &Guidelines{c.Guidelines} }},
	{"history", "history.md", func(s *Shown, e Evidence, _ Context) { s.History = &History{Rounds: results(e.History)} }},
	{"designed-history", "history.md", func(s *Shown, e Evidence, _ Context) { s.History = &History{results(e.History[1:]), true} }},
	{"summary", "summary.md", func(s *Shown, e Evidence, _ Context) { s.Summary = &Summary{e.lastRationale()} }},
	{"training", "training.md", func(s *Shown, e Evidence, c Context) { s.Training = training(e, c.Details) }},
}

// Sections are the names of all sections that a context can have.
func Sections() []string {
	names := make([]string, len(sectionTable))
	for i, row := range sectionTable {
		names[i] = row.name
	}
	return names
}

// ContextOf is the context that a spec asks for: a row of Contexts, or the
// sections it lists. The error says everything that is wrong with it.
func ContextOf(spec experiment.DesignerSpec) (Context, error) {
	c, err := named(spec)
	if err != nil {
		return Context{}, err
	}
	c.Details, c.Guidelines = spec.Details, spec.Guidelines
	return c, errors.Join(c.faults()...)
}

func named(spec experiment.DesignerSpec) (Context, error) {
	if spec.Context == CustomContext {
		return Context{Name: CustomContext, Sections: slices.Clone(spec.Sections)}, nil
	}
	var known []string
	for _, c := range Contexts {
		if c.Name == spec.Context {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return Context{}, fmt.Errorf("context %q; want one of %s, %s", spec.Context, strings.Join(known, ", "), CustomContext)
}

func (c Context) faults() (errs []error) {
	if len(c.Sections) == 0 {
		errs = append(errs, fmt.Errorf("context %s has no sections; want at least one of %s", c.Name, strings.Join(Sections(), ", ")))
	}
	for i, name := range c.Sections {
		switch {
		case !slices.Contains(Sections(), name):
			errs = append(errs, fmt.Errorf("section %q; want one of %s", name, strings.Join(Sections(), ", ")))
		case slices.Contains(c.Sections[:i], name):
			errs = append(errs, fmt.Errorf("section %s a second time; want each once", name))
		}
	}
	if c.Shows("history") && c.Shows("designed-history") {
		errs = append(errs, errors.New("sections history and designed-history; want one of them: the first holds all of the second"))
	}
	if c.Details != DetailsBookkeeping && c.Details != DetailsFull {
		errs = append(errs, fmt.Errorf("depth of training details %q; want %s or %s", c.Details, DetailsBookkeeping, DetailsFull))
	}
	return errs
}

// Shows says whether a context has one of these sections.
func (c Context) Shows(sections ...string) bool {
	return slices.ContainsFunc(sections, func(s string) bool { return slices.Contains(c.Sections, s) })
}

// Show picks what a context shows of the evidence.
func Show(e Evidence, c Context) (Shown, error) {
	if err := errors.Join(append(c.faults(), e.validate())...); err != nil {
		return Shown{}, err
	}
	var s Shown
	for _, row := range sectionTable {
		if c.Shows(row.name) {
			row.show(&s, e, c)
		}
	}
	return s, nil
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
