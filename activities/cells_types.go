package activities

import (
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// CellRef names a cell's experiment and its workflow.
type CellRef struct {
	Cell     experiment.SweepCell `json:"cell"`
	Name     string               `json:"name"`
	Workflow string               `json:"workflow"`
}

// CellFound is how a cell's experiment stands. State is one of package sweep's;
// it is "" where there is no experiment of the name, or one that has ended
// without a result.
type CellFound struct {
	Name  string      `json:"name"`
	State string      `json:"state,omitempty"`
	Cause string      `json:"cause,omitempty"`
	Round int         `json:"round"`
	Start *float64    `json:"start,omitempty"` // the untrained policy's valid rate
	Rate  *float64    `json:"rate,omitempty"`  // the last validation's
	Used  *sweep.Need `json:"used,omitempty"`  // once it is done
}

// OpenCellsInput asks for the specs of cells that are to start.
type OpenCellsInput struct {
	Sweep string    `json:"sweep"`
	Plan  string    `json:"plan"` // digest, from PutPlan
	Cells []CellRef `json:"cells"`
}

// OpenedCell is a cell's spec, and what is there of it already.
type OpenedCell struct {
	Spec  experiment.Spec `json:"spec"`
	Found CellFound       `json:"found"`
}

// LookAtCellsInput asks how cells stand. Metered asks what done ones have used.
type LookAtCellsInput struct {
	Cells   []CellRef `json:"cells"`
	Metered bool      `json:"metered,omitempty"`
}
