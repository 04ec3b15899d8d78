// Package rule holds the designers that need no model: classical curricula and
// the paper's baseline. A rule sees what its context shows and no more, gives the
// same answer to the same question, and says in its rationale which numbers
// moved it.
package rule

import (
	"context"
	"fmt"
	"strings"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// Rule proposes from what is shown.
type Rule func(designer.Request) (designer.Proposal, error)

// Propose applies the rule.
func (r Rule) Propose(ctx context.Context, in designer.Request) (designer.Proposal, error) {
	if err := ctx.Err(); err != nil {
		return designer.Proposal{}, err
	}
	return r(in)
}

// rules are all there are; a new one is a row.
var rules = []struct {
	kind string
	rule Rule
}{
	{"fixed", fixed},
	{"random", random},
	{"uniform", uniform},
	{"linear", linear},
	{"learnability", learnability},
	{"regret", regret},
	{"replay", replay},
}

// New returns the rule of that kind.
func New(kind string) (designer.Designer, error) {
	var known []string
	for _, r := range rules {
		if r.kind == kind {
			return r.rule, nil
		}
		known = append(known, r.kind)
	}
	return nil, fmt.Errorf("designer %q; want one of %s", kind, strings.Join(known, ", "))
}

// fixed proposes no change, ever. Since nobody else designs in its experiment,
// that keeps round 0's curriculum (paper: the baseline "GRPO (random)").
func fixed(designer.Request) (designer.Proposal, error) {
	return designer.Proposal{Rationale: "The baseline keeps round 0's curriculum in every round, whatever validation finds."}, nil
}

// random draws a new curriculum as round 0's was drawn.
func random(in designer.Request) (designer.Proposal, error) {
	return designer.Proposal{
		Asked:     curriculum.Random(in.Space, experiment.Rand(in.Seed, "random curriculum")),
		Rationale: "Every round trains on a new random curriculum, whatever validation finds.",
	}, nil
}

// uniform gives all sizes the same share, with the knobs at the environment's
// defaults: domain randomisation over sizes (Tobin et al. 2017,
// arXiv:1703.06907), the curriculum of one who knows nothing.
func uniform(in designer.Request) (designer.Proposal, error) {
	return designer.Proposal{
		Asked:     curriculum.Uniform(in.Space),
		Rationale: "All sizes share the samples evenly, with the knobs at their defaults, whatever validation finds.",
	}, nil
}

// hidden refuses to design without a section that the context does not show.
func hidden(kind, what string) error {
	known, _ := designer.KindOf(kind)
	return &designer.FinalError{Reason: fmt.Sprintf("the %s rule reads %s; use a context with the section %s", kind, what, strings.Join(known.Needs, " or "))}
}
