package main

import (
	"encoding/json"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/designer/replay"
	"floe/internal/experiment"
	planning "floe/internal/plan"
)

func TestWhatOnlyDocumentsPointToIsReferredTo(t *testing.T) {
	a := &app{steps: &artifact.Steps{Store: artifacttest.NewMemory()}}
	id := func(kind string) experiment.StepID { return experiment.StepID{Kind: kind, Key: "k"} }
	for doc, v := range map[string]any{
		planning.DocDecision(0): map[string]any{"proposal": id("design"), "decided": map[string]any{"id": id("decision")}},
		replay.Doc("x"):         replay.Result{Cells: []replay.CellResult{{Draws: []replay.Draw{{Step: id("replay")}}}}},
		"other.json":            map[string]any{"proposal": id("other")},
	} {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.steps.PutDoc(t.Context(), "demo", doc, body); err != nil {
			t.Fatal(err)
		}
	}
	found := map[experiment.StepID]bool{}
	docs, err := a.steps.AllDocs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.referInDocs(t.Context(), "demo", docs["demo"], found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 3 || !found[id("design")] || !found[id("decision")] || !found[id("replay")] {
		t.Errorf("found %v; want the proposal, the decision and the answer", found)
	}
}
