package plan

import "floe/internal/experiment"

// Identity is a step's name, and what it digests for the record.
type Identity struct {
	ID     experiment.StepID
	Inputs any
}

// salted sets a step apart from equal work of others.
type salted struct {
	Inputs     any    `json:"inputs"`
	Experiment string `json:"experiment"`
	Again      int    `json:"again,omitempty"`
}

// Identify names a step by all that determines its result. A spec that does not
// share puts its name beside that, and so does a step that is asked for again
// although it was done: Again counts how often, from 1; usually it is 0.
func Identify(spec experiment.Spec, kind string, inputs any, again int) (Identity, error) {
	if !spec.Shares() || again > 0 {
		inputs = salted{inputs, spec.Name, again}
	}
	id, err := experiment.NewStepID(kind, inputs)
	return Identity{id, inputs}, err
}
