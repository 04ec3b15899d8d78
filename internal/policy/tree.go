package policy

import (
	"fmt"
	"math/rand/v2"

	"floe/internal/env"
)

// tree holds the rollouts of one task. Rollouts that have acted alike so far
// stand in the same state, so they share a node: each state is observed, run
// through the network and differentiated once, however many rollouts pass
// through it, and equal answers are judged once. A sharp policy saves most.
//
// A tree is scratch: it is used for one task after another without allocating.
type tree struct {
	m           *Model
	layers      layers
	start       *layers // the policy that KL holds on to, or nil
	temperature float64

	task     env.Problem
	root     env.Episode // opened for the root and not yet acted in, or nil
	nodes    []node
	features []int32
	h1, h2   []row
	// Per node and action: probability, its logarithm, that of the policy at the
	// start of the round (only with start), and the child, 0 for none.
	p, logP, logQ []float32
	children      []int32
	leaves        []leaf
	ends          []int32   // per rollout, the node it ended in
	logits        []float32 // of the node being observed, or their gradient

	rewards, advantages []float64 // per rollout
}

// node is a state that some rollout reached.
type node struct {
	parent, action   int32
	firstFeature     int32
	afterLastFeature int32
	leaf             int32 // index of the answer given here, or open
	entropy          float32
	visits           int32   // rollouts through here; set by credit
	credit           float64 // sum of their advantages; set by credit
}

const open = -1

// leaf is an answer and what the referee found.
type leaf struct {
	node    int32
	text    string
	verdict env.Verdict
}

func newTree(m, start *Model, temperature float64) *tree {
	t := &tree{m: m, layers: m.layers(m.rows), temperature: temperature, logits: make([]float32, m.actions)}
	if start != nil {
		l := start.layers(start.rows)
		t.start = &l
	}
	return t
}

// plant makes the tree a task's, with nothing but the root.
func (t *tree) plant(task env.Problem) error {
	t.task = task
	t.nodes, t.features, t.h1, t.h2 = t.nodes[:0], t.features[:0], t.h1[:0], t.h2[:0]
	t.p, t.logP, t.logQ, t.children = t.p[:0], t.logP[:0], t.logQ[:0], t.children[:0]
	clear(t.leaves) // let go of the texts
	t.leaves, t.ends = t.leaves[:0], t.ends[:0]
	t.root = task.Episode()
	_, err := t.grow(0, 0, t.root)
	return err
}

// walk adds one rollout, which asks choose for every action.
func (t *tree) walk(choose func(node int32) int32) error {
	var episode env.Episode // nil while the walk is on known ground
	at := int32(0)
	for t.nodes[at].leaf == open {
		action := choose(at)
		next := t.child(at, action)
		if next == 0 {
			if episode == nil {
				episode = t.replay(at)
			}
			episode.Act(int(action))
			var err error
			if next, err = t.grow(at, action, episode); err != nil {
				return err
			}
		}
		at = next
	}
	t.ends = append(t.ends, at)
	return nil
}

// sample adds rollouts that draw their actions.
func (t *tree) sample(rollouts int, rng *rand.Rand) error {
	draw := func(at int32) int32 { return t.draw(at, rng) }
	for range rollouts {
		if err := t.walk(draw); err != nil {
			return err
		}
	}
	return nil
}

// follow adds the rollout that takes these actions and must end with the last.
func (t *tree) follow(actions []int) error {
	for _, a := range actions {
		if a < 0 || a >= t.m.actions {
			return fmt.Errorf("action %d; want one below %d", a, t.m.actions)
		}
	}
	taken := 0
	err := t.walk(func(int32) int32 {
		taken++
		if taken > len(actions) {
			return 0 // to the end, to say how far it is
		}
		return int32(actions[taken-1])
	})
	if err == nil && taken != len(actions) {
		err = fmt.Errorf("%d actions, but the episode ended after %d", len(actions), taken)
	}
	return err
}

