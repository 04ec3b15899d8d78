// Package examples carries the demo's experiment file inside the program, so
// that `starter demo` runs from anywhere.
package examples

import _ "embed"

// Demo is examples/demo.yaml.
//
//go:embed demo.yaml
var Demo []byte
