package activities_test

import (
	"strings"
	"testing"
	"time"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/designer/rule"
	"floe/internal/experiment"
)

// proposed is a design of a person's, in an experiment of two rounds.
func proposed(t *testing.T) (b *bench, in activities.DesignInput, designed activities.Designed) {
	t.Helper()
	b = newBench(t)
	in = upToDesign(b)
	in.Spec.Rounds, in.Spec.Designer.Kind = 2, "human"
	designed, err := do(b, b.acts.Design, in)
	if err != nil {
		t.Fatal(err)
	}
	return b, in, designed
}

func decision(in activities.DesignInput, designed activities.Designed, d activities.Decision) activities.DecideInput {
	d.By, d.At = "ann", "2026-01-02T03:04:05Z"
	return activities.DecideInput{
		Where: in.Where, Spec: in.Spec, Curriculum: in.Round.Curriculum.ID, Scorecard: in.Round.Scorecard.ID, Proposal: designed.ID,
		Reason: designed.NeedsApproval, Decision: d,
	}
}

// read is a JSON file of a step.
func read[T any](b *bench, id experiment.StepID, file string) (v T) {
	b.t.Helper()
	m, ok, err := b.acts.Steps.Find(b.t.Context(), id)
	if err == nil && ok {
		err = b.acts.Steps.ReadJSON(b.t.Context(), m, file, &v)
	}
	if err != nil || !ok {
		b.t.Fatalf("read %s of %s: found %v, %v", file, id, ok, err)
	}
	return v
}

func share(c experiment.Curriculum, size string) float64 {
	row, _ := c.Row(size)
	return row.DataRatio
}

func TestAPersonStartsFromTheLastCurriculum(t *testing.T) {
	b, in, designed := proposed(t)
	if designed.NeedsApproval == "" || designed.Decided != nil {
		t.Errorf("designed %+v; want the last curriculum, to be decided about", designed)
	}
	tr := read[experiment.Transcript](b, designed.ID, activities.FileTranscript)
	if len(tr.Sections) == 0 || share(tr.Used, "3x3") != 0.5 || share(tr.Used, "4x4") != 0.5 {
		t.Errorf("transcript %+v; want the evidence and the last curriculum", tr)
	}
	last := in
	last.Spec.Rounds = 1
	if after, err := do(b, b.acts.Design, last); err != nil || after.NeedsApproval != "" {
		t.Errorf("after the last round a person must decide (%q), %v", after.NeedsApproval, err)
	}
}

func TestADecisionSaysWhatIsUsedAndWhatWasProposed(t *testing.T) {
	edited := &experiment.Curriculum{Rows: []experiment.Row{
		{Size: "3x3", DataRatio: 0.6, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.9}, {Name: "wait_ratio", Value: 0.2}}},
		{Size: "4x4", DataRatio: 0.6, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.2}}},
	}}
	for _, c := range []struct {
		decision  activities.Decision
		outcome   string
		rationale string
		of3x3     float64
	}{
		{activities.Decision{Verdict: experiment.VerdictApproved, Note: "fine"}, "ok", "The last curriculum, for a person to edit.", 0.5},
		{activities.Decision{Verdict: experiment.VerdictRejected, Note: "too hard"}, "rejected", "The last curriculum stays: ann rejected the proposal: too hard", 0.5},
		{activities.Decision{Verdict: experiment.VerdictEdited, Curriculum: edited, Rationale: "more holes"}, "edited", "more holes", 0.5},
		{activities.Decision{Verdict: experiment.VerdictEdited, Curriculum: edited}, "edited", "Edited by ann.", 0.5},
	} {
		t.Run(c.decision.Verdict, func(t *testing.T) {
			b, in, designed := proposed(t)
			decided, err := do(b, b.acts.Decide, decision(in, designed, c.decision))
			if err != nil {
				t.Fatal(err)
			}
			tr := read[experiment.Transcript](b, decided.ID, activities.FileTranscript)
			d := read[experiment.Decision](b, decided.ID, activities.FileDecision)
			used := read[experiment.Curriculum](b, decided.ID, activities.FileCurriculum)
			if tr.Outcome != c.outcome || tr.Rationale != c.rationale || tr.By != "ann" || share(used, "3x3") != c.of3x3 || decided.Outcome != c.outcome {
				t.Errorf("outcome %q, rationale %q, by %q, 3x3 %v", tr.Outcome, tr.Rationale, tr.By, share(used, "3x3"))
			}
			if d.Verdict != c.decision.Verdict || d.Outcome != "ok" || d.Proposal != designed.ID || d.Reason != "the designer is a person" || d.Rationale == "" {
				t.Errorf("decision %+v", d)
			}
			if c.decision.Curriculum != nil && (len(d.Repairs) == 0 || len(d.Changes) == 0 || share(*d.Asked, "3x3") != 0.6) {
				t.Errorf("the edit's repairs %q, changes %v and what was asked %v", d.Repairs, d.Changes, d.Asked)
			}
		})
	}
}

