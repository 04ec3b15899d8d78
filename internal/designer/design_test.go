package designer_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// says is a designer that gives one answer and remembers what it was asked.
type says struct {
	proposal designer.Proposal
	err      error
	asked    designer.Request
}

func (s *says) Propose(_ context.Context, in designer.Request) (designer.Proposal, error) {
	s.asked = in
	in.Beat("thinking")
	return s.proposal, s.err
}

var v3 = experiment.DesignerSpec{Kind: "test", Context: "V3", Details: "bookkeeping"}

func design(t *testing.T, d designer.Designer, spec experiment.DesignerSpec, l designer.Limits) experiment.Transcript {
	t.Helper()
	got, err := designer.Design(t.Context(), d, spec, evidence(1), l)
	if err != nil {
		t.Fatal(err)
	}
	if _, repairs := curriculum.Project(got.Used, got.Used, pond(), 0); len(repairs) > 0 {
		t.Errorf("used is not legal: %q", repairs)
	}
	return got
}

func TestAProposalIsUsedAsAsked(t *testing.T) {
	d := &says{proposal: designer.Proposal{Asked: wanted(), Rationale: "because", Model: "m", Notes: []string{"a note"}, Attempts: []experiment.Attempt{{Reply: "r"}}}}
	got := design(t, d, v3, designer.Limits{Seed: "s", Calls: 3, Tokens: 5})
	if got.Outcome != designer.OutcomeOK || got.Rationale != "because" || got.Model != "m" || got.Round != 1 || got.Designer != "test" || got.Context != "V3" {
		t.Errorf("transcript %+v", got)
	}
	if !reflect.DeepEqual(got.Asked, wanted()) || !reflect.DeepEqual(got.Used, wanted()) {
		t.Errorf("asked %+v, used %+v; want %+v", got.Asked, got.Used, wanted())
	}
	if want := []string{"a note"}; !reflect.DeepEqual(got.Repairs, want) {
		t.Errorf("repairs %q", got.Repairs)
	}
	if len(got.Changes) != 4 || got.Changes[0] != (experiment.Change{Size: "3x3", Field: "data_ratio", From: 0.25, To: 0.2}) {
		t.Errorf("changes %+v", got.Changes)
	}
	if got.Prompt != d.asked.Prompt || got.Prompt == "" || len(got.Sections) != 3 {
		t.Errorf("prompt of %d bytes, %d sections", len(got.Prompt), len(got.Sections))
	}
	if d.asked.Calls != 3 || d.asked.Tokens != 5 || !strings.Contains(d.asked.Seed, "s") {
		t.Errorf("asked with %d calls, %d tokens, seed %q", d.asked.Calls, d.asked.Tokens, d.asked.Seed)
	}
}

