package rule

import (
	"fmt"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Constants of the rules that read validation results. They are ours, from closed
// loops with the embedded policy, where sizes alone hardly beat uniform and the
// knobs were the strong levers.
const (
	// restShare keeps samples on sizes that are always or never solved.
	restShare = 0.03
	// validGood and optimalGood are the rates from which a knob that tests them
	// goes from Easy to Hard.
	validGood   = 0.6
	optimalGood = 0.7
	// mastered is the valid rate from which a size is too easy even at Hard: its
	// knobs then go on, a quarter of the way from Hard to their end.
	mastered = 0.9
	// fewestValid is how many valid answers a size's own optimal rate needs to
	// rest on; below, the rate over all sizes stands in.
	fewestValid = 10
	// parts is the grain of shares: thousandths.
	parts = 1000
)

// learnability gives each size samples in proportion to p(1-p) + 0.03, with p its
// valid rate on validation: most where success and failure are equally common,
// as in prioritising by learnability (Tzannetos et al. 2023, arXiv:2304.12877;
// the constant is ours). Each size's knobs follow the rate that they test: Easy
// while it is low, Hard once it is good, further once the size is mastered.
func learnability(in designer.Request) (designer.Proposal, error) {
	return weighing{
		kind:   "learnability",
		weight: func(l level) float64 { return l.valid*(1-l.valid) + restShare },
		shown:  level.rate,
		even:   "are equally far from even odds",
		most:   "nearest to even odds",
	}.propose(in)
}

// weighing gives samples by a weight of each size, and sets the knobs by the rates
// that they test. The rules that weigh differ in the weight alone.
type weighing struct {
	kind   string
	weight func(level) float64
	shown  func(level) string // the number behind a weight, as words
	even   string             // what holds of all sizes when they weigh the same
	most   string             // what holds of the size that weighs most
}

func (w weighing) propose(in designer.Request) (designer.Proposal, error) {
	if in.Shown.Failures == nil {
		return designer.Proposal{}, hidden(w.kind, "validation results")
	}
	levels, err := levelsOf(w.kind, in.Space, *in.Shown.Failures)
	if err != nil {
		return designer.Proposal{}, err
	}
	asked := w.share(in.Space, levels)
	return designer.Proposal{Asked: asked, Rationale: w.rationale(in.Space, levels, asked)}, nil
}

// level is how well the policy does on a size.
type level struct {
	size string
	experiment.Rates
	valid   float64 // share of answers
	optimal float64 // share of valid answers
	pooled  bool    // optimal is that of all sizes, because too few answers are valid
	reached float64 // mean over all answers of the optimal cost over the cost; 0 for a failure
	like    string  // the size whose results these are, if it was not validated itself
}

func levelsOf(kind string, space env.Space, card experiment.Scorecard) ([]level, error) {
	total := card.Total()
	if total.N == 0 {
		return nil, &designer.FinalError{Reason: fmt.Sprintf("the %s rule reads validation results, and there are no answers in them", kind)}
	}
	levels := make([]level, len(space.Sizes))
	for i, size := range space.Sizes {
		like := nearest(space.Sizes, i, card)
		if like == "" {
			return nil, &designer.FinalError{Reason: fmt.Sprintf("the %s rule reads validation results, and they have none of the environment's sizes", kind)}
		}
		levels[i] = levelOf(size, card.Of(like), total)
		levels[i].reached = levels[i].valid * costRatio(card, like)
		if like != size {
			levels[i].like = like
		}
	}
	return levels, nil
}

func levelOf(size string, rates, total experiment.Rates) level {
	l := level{size: size, Rates: rates, valid: rates.ValidRate(), optimal: optimalOfValid(rates)}
	if rates.Valid < fewestValid {
		l.optimal, l.pooled = optimalOfValid(total), true
	}
	return l
}

// optimalOfValid is 0 when nothing is valid.
func optimalOfValid(r experiment.Rates) float64 {
	if r.Valid == 0 {
		return 0
	}
	return float64(r.Optimal) / float64(r.Valid)
}

// nearest is the validated size closest to place i on the ladder, the easier one
// of two; "" if none was validated.
func nearest(sizes []string, i int, card experiment.Scorecard) string {
	for d := range sizes {
		for _, j := range []int{i - d, i + d} {
			if j >= 0 && j < len(sizes) && card.Of(sizes[j]).N > 0 {
				return sizes[j]
			}
		}
	}
	return ""
}

// share divides the samples in proportion to the weights, in thousandths.
func (w weighing) share(space env.Space, levels []level) experiment.Curriculum {
	weights := make([]float64, len(levels))
	sum := 0.0
	for i, l := range levels {
		weights[i] = w.weight(l)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	var c experiment.Curriculum
	for i, n := range curriculum.Apportion(weights, parts) {
		row := experiment.Row{Size: levels[i].size, DataRatio: float64(n) / parts}
		for _, k := range space.Knobs {
			row.Knobs = append(row.Knobs, experiment.Knob{Name: k.Name, Value: stepOf(k, levels[i]).value(k)})
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// step is one of the three settings of a knob.
type step int

const (
	easy step = iota
	hard
	further
)

// stepOf sets a knob by the rate it tests. Only a mastered size goes beyond Hard:
// a policy that solves few tasks, but those well, has a good optimal rate too.
func stepOf(k env.Knob, l level) step {
	rate, good := l.tested(k)
	switch {
	case rate < good:
		return easy
	case l.valid >= mastered:
		return further
	}
	return hard
}

// tested is the rate that a knob tests, and from when on it is good.
func (l level) tested(k env.Knob) (rate, good float64) {
	if k.Tests == "optimal" {
		return l.optimal, optimalGood
	}
	return l.valid, validGood
}

func (s step) value(k env.Knob) float64 {
	end := k.Max
	if k.Hard < k.Easy {
		end = k.Min
	}
	switch s {
	case easy:
		return k.Easy
	case hard:
		return k.Hard
	default: // further
		return k.Hard + (end-k.Hard)/4
	}
}
