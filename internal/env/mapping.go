package env

import "encoding/json"

// Mapping is an environment that solves instances given as others publish them: a map
// and a scenario in the format of movingai.com.
type Mapping interface {
	Solving
	// FromMap makes a row for Solver.Solve of a map and the first agents of a
	// scenario. The error has a line per fault, each with file, line and column.
	FromMap(grid, scenario Text, agents int) (json.RawMessage, error)
}

// Text is a text with the name of its file.
type Text struct {
	Name string
	Body []byte
}