func TestOutcomes(t *testing.T) {
	over := wanted()
	over.Rows[0].Knobs[0].Value = 0.7
	none := func(experiment.Row) error { return errors.New("no room") }
	few := func(r experiment.Row) error {
		if v, _ := r.Knob("hole_ratio"); v > 0.12 && r.Size == "3x3" {
			return errors.New("too many holes for 3x3")
		}
		return nil
	}
	for name, c := range map[string]struct {
		proposal designer.Proposal
		minShare float64
		feasible func(experiment.Row) error
		outcome  string
		repair   string
	}{
		"as asked":           {proposal: designer.Proposal{Asked: wanted()}, outcome: designer.OutcomeOK},
		"form mended":        {proposal: designer.Proposal{Asked: wanted(), Normalised: true, Notes: []string{"summed to 0.99"}}, outcome: designer.OutcomeNormalised, repair: "summed to 0.99"},
		"beyond the space":   {proposal: designer.Proposal{Asked: over, Normalised: true}, outcome: designer.OutcomeProjected, repair: "hole_ratio"},
		"below the minimum":  {proposal: designer.Proposal{Asked: mix(row("3x3", 1, 0, 0), row("4x4", 0, 0, 0), row("10x10", 0, 0, 0))}, minShare: 0.1, outcome: designer.OutcomeProjected, repair: "min_share"},
		"not to be drawn":    {proposal: designer.Proposal{Asked: wanted()}, feasible: few, outcome: designer.OutcomeProjected, repair: "3x3 hole_ratio"},
		"nothing drawn":      {proposal: designer.Proposal{Asked: wanted()}, feasible: none, outcome: designer.OutcomeFallback},
		"nothing usable":     {proposal: designer.Proposal{Fallback: "all prose"}, outcome: designer.OutcomeFallback},
		"no change proposed": {proposal: designer.Proposal{}, outcome: designer.OutcomeOK},
	} {
		spec := v3
		spec.MinShare = c.minShare
		got := design(t, &says{proposal: c.proposal}, spec, designer.Limits{Feasible: c.feasible})
		if got.Outcome != c.outcome || !strings.Contains(strings.Join(got.Repairs, "\n"), c.repair) {
			t.Errorf("%s: outcome %s, repairs %q; want %s, %q", name, got.Outcome, got.Repairs, c.outcome, c.repair)
		}
		if got.Prompt != "" {
			t.Errorf("%s: a prompt is recorded that nobody was sent", name)
		}
		same := reflect.DeepEqual(got.Used, rounds()[1].Curriculum)
		if stays := c.outcome == designer.OutcomeFallback || name == "no change proposed"; same != stays {
			t.Errorf("%s: the last curriculum stays: %t; want %t", name, same, stays)
		}
	}
}

func TestAFallbackIsLoudAndLeavesNothingHalfDone(t *testing.T) {
	got := design(t, &says{proposal: designer.Proposal{Asked: wanted(), Fallback: "none of 3 replies could be used"}}, v3, designer.Limits{})
	if got.Rationale != "The last curriculum stays: none of 3 replies could be used" {
		t.Errorf("rationale %q", got.Rationale)
	}
	body, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"asked":{"rows":[]}`, `"changes":[]`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("transcript does not have %s", want)
		}
	}
}

func TestADesignerSeesNoMoreThanItsContext(t *testing.T) {
	d := &says{}
	spec := v3
	spec.Context = "V1"
	design(t, d, spec, designer.Limits{})
	if s := d.asked.Shown; s.History != nil || s.Summary != nil || s.Training != nil || s.Guidelines != nil || s.Failures == nil {
		t.Errorf("V1 shows %+v", s)
	}
	spec.Context = "V4"
	design(t, d, spec, designer.Limits{})
	h := d.asked.Shown.History
	if len(h.Rounds) != 1 || h.Rounds[0].Round != 1 || h.Rounds[0].Rationale != "" || len(h.Rounds[0].Training.Curve) != 0 {
		t.Errorf("V4 after round 1 shows the history %+v", h)
	}
}

func TestDesignPassesTroubleOn(t *testing.T) {
	var final *designer.FinalError
	_, err := designer.Design(t.Context(), &says{err: &designer.FinalError{Reason: "no key"}}, v3, evidence(0), designer.Limits{})
	if !errors.As(err, &final) || !strings.Contains(err.Error(), "design after round 0: no key") {
		t.Errorf("error %v", err)
	}
	crooked := evidence(1)
	crooked.History[1].Scorecard = experiment.Scorecard{}
	if _, err := designer.Design(t.Context(), &says{}, v3, crooked, designer.Limits{}); err == nil || !strings.Contains(err.Error(), "round 1 has an empty scorecard") {
		t.Errorf("error %v", err)
	}
}

func TestRoundsDrawApart(t *testing.T) {
	d := &says{}
	seeds := map[string]bool{}
	for round := range 3 {
		if _, err := designer.Design(t.Context(), d, v3, evidence(round), designer.Limits{Seed: "s"}); err != nil {
			t.Fatal(err)
		}
		seeds[d.asked.Seed] = true
	}
	if len(seeds) != 3 {
		t.Errorf("seeds %v", seeds)
	}
}
