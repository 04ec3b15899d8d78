package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"floe/internal/experiment"
)

// dataRatio is the name that changes and curricula give to the share of samples.
const dataRatio = "data_ratio"

// measurement is one point of the learning curve: the policy on the validation
// set, before training or after a round. Card is nil where nothing was measured.
type measurement struct {
	Label string // "untrained", "round 0"
	Short string // "base", "R0"
	Card  *experiment.Scorecard
}

// Of is what was measured on one size, or on all of them for "".
func (m measurement) Of(size string) experiment.Rates {
	switch {
	case m.Card == nil:
		return experiment.Rates{}
	case size == "":
		return m.Card.Total()
	default:
		return m.Card.Of(size)
	}
}

// measurements lists the untrained policy and every round, measured or not.
func measurements(r experiment.Results) []measurement {
	list := []measurement{{"untrained", "base", r.Base}}
	for _, round := range r.Rounds {
		list = append(list, measurement{roundLabel(round.Round), roundShort(round.Round), round.Scorecard})
	}
	return list
}

// scored keeps the measurements that were made.
func scored(list []measurement) []measurement {
	return slices.DeleteFunc(slices.Clone(list), func(m measurement) bool {
		return m.Card == nil || m.Card.Total().N == 0
	})
}

func roundLabel(n int) string { return fmt.Sprintf("round %d", n) }
func roundShort(n int) string { return fmt.Sprintf("R%d", n) }

// span is the first and the last of the curve: untrained, and the last round
// that was validated. What was not measured has no card.
func span(r experiment.Results) (start, end measurement) {
	list := measurements(r)
	start = list[0]
	end = measurement{Label: "last round"}
	for _, m := range list[1:] {
		if m.Card != nil {
			end = m
		}
	}
	return start, end
}

// validationSizes lists the sizes of the curve in the data's order.
func validationSizes(r experiment.Results) []string {
	var names []string
	for _, m := range measurements(r) {
		if m.Card != nil {
			names = union(names, m.Card.Sizes())
		}
	}
	return names
}

// curriculumSizes lists the sizes that any curriculum has a row for.
func curriculumSizes(r experiment.Results) []string {
	var names []string
	for _, round := range r.Rounds {
		names = union(names, rowSizes(round.Curriculum))
	}
	return names
}

func rowSizes(c experiment.Curriculum) []string {
	names := make([]string, len(c.Rows))
	for i, row := range c.Rows {
		names[i] = row.Size
	}
	return names
}

// fields lists what curricula set: the share of samples, then every knob.
func fields(curricula ...experiment.Curriculum) []string {
	names := []string{dataRatio}
	for _, c := range curricula {
		for _, row := range c.Rows {
			for _, k := range row.Knobs {
				names = union(names, []string{k.Name})
			}
		}
	}
	return names
}

// setting looks a field up in a curriculum.
func setting(c experiment.Curriculum, size, field string) (float64, bool) {
	row, ok := c.Row(size)
	if !ok {
		return 0, false
	}
	if field == dataRatio {
		return row.DataRatio, true
	}
	return row.Knob(field)
}

// checkNames lists the referee's checks in the data's order.
func checkNames(list []measurement) []string {
	var names []string
	for _, m := range list {
		if m.Card != nil {
			names = union(names, m.Card.Checks)
		}
	}
	return names
}

// failures counts the answers of one size ("" for all) that failed a check.
func failures(card *experiment.Scorecard, check, size string) int {
	at := slices.Index(card.Checks, check)
	sum := 0
	for _, c := range card.Cells {
		if at >= 0 && at < len(c.Errors) && (size == "" || c.Size == size) {
			sum += c.Errors[at]
		}
	}
	return sum
}

// union appends the names that are new, keeping the order in which names appear.
func union(names, more []string) []string {
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// missing says in sentences what a complete experiment would have and this one
// has not.
func missing(r experiment.Results) []string {
	var notes []string
	if r.Base == nil {
		notes = append(notes, "The untrained policy has not been measured, so there is no starting point.")
	}
	if done := len(r.Rounds); done < r.Spec.Rounds {
		notes = append(notes, fmt.Sprintf("%s of %d begun.", plural(done, "round"), r.Spec.Rounds))
	}
	for i, round := range r.Rounds {
		if gaps := roundGaps(round, i == len(r.Rounds)-1); len(gaps) > 0 {
			notes = append(notes, fmt.Sprintf("Round %d has no %s.", round.Round, strings.Join(gaps, ", no ")))
		}
	}
	return append(notes, benchmarkGaps(r)...)
}

// roundGaps names a round's steps that have no result. The last round needs no
// design.
func roundGaps(round experiment.RoundResult, last bool) []string {
	var gaps []string
	if round.Conformance == nil {
		gaps = append(gaps, "dataset")
	}
	if round.Training == nil {
		gaps = append(gaps, "training")
	}
	if round.Scorecard == nil {
		gaps = append(gaps, "validation")
	}
	if round.Transcript == nil && !last {
		gaps = append(gaps, "design of the next round")
	}
	return gaps
}

// benchmarkGaps says which of the sets that the experiment orders were not scored.
func benchmarkGaps(r experiment.Results) []string {
	var unscored, unbased, untrained []string
	for _, agents := range r.Spec.Benchmarks.Agents {
		at := slices.IndexFunc(r.Benchmarks, func(b experiment.BenchmarkResult) bool { return b.Agents == agents })
		name := strconv.Itoa(agents)
		switch {
		case at < 0 || r.Benchmarks[at].Base == nil && r.Benchmarks[at].Trained == nil:
			unscored = append(unscored, name)
		case r.Benchmarks[at].Base == nil:
			unbased = append(unbased, name)
		case r.Benchmarks[at].Trained == nil:
			untrained = append(untrained, name)
		}
	}
	var notes []string
	note := func(agents []string, what string) {
		if len(agents) > 0 {
			notes = append(notes, "No "+what+" on the benchmark with "+strings.Join(agents, ", ")+" agents.")
		}
	}
	note(unscored, "score")
	note(unbased, "score of the untrained policy")
	note(untrained, "score of the trained policy")
	return notes
}
