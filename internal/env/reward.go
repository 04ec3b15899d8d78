package env

import "floe/internal/experiment"

// RewardState is what the dynamic weights depend on: how many answers were
// scored so far and how many of them stayed within the free length. It is part
// of a trainer's checkpoint, so that a resumed run weighs as the first would have.
type RewardState struct {
	Answers int64 `json:"answers"`
	Within  int64 `json:"within"`
}

// Seen adds a batch of answers.
func (s RewardState) Seen(answers, within int64) RewardState {
	return RewardState{s.Answers + answers, s.Within + within}
}

// Reward is an answer's reward and its two parts.
type Reward struct {
	Total    float64
	Accuracy float64 // in {0} or [floor, 1]
	Length   float64 // in [0, 1]
}

// Weights are the weights of accuracy and length in force. They start at
// AccuracyLow and move to AccuracyTop with the share of answers that stayed
// within the free length (paper: 0.5/0.5 to 0.8/0.2; the update rule is open
// there, this linear one is ours).
func Weights(spec experiment.RewardSpec, s RewardState) (accuracy, length float64) {
	share := 0.0
	if s.Answers > 0 {
		share = float64(s.Within) / float64(s.Answers)
	}
	// Rounded before it is added: a fused multiply-add would give another last bit
	// on some architectures.
	accuracy = spec.AccuracyLow + float64((spec.AccuracyTop-spec.AccuracyLow)*share)
	return accuracy, 1 - accuracy
}

// Score rewards a verdict. Accuracy is max(floor, optimum/cost) for a valid
// answer and 0 otherwise (paper; the quotient is ours). Length is 1 up to
// FreeTokens, falling linearly to 0 at FullTokens (paper; linear is ours).
// With LengthOf "valid" an invalid answer earns nothing at all: otherwise a
// policy learns to fail early and be short.
func Score(spec experiment.RewardSpec, s RewardState, v Verdict) Reward {
	var r Reward
	if v.Valid {
		r.Accuracy = max(spec.Floor, quotient(v.Optimum, v.Cost))
	}
	if v.Valid || spec.LengthOf == "all" {
		r.Length = lengthReward(spec, v.Tokens)
	}
	wAcc, wLen := Weights(spec, s)
	r.Total = float64(wAcc*r.Accuracy) + float64(wLen*r.Length)
	return r
}

// quotient is optimum/cost, at most 1: an answer that beats a wrong optimum earns
// no more than an optimal one. A task whose agents start at home costs nothing
// and is then answered perfectly.
func quotient(optimum, cost int) float64 {
	if cost <= optimum {
		return 1
	}
	return float64(optimum) / float64(cost)
}

func lengthReward(spec experiment.RewardSpec, tokens int) float64 {
	if tokens <= spec.FreeTokens {
		return 1
	}
	if tokens >= spec.FullTokens {
		return 0
	}
	return float64(spec.FullTokens-tokens) / float64(spec.FullTokens-spec.FreeTokens)
}
