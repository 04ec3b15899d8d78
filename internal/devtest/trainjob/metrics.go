package trainjob

import "floe/internal/experiment"

// metrics are the numbers of a step, by the keys of docs/jobs.md.
type metrics map[string]*float64

func (m metrics) set(key string, v float64) { m[key] = &v }

func (m metrics) of(key string) float64 { return *m[key] }

func summarise(verdicts []verdict, group int, spec experiment.RewardSpec) metrics {
	sums := map[string]float64{}
	count := func(key string, is bool) {
		if is {
			sums[key]++
		}
	}
	teach := 0.0
	for i, v := range verdicts {
		sums["reward"] += v.Reward.Total
		sums["accuracy_reward"] += v.Reward.Accuracy
		sums["length_reward"] += v.Reward.Length
		sums["answer_tokens"] += float64(v.Tokens)
		count("valid_rate", v.Valid)
		count("optimal_rate", v.Optimal)
		count("truncated_rate", v.Truncated)
		count("within_rate", v.Tokens <= spec.FreeTokens)
		if first := i - i%group; i%group == group-1 && differ(verdicts[first:i+1]) {
			teach++
		}
	}
	m := metrics{}
	for _, key := range []string{"reward", "accuracy_reward", "length_reward", "answer_tokens", "valid_rate", "optimal_rate", "truncated_rate", "within_rate"} {
		m.set(key, sums[key]/float64(len(verdicts)))
	}
	m.set("answers", float64(len(verdicts)))
	m.set("spread", teach*float64(group)/float64(len(verdicts)))
	return m
}

func differ(group []verdict) bool {
	for _, v := range group {
		if v.Reward.Total != group[0].Reward.Total {
			return true
		}
	}
	return false
}
