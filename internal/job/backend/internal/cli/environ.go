package cli

import (
	"os"
	"slices"
	"strings"
)

// withheld begin the names of variables that are the worker's own: keys of models
// that it asks, and of Temporal. A training has no use for them.
var withheld = []string{"OPENAI_", "TEMPORAL_"}

// Inherited is the environment of this process as programs get it that are started
// for a job.
func Inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return slices.ContainsFunc(withheld, func(prefix string) bool { return strings.HasPrefix(pair, prefix) })
	})
}
