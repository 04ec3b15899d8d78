package designer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// TestRecordedRepliesAreReadAsTheyWere reads real replies of language models, as
// `make test-model` records them: good and bad ones, of every class that came.
func TestRecordedRepliesAreReadAsTheyWere(t *testing.T) {
	files, err := filepath.Glob("testdata/replies/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		var recorded struct {
			Space   env.Space
			Present experiment.Curriculum
			Replies []struct {
				Class        designer.Class
				FinishReason string `json:"finish_reason"`
				Reply        string
			}
		}
		body, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(body, &recorded)
		}
		if err != nil || len(recorded.Replies) == 0 {
			t.Fatalf("%s: %d replies, %v", file, len(recorded.Replies), err)
		}
		reader := designer.NewReader(recorded.Space, recorded.Present, "keep")
		for i, r := range recorded.Replies {
			got := reader.Read(r.Reply, r.FinishReason)
			if got.Class != r.Class {
				t.Errorf("%s, reply %d is read as %s (%s); was %s:\n%s", file, i, got.Class, got.Fault, r.Class, r.Reply)
			}
			if got.Class.Usable() != (len(got.Asked.Rows) > 0) {
				t.Errorf("%s, reply %d: class %s with %d rows", file, i, got.Class, len(got.Asked.Rows))
			}
		}
	}
}
