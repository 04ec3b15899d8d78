package activities_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"floe/activities"
	"floe/internal/designer"
	"floe/internal/designer/rule"
	"floe/internal/experiment"
)

func TestTheEvidenceOfAFinishedRoundIsWhatItsDesignerWasShown(t *testing.T) {
	b := newBench(t)
	b.acts.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return rule.New("fixed") }
	in := upToDesign(b)
	designed, err := do(b, b.acts.Design, in)
	if err != nil {
		t.Fatal(err)
	}
	m, ok, err := b.acts.Steps.Find(t.Context(), designed.ID)
	if err != nil || !ok {
		t.Fatalf("found %v, %v", ok, err)
	}
	var shown struct {
		Evidence json.RawMessage `json:"evidence"`
	}
	if err := json.Unmarshal(m.Inputs, &shown); err != nil {
		t.Fatal(err)
	}

	refs, finished := in.Refs, in.Round
	finished.Design = designed.Done
	refs.Rounds = append(refs.Rounds, finished)
	stored, ok := activities.StoredDesign(in.Spec, refs, 0)
	if !ok {
		t.Fatal("the round is taken for unfinished")
	}
	e, err := b.acts.Environment("lake")
	if err != nil {
		t.Fatal(err)
	}
	again, err := activities.Evidence(t.Context(), b.acts.Steps, e, stored)
	if err != nil {
		t.Fatal(err)
	}
	var was bytes.Buffer
	if err := json.Compact(&was, shown.Evidence); err != nil {
		t.Fatal(err)
	}
	if body, err := json.Marshal(again); err != nil || string(body) != was.String() {
		t.Errorf("%v: rebuilt\n%s\nwas shown\n%s", err, body, &was)
	}
	for _, round := range []int{-1, 1} {
		if _, ok := activities.StoredDesign(in.Spec, refs, round); ok {
			t.Errorf("round %d is taken for finished", round)
		}
	}
}
