package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// StepID names one piece of work by all that determines its result. Equal IDs
// are equal work, whoever asks for it.
type StepID struct {
	Kind string `json:"kind"` // "dataset", "train", "validate", ...
	Key  string `json:"key"`  // hex sha256 of the inputs
}

// NewStepID digests the inputs of a step. Inputs must marshal to the same JSON
// every time: structs and slices, no maps of non-string keys, no times.
func NewStepID(kind string, inputs any) (StepID, error) {
	body, err := json.Marshal(struct {
		Kind   string `json:"kind"`
		Inputs any    `json:"inputs"`
	}{kind, inputs})
	if err != nil {
		return StepID{}, fmt.Errorf("key of step %s: %w", kind, err)
	}
	sum := sha256.Sum256(body)
	return StepID{Kind: kind, Key: hex.EncodeToString(sum[:])}, nil
}

// String is the short form that people read, kind and 12 hex digits.
func (s StepID) String() string {
	if len(s.Key) < 12 {
		return s.Kind + "/" + s.Key
	}
	return s.Kind + "/" + s.Key[:12]
}