func TestADecisionIsFoundByALaterRunOfTheSameExperimentOnly(t *testing.T) {
	b, in, designed := proposed(t)
	decided, err := do(b, b.acts.Decide, decision(in, designed, activities.Decision{Verdict: experiment.VerdictApproved}))
	if err != nil {
		t.Fatal(err)
	}
	again, err := do(b, b.acts.Design, in)
	if err != nil || again.Decided == nil || again.Decided.ID != decided.ID || !again.Decided.Reused {
		t.Errorf("the design was found %+v, %v; want the decision with it", again, err)
	}
	twin := in
	twin.Spec.Name = "twin"
	other, err := do(b, b.acts.Design, twin)
	if err != nil || other.ID != designed.ID || other.Decided != nil {
		t.Errorf("the twin found %+v, %v; want the same proposal, not decided", other, err)
	}
}

func TestAnEditOfWhichNothingCanBeDrawnIsRefused(t *testing.T) {
	b, in, designed := proposed(t)
	in.Spec.Agents = 5
	knobs := []experiment.Knob{{Name: "hole_ratio", Value: 0}, {Name: "wait_ratio", Value: 0}}
	full := &experiment.Curriculum{Rows: []experiment.Row{{Size: "3x3", DataRatio: 1, Knobs: knobs}}}
	_, err := do(b, b.acts.Decide, decision(in, designed, activities.Decision{Verdict: experiment.VerdictEdited, Curriculum: full}))
	if err == nil {
		t.Fatal("an edit was taken of which no task can be drawn")
	}
	if kind, again := kindOf(t, err); kind != activities.KindBadInput || again || !strings.Contains(err.Error(), "3x3") {
		t.Errorf("kind %s, again %v: %v", kind, again, err)
	}
}

func TestApprovalIsWantedWhereTheSpecOrTheGuardSaysSo(t *testing.T) {
	b := newBench(t)
	in := upToDesign(b)
	in.Spec.Rounds = 2
	in.Spec.Designer.Kind = "human"
	in.Spec.Designer.Approve = true
	human, err := do(b, b.acts.Design, in)
	if err != nil || human.NeedsApproval != "the designer is a person" {
		t.Errorf("human: %q, %v", human.NeedsApproval, err)
	}
	b.acts.Designer = fixed
	in.Spec.Designer.Kind = "fixed"
	gate, err := do(b, b.acts.Design, in)
	if err != nil || gate.NeedsApproval != "the experiment wants each proposal approved" {
		t.Errorf("approve: %q, %v", gate.NeedsApproval, err)
	}
	in.Spec.Designer.Approve = false
	free, err := do(b, b.acts.Design, in)
	if err != nil || free.NeedsApproval != "" {
		t.Errorf("neither: %q, %v", free.NeedsApproval, err)
	}
}

