package artifact_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

// forgetful acknowledges what it does not store.
type forgetful struct{ *artifacttest.Memory }

func (forgetful) Put(context.Context, string, io.ReadSeeker) error { return nil }

func TestADocumentThatTheStoreDroppedIsNotKept(t *testing.T) {
	honest := artifacttest.NewMemory()
	s := artifact.Steps{Store: honest}
	if err := s.KeepDoc(t.Context(), "demo", "report.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	s.Store = forgetful{artifacttest.NewMemory()}
	if err := s.KeepDoc(t.Context(), "demo", "report.json", []byte("{}")); err == nil || !strings.Contains(err.Error(), "does not have it") {
		t.Errorf("dropped: %v", err)
	}
	s.Store = forgetful{honest}
	if err := s.KeepDoc(t.Context(), "demo", "report.json", []byte(`{"newer": true}`)); err == nil || !strings.Contains(err.Error(), "returns 2 others") {
		t.Errorf("an older one stays: %v", err)
	}
}
