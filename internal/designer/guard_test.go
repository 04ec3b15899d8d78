package designer_test

import (
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/experiment"
)

func trivial(round int, mode string, valid int, used experiment.Curriculum) (designer.Evidence, experiment.DesignerSpec, *says) {
	e := evidence(round)
	e.History[round].Scorecard = card("round", 40, valid, valid, 20, 10, 0, 0, 0)
	spec := v3
	spec.Trivial = mode
	return e, spec, &says{proposal: designer.Proposal{Asked: used}}
}

func TestATrivialEnvironmentIsWarnedOf(t *testing.T) {
	all := mix(row("3x3", 1, 0.1, 0.1), row("4x4", 0, 0.1, 0.1), row("10x10", 0, 0.1, 0.1))
	most := mix(row("3x3", 0.99, 0.1, 0.1), row("4x4", 0.01, 0.1, 0.1), row("10x10", 0, 0.1, 0.1))
	some := mix(row("3x3", 0.98, 0.1, 0.1), row("4x4", 0.02, 0.1, 0.1), row("10x10", 0, 0.1, 0.1))
	const told = "The environment becomes trivial: 100.0 % of the samples are on sizes that are mastered already: 3x3 (95.0 % valid, 38 of 40)."
	for _, c := range []struct {
		name, mode string
		round      int
		valid      int
		asked      experiment.Curriculum
		warns      bool
		stops      bool
	}{
		{"all on a mastered size", designer.TrivialWarn, 1, 38, all, true, false},
		{"practically all", designer.TrivialWarn, 1, 38, most, true, false},
		{"some elsewhere", designer.TrivialWarn, 1, 38, some, false, false},
		{"not quite mastered", designer.TrivialWarn, 1, 37, all, false, false},
		{"stop", designer.TrivialStop, 1, 38, all, true, true},
		{"stop, but nobody will train on it", designer.TrivialStop, 2, 38, all, true, false},
		{"ignore", designer.TrivialIgnore, 1, 38, all, false, false},
		{"nothing to stop", designer.TrivialStop, 1, 38, some, false, false},
	} {
		e, spec, d := trivial(c.round, c.mode, c.valid, c.asked)
		got, err := designer.Design(t.Context(), d, spec, e, designer.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if (got.Warning != "") != c.warns || (got.NeedsApproval != "") != c.stops {
			t.Errorf("%s: warning %q, approval %q", c.name, got.Warning, got.NeedsApproval)
		}
		if c.name == "all on a mastered size" && got.Warning != told {
			t.Errorf("warning %q; want %q", got.Warning, told)
		}
		if c.stops && got.NeedsApproval != got.Warning {
			t.Errorf("%s: asks a person because %q", c.name, got.NeedsApproval)
		}
	}
}

func TestFewAnswersMasterNothing(t *testing.T) {
	few := card("round", 19, 19, 19, 19, 19, 19, 19, 0)
	if got := designer.TrivialWarning(mix(row("3x3", 1, 0, 0)), few); got != "" {
		t.Errorf("warning %q on 19 answers", got)
	}
	if got := designer.TrivialWarning(mix(row("3x3", 0.5, 0, 0), row("4x4", 0.5, 0, 0)), card("round", 20, 20, 0, 20, 0, 20, 0, 0)); !strings.Contains(got, "4x4") {
		t.Errorf("warning %q; want it on 20", got)
	}
}

func TestMeasuresAreInTheTranscript(t *testing.T) {
	got := design(t, &says{proposal: designer.Proposal{Asked: wanted()}}, v3, designer.Limits{})
	if m := got.Measures; m == nil || len(m.Fields) != 3 || m.SizesChanged != 1 || m.FromLast <= 0 || m.FromFirst <= m.FromLast || m.Upheld == 0 {
		t.Errorf("measures %+v", got.Measures)
	}
	// What was asked counts, not what the projection made of it.
	over := wanted()
	over.Rows[0].Knobs[0].Value = 0.95
	projected := design(t, &says{proposal: designer.Proposal{Asked: over}}, v3, designer.Limits{})
	if projected.Outcome != designer.OutcomeProjected || projected.Measures.FromLast <= got.Measures.FromLast+1 {
		t.Errorf("outcome %s, from last %v against %v", projected.Outcome, projected.Measures.FromLast, got.Measures.FromLast)
	}
	if lost := design(t, &says{proposal: designer.Proposal{Fallback: "prose"}}, v3, designer.Limits{}); lost.Measures != nil {
		t.Errorf("a fallback has the measures %+v", lost.Measures)
	}
}
