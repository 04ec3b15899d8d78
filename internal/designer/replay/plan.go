// Package replay asks designers again on the stored evidence of a finished round,
// many times each, and trains nothing. What comes back shows how far a designer is
// from itself on the same evidence (its noise floor), how broadly it edits, and
// which designers and contexts lead to the same proposals.
//
// Every answer is a step of its own, keyed by all that determines it, so a replay
// that was interrupted goes on, and one with more answers a cell keeps the first.
package replay

import (
	"fmt"
	"strconv"

	"floe/internal/designer"
	"floe/internal/experiment"
	"floe/internal/plan"
)

// Kind is the kind of step that holds one answer, in File.
const (
	Kind = "replay"
	File = "transcript.json"
)

// Schema names the form of a Result.
const Schema = "floe.replay/v1"

// Cell is one way to design: a context and who is asked.
type Cell struct {
	Name string                  `json:"name"`
	Spec experiment.DesignerSpec `json:"spec"`
	// Model is the sha256 of the model.json of the experiment's own model that is
	// asked; empty if none is.
	Model string `json:"model,omitempty"`
}

// Plan says what is asked: each cell N times, on the same evidence, the n-th time
// with the same seed in every cell.
type Plan struct {
	Experiment string
	Seed       string // names the draws
	N          int
	Cells      []Cell
	Evidence   designer.Evidence
	// Feasible says why no task can be drawn from a row; see designer.Limits.
	Feasible func(experiment.Row) error
}

// ID names the plan: equal plans have equal IDs.
func (p Plan) ID() (string, error) {
	id, err := experiment.NewStepID(Kind, struct {
		Designer   string            `json:"designer"` // version of the code
		Experiment string            `json:"experiment"`
		Seed       string            `json:"seed"`
		N          int               `json:"n"`
		Cells      []Cell            `json:"cells"`
		Evidence   designer.Evidence `json:"evidence"`
	}{designer.Version, p.Experiment, p.Seed, p.N, p.Cells, p.Evidence})
	if err != nil {
		return "", err
	}
	return id.Key[:12], nil
}

// Doc is the document of the experiment that a plan's result is kept in.
func Doc(id string) string { return "replay-" + id + ".json" }

// ask is one question of a plan.
type ask struct {
	cell, draw int
	seed       string
	id         experiment.StepID
	inputs     any
}

// asks lists all questions, the first of every cell before the second of any, so
// that what a budget cuts off is missing from all cells alike.
func (p Plan) asks() ([]ask, error) {
	var all []ask
	for draw := range p.N {
		for cell := range p.Cells {
			a := ask{cell: cell, draw: draw, seed: p.Seed + "/draw " + strconv.Itoa(draw)}
			a.inputs = plan.Design{Designer: designer.Version, Spec: p.Cells[cell].Spec, Evidence: p.Evidence, Seed: a.seed, Model: p.Cells[cell].Model}
			var err error
			if a.id, err = experiment.NewStepID(Kind, a.inputs); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Cells[cell].Name, err)
			}
			all = append(all, a)
		}
	}
	return all, nil
}
