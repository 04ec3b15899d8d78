package artifact

import (
	"fmt"
	"strings"

	"floe/internal/experiment"
)

// CorruptError says that the store does not hold what was recorded. No retry
// mends it.
type CorruptError struct {
	Object string // key of the object that is wrong
	Want   string // what the record says: a digest, a size, a form
	Got    string // what is there
	// Manifest is the record to set aside to have the work done again; empty when
	// nothing was recorded as done.
	Manifest string
}

// Error names the object, both sides and what a person can do.
func (e *CorruptError) Error() string {
	s := fmt.Sprintf("artifact %s is damaged: want %s, got %s", e.Object, e.Want, e.Got)
	if e.Manifest != "" {
		s += fmt.Sprintf(" (restore it, or have the step done again: `starter artifacts verify --repair` sets %s aside)", e.Manifest)
	}
	return s
}

// Step is the step that was recorded as done and is not what was recorded.
func (e *CorruptError) Step() (id experiment.StepID, ok bool) {
	parts := strings.Split(e.Manifest, "/")
	if len(parts) < 3 {
		return id, false
	}
	id = experiment.StepID{Kind: parts[1], Key: parts[2]}
	return id, manifestKey(id) == e.Manifest
}

func corruptFile(m Manifest, f File, want, got string) *CorruptError {
	return &CorruptError{Object: f.Object, Want: want, Got: got, Manifest: manifestKey(m.ID)}
}
