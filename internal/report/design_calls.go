package report

import (
	"cmp"
	"fmt"
	"strings"

	"floe/internal/experiment"
)

// attemptData is one model call: what was said, and how it was read.
type attemptData struct {
	Title             string
	Facts             []string
	Fault             string
	Reasoning, Reply  string
	Trace             []string
	Request, Response string
}

func newAttempt(i int, a experiment.Attempt) attemptData {
	title := []string{fmt.Sprintf("Call %d", i+1), cmp.Or(a.Class, "not read")}
	if a.FinishReason != "" {
		title = append(title, "ended with "+a.FinishReason)
	}
	return attemptData{
		Title: strings.Join(title, " · "), Facts: []string{callFacts(a)},
		Fault: a.Fault, Reasoning: a.Reasoning, Reply: a.Reply, Trace: a.Trace, Request: a.Request, Response: a.Response,
	}
}

// callFacts say what a call cost and who answered.
func callFacts(a experiment.Attempt) string {
	facts := []string{
		count(a.PromptTokens) + " + " + plural(a.CompletionTokens, "token"),
		seconds(float64(a.LatencyMS) / 1000),
	}
	if a.Cost > 0 {
		facts = append(facts, "cost "+money(a.Cost))
	}
	if a.Server != "" {
		facts = append(facts, "answered by "+a.Server)
	}
	if a.At != "" {
		facts = append(facts, a.At)
	}
	return strings.Join(facts, " · ")
}

// designFacts are who designed, and what it took.
func designFacts(t experiment.Transcript) []string {
	facts := []string{transcriptDesigner(t)}
	if len(t.Attempts) == 0 {
		return facts
	}
	var latency int64
	for _, a := range t.Attempts {
		latency += a.LatencyMS
	}
	spent := []string{plural(len(t.Attempts), "call"), plural(transcriptTokens(t), "token"), seconds(float64(latency) / 1000)}
	if cost := transcriptCost(t); cost > 0 {
		spent = append(spent, "cost "+money(cost))
	}
	return append(facts, strings.Join(spent, " · "))
}

func transcriptCost(t experiment.Transcript) float64 {
	sum := 0.0
	for _, a := range t.Attempts {
		sum += a.Cost
	}
	return sum
}

// money writes an amount in the currency of the endpoint's prices, which is not
// known here: with two decimals, and up to six if it is less than one.
func money(x float64) string {
	const least = 1e-6
	switch {
	case x > 0 && x < least:
		return "under 0.000001"
	case x < 1:
		return strings.TrimRight(strings.TrimRight(decimals(x, 6), "0"), ".")
	}
	return decimals(x, 2)
}

// designCounts sum up all designs of an experiment: how they ended, and how the
// replies of models were read.
func designCounts(r experiment.Results) []stat {
	var all []experiment.Transcript
	var outcomes, verdicts []string
	for _, round := range r.Rounds {
		if t := round.Transcript; t != nil {
			all = append(all, *t)
			outcomes = append(outcomes, outcomeName(proposalOutcome(*t)))
			if t.Decision != nil {
				verdicts = append(verdicts, t.Decision.Verdict)
			}
		}
	}
	list := []stat{{"designs", tally(outcomes)}}
	if len(verdicts) > 0 {
		list = append(list, stat{"decided by a person", tally(verdicts)})
	}
	if classes := experiment.CountClasses(all...); len(classes) > 0 {
		words := make([]string, len(classes))
		for i, c := range classes {
			words[i] = fmt.Sprintf("%s %s", count(c.Count), cmp.Or(c.Class, "not read"))
		}
		list = append(list, stat{"model replies by class", strings.Join(words, ", ")})
	}
	return list
}

// tally counts words, in the order in which they first come.
func tally(words []string) string {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	var parts []string
	for _, w := range union(nil, words) {
		parts = append(parts, fmt.Sprintf("%s %s", count(counts[w]), w))
	}
	return strings.Join(parts, ", ")
}
