package policy

import (
	"math"
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
)

// advantageFloor keeps the quotient finite for groups of nearly equal rewards.
const advantageFloor = 1e-4

// advantages sets how much better than its group each reward is,
// (r - mean) / (std + 1e-4) with the sample's standard deviation, and says
// whether the group has spread. Without spread all advantages are 0.
func advantages(dst, rewards []float64) bool {
	if len(rewards) == 0 || slices.Min(rewards) == slices.Max(rewards) {
		clear(dst)
		return false
	}
	n := float64(len(rewards))
	mean := 0.0
	for _, r := range rewards {
		mean += r
	}
	mean /= n
	squares := 0.0
	for i, r := range rewards {
		dst[i] = r - mean
		squares += float64(dst[i] * dst[i])
	}
	scale := math.Sqrt(squares/(n-1)) + advantageFloor
	for i := range dst {
		dst[i] /= scale
	}
	return true
}

// grade rewards every rollout and gives it its advantage as credit.
func (t *tree) grade(spec experiment.RewardSpec, state env.RewardState) tally {
	sum := tally{groups: 1, answers: int64(len(t.ends))}
	t.rewards = t.rewards[:0]
	for _, end := range t.ends {
		v := &t.leaves[t.nodes[end].leaf].verdict
		reward := env.Score(spec, state, *v).Total
		t.rewards = append(t.rewards, reward)
		sum.reward += reward
		if v.Valid {
			sum.valid++
		}
		if v.Tokens <= spec.FreeTokens {
			sum.within++
		}
	}
	t.advantages = append(t.advantages[:0], t.rewards...)
	if advantages(t.advantages, t.rewards) {
		sum.spread = 1
	}
	t.credit(t.advantages)
	for i := range t.nodes {
		if n := &t.nodes[i]; n.leaf == open {
			sum.decisions += int64(n.visits)
			sum.entropy += float64(float64(n.visits) * float64(n.entropy))
		}
	}
	return sum
}

// credit gives every rollout its advantage. A node's credit is the sum over the
// rollouts that pass through it.
func (t *tree) credit(advantages []float64) {
	for r, end := range t.ends {
		t.nodes[end].visits++
		t.nodes[end].credit += advantages[r] //nolint:gosec // one advantage per rollout
	}
	for at := len(t.nodes) - 1; at > 0; at-- { // children were grown after their parents
		n := &t.nodes[at]
		t.nodes[n.parent].visits += n.visits
		t.nodes[n.parent].credit += n.credit
	}
}

// regulariser holds the weights of the terms that need no reward.
type regulariser struct {
	kl, entropy float64
}

func (r regulariser) none() bool { return r.kl == 0 && r.entropy == 0 }

// differentiate adds to g the gradient of the sum over all rollouts' decisions
// of  credit * log p - kl KL(p, q) + entropy H(p),  after credit.
//
// A node's own part is closed: for logit k it is, over the temperature,
//
//	(credit of child k) - p_k (credit)  -  visits p_k (entropy (log p_k + H) + kl (log p_k/q_k - KL))
func (t *tree) differentiate(g *layers, r regulariser) {
	for at := range t.nodes {
		if t.nodes[at].leaf != open {
			continue
		}
		if t.slope(at, r, t.logits) {
			t.layers.backward(g, t.seen(at), &t.h1[at], &t.h2[at], t.logits)
		}
	}
}

// slope sets a node's gradient by logit, and says whether there is any.
func (t *tree) slope(at int, r regulariser, slope []float32) bool {
	a := t.m.actions
	n, p, logP, children := &t.nodes[at], t.p[at*a:][:a], t.logP[at*a:][:a], t.children[at*a:][:a]
	some := false
	for k := range slope {
		s := -float64(float64(p[k]) * n.credit)
		if c := children[k]; c != 0 {
			s += t.nodes[c].credit
		}
		if r.entropy != 0 {
			pull := float64(p[k]) * float64(logP[k]+n.entropy)
			s -= float64(float64(n.visits) * float64(r.entropy*pull))
		}
		slope[k] = float32(s / t.temperature)
	}
	if r.kl != 0 {
		t.pullToStart(at, r.kl, slope)
	}
	for _, s := range slope {
		some = some || s != 0
	}
	return some
}

// pullToStart adds the gradient of the KL penalty, exact over all actions.
func (t *tree) pullToStart(at int, weight float64, slope []float32) {
	a := t.m.actions
	p, logP, logQ := t.p[at*a:][:a], t.logP[at*a:][:a], t.logQ[at*a:][:a]
	kl := 0.0
	for k := range p {
		kl += float64(float64(p[k]) * float64(logP[k]-logQ[k]))
	}
	scale := float64(weight*float64(t.nodes[at].visits)) / t.temperature
	for k := range p {
		pull := float64(float64(p[k]) * (float64(logP[k]-logQ[k]) - kl))
		slope[k] -= float32(scale * pull)
	}
}