func fixed(spec experiment.DesignerSpec) (designer.Designer, error) { return rule.New(spec.Kind) }

// mastered stores a scorecard on which every size has nothing left to teach.
func mastered(b *bench) activities.Done {
	b.t.Helper()
	card := experiment.Scorecard{Policy: "round 0", Set: "validation", Checks: []string{"parse"}}
	for _, size := range []string{"3x3", "4x4"} {
		card.Cells = append(card.Cells, experiment.Cell{Size: size, Group: "no_wait", N: 50, Valid: 50, Optimal: 50, Errors: []int{0}})
	}
	file, err := artifact.JSON(activities.FileScorecard, card)
	if err != nil {
		b.t.Fatal(err)
	}
	id := experiment.StepID{Kind: "evaluate", Key: strings.Repeat("ab", 32)}
	if _, _, err := b.acts.Steps.Commit(b.t.Context(), id, "mastered", nil, time.Now(), []artifact.Body{file}); err != nil {
		b.t.Fatal(err)
	}
	return activities.Done{ID: id}
}

func TestTheGuardAsksForAPersonAndWarnsOfTheirAnswerToo(t *testing.T) {
	b := newBench(t)
	b.acts.Designer = fixed
	in := upToDesign(b)
	in.Spec.Rounds, in.Spec.Designer.Trivial = 2, designer.TrivialStop
	in.Round.Scorecard = mastered(b)
	designed, err := do(b, b.acts.Design, in)
	if err != nil || !strings.HasPrefix(designed.NeedsApproval, "The environment becomes trivial") {
		t.Fatalf("designed %+v, %v; want a person asked", designed, err)
	}
	knobs := []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.2}}
	for size, warned := range map[string]bool{"3x3": true, "6x6": false} {
		edited := &experiment.Curriculum{Rows: []experiment.Row{{Size: size, DataRatio: 1, Knobs: knobs}}}
		decided, err := do(b, b.acts.Decide, decision(in, designed, activities.Decision{Verdict: experiment.VerdictEdited, Curriculum: edited}))
		if err != nil {
			t.Fatal(err)
		}
		if tr := read[experiment.Transcript](b, decided.ID, activities.FileTranscript); (tr.Warning != "") != warned {
			t.Errorf("all samples on %s: warning %q; want one: %v", size, tr.Warning, warned)
		}
	}
}

func TestADecisionWhoseStepWasSetAsideIsAskedForAgain(t *testing.T) {
	b, in, designed := proposed(t)
	decided, err := do(b, b.acts.Decide, decision(in, designed, activities.Decision{Verdict: experiment.VerdictApproved}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.acts.Steps.Quarantine(t.Context(), decided.ID); err != nil {
		t.Fatal(err)
	}
	again, err := do(b, b.acts.Design, in)
	if err != nil || again.Decided != nil || again.NeedsApproval == "" {
		t.Errorf("designed %+v, %v; want a person asked again", again, err)
	}
}

func TestNobodyIsAskedAboutADesignThatWasLeftOut(t *testing.T) {
	b, in, _ := proposed(t)
	in.Skip = "on holiday"
	kept, err := do(b, b.acts.Design, in)
	if err != nil || kept.NeedsApproval != "" || kept.Outcome != activities.OutcomeSkipped {
		t.Errorf("designed %+v, %v; want the curriculum kept without a word", kept, err)
	}
}

func TestADecisionOfAnExperimentThatDoesNotShareIsItsOwn(t *testing.T) {
	b, in, designed := proposed(t)
	d := decision(in, designed, activities.Decision{Verdict: experiment.VerdictApproved})
	shared, err := do(b, b.acts.Decide, d)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	d.Spec.Share = &no
	alone, err := do(b, b.acts.Decide, d)
	if err != nil || alone.ID == shared.ID {
		t.Errorf("decided %+v, %v; want another step than %s", alone, err, shared.ID)
	}
}
