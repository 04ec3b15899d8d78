package plan_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/designer"
	"floe/internal/experiment"
	"floe/internal/plan"
)

// gated is a spec whose designer is set as a case wants it.
func gated(name string, set func(*experiment.DesignerSpec)) experiment.Spec {
	s := spec(name, "V6")
	set(&s.Designer)
	return s
}

func TestWhatFollowsAPersonsDecisionIsTheExperimentsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*experiment.DesignerSpec)
		shown bool // the decision is a step of the plan
	}{
		"a person designs":   {func(d *experiment.DesignerSpec) { d.Kind = "human" }, true},
		"a person approves":  {func(d *experiment.DesignerSpec) { d.Approve = true }, true},
		"the guard may stop": {func(d *experiment.DesignerSpec) { d.Trivial = designer.TrivialStop }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.New(nil)
			one, other := planned(t, p, gated("one", c.set)), planned(t, p, gated("other", c.set))
			proposal := "round-0/design"
			if c.shown {
				proposal = "round-0/proposal"
				if d := at(t, one, "round-0/design"); d.ID.Kind != plan.KindDecision || !d.Open || d.ID == at(t, other, "round-0/design").ID {
					t.Errorf("the decision %+v; want one of the experiment's own, still open", d)
				}
			}
			if got, want := at(t, one, proposal).ID, at(t, other, proposal).ID; got != want {
				t.Errorf("the proposals are %s and %s; want one", got, want)
			}
			for _, path := range []string{"round-1/generate", "round-1/train", "round-2/design", "benchmark-3/trained"} {
				if at(t, one, path).ID == at(t, other, path).ID {
					t.Errorf("%s is shared, though people may decide differently", path)
				}
			}
			if i := slices.IndexFunc(one, func(s plan.Step) bool { return s.Path == "round-2/proposal" }); i >= 0 {
				t.Error("the last round's proposal is decided about, which nobody uses")
			}
		})
	}
}

func TestADecisionThatIsStoredIsInThePlan(t *testing.T) {
	steps := artifact.Steps{Store: artifacttest.NewMemory()}
	s := gated("one", func(d *experiment.DesignerSpec) { d.Kind = "human" })
	store := func(id experiment.StepID, v ...any) {
		t.Helper()
		var files []artifact.Body
		for i := 0; i < len(v); i += 2 {
			b, err := artifact.JSON(v[i].(string), v[i+1])
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, b)
		}
		if _, _, err := steps.Commit(t.Context(), id, "x", nil, time.Now(), files); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"start/curriculum", "start/policy", "start/validation-set", "start/validate", "round-0/generate", "round-0/train", "round-0/validate", "round-0/proposal"} {
		store(at(t, planned(t, plan.New(&steps), s), path).ID, plan.FileCurriculum, experiment.Curriculum{}, plan.FileScorecard, experiment.Scorecard{},
			plan.FileTraining, experiment.Training{}, plan.FilePolicy, path, plan.FileDataset, path, plan.FileTranscript, experiment.Transcript{})
	}
	proposal := at(t, planned(t, plan.New(&steps), s), "round-0/proposal")
	if !proposal.Done {
		t.Fatalf("the proposal %+v; want it done", proposal)
	}
	decision := experiment.StepID{Kind: plan.KindDecision, Key: proposal.ID.Key}
	doc, err := json.Marshal(map[string]any{"proposal": proposal.ID, "decided": map[string]any{"id": decision}})
	if err != nil {
		t.Fatal(err)
	}
	if err := steps.PutDoc(t.Context(), s.Name, plan.DocDecision(0), doc); err != nil {
		t.Fatal(err)
	}
	if d := at(t, planned(t, plan.New(&steps), s), "round-0/design"); !d.Open || d.ID == decision {
		t.Errorf("a decision whose step was set aside is planned as %+v; want it open: a person is asked again", d)
	}
	store(decision, plan.FileCurriculum, experiment.Curriculum{}, plan.FileTranscript, experiment.Transcript{})
	after := planned(t, plan.New(&steps), s)
	if d := at(t, after, "round-0/design"); d.Open || !d.Done || d.ID != decision {
		t.Errorf("the decision is planned as %+v; want %s, done", d, decision)
	}
	if g := at(t, after, "round-1/generate"); g.Open {
		t.Errorf("what follows the decision is %+v; want its key known", g)
	}
	s.Name = "other"
	if d := at(t, planned(t, plan.New(&steps), s), "round-0/design"); d.Done || d.ID == decision {
		t.Errorf("another experiment's decision is %+v; want its own", d)
	}
}
