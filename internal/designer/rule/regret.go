package rule

import (
	"fmt"

	"floe/internal/designer"
	"floe/internal/experiment"
)

// regret gives each size samples in proportion to how far its answers are from the
// optimum, plus 0.03: most where most is left to gain, as in designing environments
// by regret (Dennis et al. 2020, arXiv:2012.02096; Jiang et al. 2021,
// arXiv:2010.03934). There regret is estimated; here the optimum is known:
//
//	regret = 1 - mean over answers of optimal cost / cost, a failed answer counting 0
//	       = 1 - valid rate * sum of optimal costs / sum of costs
//
// The second line is what scorecards can give: they hold sums over the valid
// answers, so that long answers weigh more than in the mean. Unlike learnability it
// goes where nothing is solved at all. Knobs are set as by learnability, so that
// the two differ in what samples are weighed by and nothing else (ours).
func regret(in designer.Request) (designer.Proposal, error) {
	return weighing{
		kind:   "regret",
		weight: func(l level) float64 { return l.regret() + restShare },
		shown:  func(l level) string { return fmt.Sprintf("a regret of %s at %s", number(l.regret()), l.rate()) },
		even:   "are equally far from the optimum",
		most:   "farthest from the optimum",
	}.propose(in)
}

func (l level) regret() float64 { return 1 - l.reached }

// costRatio is the optimal cost over the cost of a size's valid answers, taken
// together; 1 when none is valid, which their rate of 0 makes irrelevant.
func costRatio(card experiment.Scorecard, size string) float64 {
	var cost, optimum int64
	for _, c := range card.Cells {
		if c.Size == size {
			cost += c.Cost
			optimum += c.Optimum
		}
	}
	if cost <= 0 {
		return 1
	}
	return float64(optimum) / float64(cost)
}
