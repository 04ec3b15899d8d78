package policy

import (
	"fmt"
	"slices"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Bounds of a model's shape. A layer's width is a constant so that its loops
// have a length the compiler knows.
const (
	hidden      = 64
	maxFeatures = 1 << 20
	maxActions  = hidden // the biases of all actions fill one row
)

// row is the unit of all parameters: the weights of one feature, of one hidden
// unit or of one action.
type row [hidden]float32

// Model is a policy: feature -> 64 ReLU -> 64 ReLU -> softmax over actions. It
// is safe for concurrent use, as nothing changes it.
type Model struct {
	features, actions int
	// rows are, in order: one per feature and a bias (layer one, summed over the
	// active features); one per unit of layer one and a bias (layer two); one per
	// action and the actions' biases (layer three).
	rows   []row
	reward env.RewardState
}

// New draws a model with random weights from the named seed. Its first answers
// are close to uniform.
func New(features, actions int, seed ...string) (*Model, error) {
	if err := checkShape(features, actions); err != nil {
		return nil, fmt.Errorf("new policy: %w", err)
	}
	m := &Model{features: features, actions: actions, rows: make([]row, rowCount(features, actions))}
	rng := experiment.Rand(seed...)
	draw := func(rows []row, scale float64) {
		for i := range rows {
			for j := range rows[i] {
				rows[i][j] = float32((rng.Float64() - 0.5) * (2 * scale))
			}
		}
	}
	// He's uniform law, sqrt(6/inputs), taking 32 features as active at once.
	draw(m.rows[:features], 0.43)
	draw(m.rows[m.second():m.second()+hidden], 0.31)
	draw(m.rows[m.third():m.third()+actions], 0.02)
	return m, nil
}

func checkShape(features, actions int) error {
	if features < 1 || features > maxFeatures {
		return fmt.Errorf("%d features; want 1 to %d", features, maxFeatures)
	}
	if actions < 2 || actions > maxActions {
		return fmt.Errorf("%d actions; want 2 to %d", actions, maxActions)
	}
	return nil
}

func rowCount(features, actions int) int { return features + 1 + hidden + 1 + actions + 1 }

// Features is the number of binary features the model can be shown.
func (m *Model) Features() int { return m.features }

// Actions is the number of actions the model chooses among.
func (m *Model) Actions() int { return m.actions }

// Parameters is the number of weights.
func (m *Model) Parameters() int {
	return (m.features+1)*hidden + (hidden+1)*hidden + m.actions*(hidden+1)
}

// RewardState is what the reward's weights depend on, counted over all the
// training that made this model: the next round weighs on from here.
func (m *Model) RewardState() env.RewardState { return m.reward }

func (m *Model) clone() *Model {
	c := *m
	c.rows = slices.Clone(m.rows)
	return &c
}

// Index of the first row of layers two and three.
func (m *Model) second() int { return m.features + 1 }
func (m *Model) third() int  { return m.features + 1 + hidden + 1 }

// layers are the parts of a model's rows, or of a gradient's, by name.
type layers struct {
	in      []row        // per feature
	inBias  *row         //
	mid     *[hidden]row // per unit of layer one
	midBias *row         //
	out     []row        // per action
	outBias *row         // one number per action, the rest is unused
}

func (m *Model) layers(rows []row) layers {
	second, third := m.second(), m.third()
	return layers{
		in:      rows[:m.features],
		inBias:  &rows[m.features],
		mid:     (*[hidden]row)(rows[second:]),
		midBias: &rows[second+hidden],
		out:     rows[third : third+m.actions],
		outBias: &rows[third+m.actions],
	}
}