// draw chooses an action by the policy's probabilities.
func (t *tree) draw(at int32, rng *rand.Rand) int32 {
	u := rng.Float32()
	p := t.p[int(at)*t.m.actions:][:t.m.actions]
	last := int32(0)
	for a, share := range p {
		if share > 0 {
			last = int32(a)
		}
		if u -= share; u < 0 {
			return last
		}
	}
	return last // the shares added up to a little less than 1
}

// best is the most probable action, the first among equals.
func (t *tree) best(at int32) int32 {
	p := t.p[int(at)*t.m.actions:][:t.m.actions]
	best := 0
	for a := range p {
		if p[a] > p[best] {
			best = a
		}
	}
	return int32(best)
}

// replay opens an episode and acts in it as the way to a node did.
func (t *tree) replay(at int32) env.Episode {
	if at == 0 {
		episode := t.root
		t.root = nil
		if episode == nil {
			episode = t.task.Episode()
		}
		return episode
	}
	episode := t.replay(t.nodes[at].parent)
	episode.Act(int(t.nodes[at].action))
	return episode
}

func (t *tree) child(at, action int32) int32 { return t.children[int(at)*t.m.actions+int(action)] }

// grow adds the node that an episode stands in.
func (t *tree) grow(parent, action int32, episode env.Episode) (int32, error) {
	at := len(t.nodes)
	if at > 0 {
		t.children[int(parent)*t.m.actions+int(action)] = int32(at)
	}
	first := int32(len(t.features))
	t.nodes = append(t.nodes, node{parent: parent, action: action, firstFeature: first, afterLastFeature: first, leaf: open})
	t.h1, t.h2 = append(t.h1, row{}), append(t.h2, row{})
	for range t.m.actions {
		t.p, t.logP, t.children = append(t.p, 0), append(t.logP, 0), append(t.children, 0)
	}
	if t.start != nil {
		t.logQ = append(t.logQ, t.logits...) // room, filled in observe
	}
	if episode.Done() {
		t.nodes[at].leaf = int32(len(t.leaves))
		text := episode.Answer()
		t.leaves = append(t.leaves, leaf{node: int32(at), text: text, verdict: t.task.Judge(text)})
		return int32(at), nil
	}
	t.features = episode.Observe(t.features)
	t.nodes[at].afterLastFeature = int32(len(t.features))
	return int32(at), t.observe(at)
}

// observe runs a node's features through the network.
func (t *tree) observe(at int) error {
	features := t.seen(at)
	for _, f := range features {
		if f < 0 || int(f) >= t.m.features {
			return fmt.Errorf("task %s shows feature %d; the policy knows features below %d", t.task.Task().ID, f, t.m.features)
		}
	}
	n := t.m.actions
	if t.start != nil {
		logQ := t.logQ[at*n:][:n]
		t.start.forward(features, &t.h1[at], &t.h2[at], t.logits)
		softmax(t.logits, t.temperature, t.p[at*n:][:n], logQ)
	}
	t.layers.forward(features, &t.h1[at], &t.h2[at], t.logits)
	t.nodes[at].entropy = softmax(t.logits, t.temperature, t.p[at*n:][:n], t.logP[at*n:][:n])
	return nil
}

func (t *tree) seen(at int) []int32 {
	return t.features[t.nodes[at].firstFeature:t.nodes[at].afterLastFeature]
}

// softmax sets probabilities and their logarithms, and returns the entropy.
func softmax(logits []float32, temperature float64, p, logP []float32) float32 {
	top := logits[0]
	for _, z := range logits {
		top = max(top, z)
	}
	sum := 0.0
	for a, z := range logits {
		e := exp(float64(z-top) / temperature)
		p[a] = float32(e)
		sum += e
	}
	logSum := log(sum)
	entropy := 0.0
	for a, z := range logits {
		share, l := float64(p[a])/sum, float64(z-top)/temperature-logSum
		p[a], logP[a] = float32(share), float32(l)
		entropy -= float64(share * l)
	}
	return float32(entropy)
}
