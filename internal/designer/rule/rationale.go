package rule

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
)

// rationale says in sentences which numbers moved the proposal.
func (w weighing) rationale(space env.Space, levels []level, asked experiment.Curriculum) string {
	sentences := []string{w.sampleSentence(levels, asked)}
	for _, k := range space.Knobs {
		sentences = append(sentences, knobSentence(k, levels))
	}
	for _, l := range levels {
		if l.like != "" {
			sentences = append(sentences, fmt.Sprintf("%s was not validated and is treated as %s.", l.size, l.like))
		}
	}
	return strings.Join(sentences, " ")
}

// sampleSentence names the sizes with the most and the fewest samples.
func (w weighing) sampleSentence(levels []level, asked experiment.Curriculum) string {
	most, fewest := 0, 0
	for i, row := range asked.Rows {
		if row.DataRatio > asked.Rows[most].DataRatio {
			most = i
		}
		if row.DataRatio <= asked.Rows[fewest].DataRatio {
			fewest = i
		}
	}
	if asked.Rows[most].DataRatio <= asked.Rows[fewest].DataRatio {
		return fmt.Sprintf("All sizes %s (%s), so they share the samples evenly.", w.even, w.shown(levels[most]))
	}
	return fmt.Sprintf("%s has %s, %s, so it gets the most samples (%s); %s has %s and gets the fewest (%s).",
		levels[most].size, w.shown(levels[most]), w.most, percent(asked.Rows[most].DataRatio),
		levels[fewest].size, w.shown(levels[fewest]), percent(asked.Rows[fewest].DataRatio))
}

func (l level) rate() string {
	return fmt.Sprintf("%s valid (%d of %d)", percent(l.valid), l.Valid, l.N)
}

// knobSentence names, setting by setting, the sizes that get it and why.
func knobSentence(k env.Knob, levels []level) string {
	var parts []string
	for _, s := range []step{easy, hard, further} {
		var of []level
		for _, l := range levels {
			if stepOf(k, l) == s {
				of = append(of, l)
			}
		}
		if len(of) > 0 {
			parts = append(parts, fmt.Sprintf("%s on %s, where %s", number(s.value(k)), spans(of, levels), reason(k, s, of)))
		}
	}
	return fmt.Sprintf("%s is %s.", k.Name, strings.Join(parts, "; "))
}

// reason says what holds for all sizes at a setting, with the numbers they have.
func reason(k env.Knob, s step, of []level) string {
	what := "answers are valid"
	if k.Tests == "optimal" {
		what = "valid answers are optimal"
	}
	_, good := of[0].tested(k)
	switch s {
	case easy:
		return fmt.Sprintf("fewer than %s of %s (%s)", percent(good), what, observed(k, of))
	case hard:
		return fmt.Sprintf("at least %s of %s (%s)", percent(good), what, observed(k, of))
	default: // further
		return fmt.Sprintf("at least %s of answers are valid and the size is mastered", percent(mastered))
	}
}

// observed is the range of a rate over sizes.
func observed(k env.Knob, of []level) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	pooled := false
	for _, l := range of {
		rate, _ := l.tested(k)
		lo, hi = min(lo, rate), max(hi, rate)
		pooled = pooled || (l.pooled && k.Tests == "optimal")
	}
	text := percent(lo)
	if percent(hi) != text {
		text += " to " + percent(hi)
	}
	if pooled {
		text += fmt.Sprintf(", over all sizes where fewer than %d are valid", fewestValid)
	}
	return text
}

// spans lists sizes, runs of neighbours as "5x5 to 8x8".
func spans(of, all []level) string {
	in := map[string]bool{}
	for _, l := range of {
		in[l.size] = true
	}
	var texts []string
	for i := 0; i < len(all); i++ {
		first := i
		for i < len(all) && in[all[i].size] {
			i++
		}
		switch n := i - first; {
		case n == 1:
			texts = append(texts, all[first].size)
		case n == 2:
			texts = append(texts, all[first].size, all[first+1].size)
		case n > 2:
			texts = append(texts, all[first].size+" to "+all[i-1].size)
		}
	}
	return joinAnd(texts)
}

func joinAnd(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " and " + texts[len(texts)-1]
}

func percent(v float64) string { return number(math.Round(1000*v)/10) + " %" }

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
