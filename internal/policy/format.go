package policy

import (
	"encoding/binary"
	"fmt"

	"floe/internal/env"
)

// A model's file: sealed; hidden units, features, actions (uint32 each), answers
// and answers within the free length (uint64 each), then the rows of Model.
const (
	modelMagic   = "FLOEPOL\n"
	modelVersion = 1
	shapeSize    = 3*4 + 2*8
)

// Marshal writes the model. The same model always gives the same bytes.
func (m *Model) Marshal() []byte {
	body := make([]byte, 0, shapeSize+len(m.rows)*rowSize)
	for _, n := range []int{hidden, m.features, m.actions} {
		body = binary.LittleEndian.AppendUint32(body, uint32(n))
	}
	body = binary.LittleEndian.AppendUint64(body, uint64(m.reward.Answers))
	body = binary.LittleEndian.AppendUint64(body, uint64(m.reward.Within))
	return seal(modelMagic, modelVersion, appendRows(body, m.rows))
}

// Load reads what Marshal wrote. It refuses everything else: other files, other
// versions, shapes this program has not, files cut off or damaged.
func Load(file []byte) (*Model, error) {
	body, err := unseal("policy", modelMagic, modelVersion, file)
	if err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	m, err := readModel(body)
	if err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	return m, nil
}

func readModel(body []byte) (*Model, error) {
	if len(body) < shapeSize {
		return nil, fmt.Errorf("%d bytes; the shape alone is %d", len(body), shapeSize)
	}
	shape := func(i int) int { return int(binary.LittleEndian.Uint32(body[4*i:])) }
	if shape(0) != hidden {
		return nil, fmt.Errorf("%d hidden units; this program has %d", shape(0), hidden)
	}
	m := &Model{features: shape(1), actions: shape(2)}
	if err := checkShape(m.features, m.actions); err != nil {
		return nil, err
	}
	m.reward = env.RewardState{
		Answers: int64(binary.LittleEndian.Uint64(body[12:])),
		Within:  int64(binary.LittleEndian.Uint64(body[20:])),
	}
	if m.reward.Within < 0 || m.reward.Within > m.reward.Answers {
		return nil, fmt.Errorf("%d of %d answers within the free length", m.reward.Within, m.reward.Answers)
	}
	var err error
	m.rows, err = readRows(body[shapeSize:], rowCount(m.features, m.actions))
	return m, err
}
