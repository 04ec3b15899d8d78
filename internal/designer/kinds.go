package designer

import (
	"slices"

	"floe/internal/experiment"
)

// Kind is a way to design, as in DesignerSpec.Kind.
type Kind struct {
	Name string
	// Asks says that a language model is asked.
	Asks bool
	// Serves says that it is a model of the experiment's own, which has to be made
	// to answer first.
	Serves bool
	// Rule says that a formula decides, and Needs which of these sections it has to
	// be shown, one being enough; a rule without Needs looks at nothing.
	Rule  bool
	Needs []string
}

// Kinds that ask a model of the experiment's own.
const (
	KindTrained = "trained" // the checkpoint of the round
	KindBase    = "base"    // the untrained model
)

// Kinds are all there are. Package rule has a formula for each rule.
var Kinds = []Kind{
	{Name: "fixed", Rule: true},
	{Name: "random", Rule: true},
	{Name: "uniform", Rule: true},
	{Name: "linear", Rule: true, Needs: []string{"training"}},
	{Name: "learnability", Rule: true, Needs: []string{"failures"}},
	{Name: "regret", Rule: true, Needs: []string{"failures"}},
	{Name: "replay", Rule: true, Needs: []string{"history", "designed-history"}},
	{Name: "human"},
	{Name: "openai", Asks: true},
	{Name: KindTrained, Asks: true, Serves: true},
	{Name: KindBase, Asks: true, Serves: true},
}

// PromptRoom is the room that a designer's prompt is given where its model is served, in
// tokens: all sections after many rounds, with something to spare (ours).
const PromptRoom = 8192

// Longest is the longest prompt and answer together that an experiment asks its own
// model for, in tokens. It is one for all questions, so that one server answers all.
func Longest(spec experiment.Spec) int {
	tokens := spec.Trainer.Recipe.PromptTokens + spec.Ask.MaxTokens
	if kind, ok := KindOf(spec.Designer.Kind); ok && kind.Serves {
		tokens = max(tokens, PromptRoom+spec.Designer.MaxTokens)
	}
	return tokens
}

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}
