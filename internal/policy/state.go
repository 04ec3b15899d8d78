package policy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// state is all that changes while a round is trained.
type state struct {
	step      int   // optimizer steps made
	answers   int64 // sampled
	decisions int64
	curve     curve
	model     *Model
	opt       *adam
}

func newState(m *Model) state { return state{model: m, opt: newAdam(len(m.rows))} }

// A saved state: sealed; the length of a JSON note (uint64) and the note, the
// length of a model's file (uint64) and the file, and Adam's two moments.
const (
	stateMagic   = "FLOEGRP\n"
	stateVersion = 1
)

// note is the part of a state that is no weights. JSON keeps float64 exactly.
type note struct {
	Training  string `json:"training"` // identity of the configuration
	Step      int    `json:"step"`
	Answers   int64  `json:"answers"`
	Decisions int64  `json:"decisions"`
	Curve     curve  `json:"curve"`
}

func (s *state) marshal(id string) ([]byte, error) {
	text, err := json.Marshal(note{id, s.step, s.answers, s.decisions, s.curve})
	if err != nil {
		return nil, fmt.Errorf("write training state: %w", err)
	}
	body := appendBlock(nil, text)
	body = appendBlock(body, s.model.Marshal())
	body = appendRows(appendRows(body, s.opt.m), s.opt.v)
	return seal(stateMagic, stateVersion, body), nil
}

// loadState reads a state that the training named id has saved.
func loadState(file []byte, id string) (state, error) {
	body, err := unseal("training state", stateMagic, stateVersion, file)
	if err != nil {
		return state{}, err
	}
	text, body, err1 := cutBlock(body)
	weights, moments, err2 := cutBlock(body)
	if err := errors.Join(err1, err2); err != nil {
		return state{}, err
	}
	var n note
	if err := json.Unmarshal(text, &n); err != nil {
		return state{}, fmt.Errorf("read training state: %w", err)
	}
	if n.Training != id {
		return state{}, errors.New("the state was saved by another training: its policy, data, settings or seed differ")
	}
	return n.state(weights, moments)
}

// state puts the parts of a saved state together.
func (n note) state(weights, moments []byte) (state, error) {
	s := state{step: n.Step, answers: n.Answers, decisions: n.Decisions, curve: n.Curve}
	var err error
	if s.model, err = Load(weights); err != nil {
		return state{}, err
	}
	rows := len(s.model.rows)
	both, err := readRows(moments, 2*rows)
	if err != nil {
		return state{}, fmt.Errorf("moments: %w", err)
	}
	s.opt = resumeAdam(both[:rows], both[rows:], s.step)
	return s, nil
}

func appendBlock(to, block []byte) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(len(block)))
	return append(to, block...)
}

func cutBlock(from []byte) (block, rest []byte, err error) {
	if len(from) < 8 {
		return nil, nil, errors.New("training state ends too early")
	}
	n := binary.LittleEndian.Uint64(from)
	if n > uint64(len(from)-8) {
		return nil, nil, errors.New("training state ends too early")
	}
	return from[8 : 8+n], from[8+n:], nil
}
