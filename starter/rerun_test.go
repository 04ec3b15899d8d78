package main

import (
	"bytes"
	"strings"
	"testing"

	"floe/activities"
	"floe/internal/experiment"
)

func artifactAt(path, sum string) entry {
	return entry{Path: path, SHA256: strings.Repeat(sum, 64)}
}

func TestRunsAreTheSameOnlyIfEveryArtifactIs(t *testing.T) {
	one := []entry{artifactAt("start/policy/policy.bin", "a"), artifactAt("round-0/train/policy.bin", "b")}
	if r := compared(one, one); !r.Equal || len(r.Artifacts) != 2 {
		t.Errorf("a run differs from itself: %+v", r)
	}
	for name, c := range map[string]struct {
		other []entry
		path  string
	}{
		"other content": {[]entry{one[0], artifactAt("round-0/train/policy.bin", "c")}, "round-0/train/policy.bin"},
		"one less":      {one[:1], "round-0/train/policy.bin"},
		"one more":      {append(one[:2:2], artifactAt("round-1/train/policy.bin", "d")), "round-1/train/policy.bin"},
	} {
		r := compared(one, c.other)
		var out bytes.Buffer
		if err := r.table(&out); err != nil {
			t.Fatal(err)
		}
		if r.Equal || r.differing() != 1 || !strings.Contains(out.String(), c.path) || strings.Contains(out.String(), "start/policy") {
			t.Errorf("%s: %+v\n%s", name, r, out.String())
		}
	}
}

func TestForksThatCannotBeAreRefusedWithAllFaults(t *testing.T) {
	old := experiment.Spec{Name: "a", Rounds: 3, Agents: 2}
	refs := activities.Refs{Rounds: make([]activities.RoundRefs, 2)}
	changed := func(change func(*experiment.Spec)) experiment.Spec {
		s := old
		s.Name = "b"
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		spec experiment.Spec
		at   int
		want []string
	}{
		"nothing":              {changed(func(*experiment.Spec) {}), 2, nil},
		"another designer":     {changed(func(s *experiment.Spec) { s.Designer.Context = "V3" }), 1, nil},
		"another seed":         {changed(func(s *experiment.Spec) { s.Seed = 9 }), 1, nil},
		"no round is shared":   {changed(func(*experiment.Spec) {}), 0, []string{"at least 1"}},
		"rounds are not done":  {changed(func(*experiment.Spec) {}), 3, []string{"at most 2"}},
		"no round is left":     {changed(func(s *experiment.Spec) { s.Rounds = 2 }), 2, []string{"--set rounds=3"}},
		"what was measured":    {changed(func(s *experiment.Spec) { s.Validation.Instances = 9; s.Agents = 3 }), 1, []string{"validation.instances", "agents"}},
		"the parent's name":    {old, 1, []string{"--name"}},
		"all of these at once": {changed(func(s *experiment.Spec) { s.Trainer.WarmStart = 9; s.Name = "a" }), 7, []string{"at most 2", "warm_start", "--name"}},
	} {
		faults := forkFaults(old, c.spec, refs, c.at)
		text := strings.Join(faults, "\n")
		if len(faults) != len(c.want) {
			t.Errorf("%s: %d faults; want %d:\n%s", name, len(faults), len(c.want), text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", name, w, text)
			}
		}
	}
}

func TestAForkDoesNotBeginWithWhatNobodyDecidedAbout(t *testing.T) {
	old := experiment.Spec{Name: "a", Rounds: 2, Designer: experiment.DesignerSpec{Kind: "openai", Approve: true}}
	longer := old
	longer.Name, longer.Rounds = "b", 4
	unasked := longer
	unasked.Designer.Approve = false
	decidedAbout := activities.RoundRefs{Proposal: activities.Done{ID: experiment.StepID{Kind: "design", Key: "k"}}}
	refs := activities.Refs{Rounds: []activities.RoundRefs{decidedAbout, {Round: 1}}}
	r := experiment.Results{Rounds: []experiment.RoundResult{{Transcript: &experiment.Transcript{}}, {Transcript: &experiment.Transcript{}}}}
	skipped := experiment.Results{Rounds: []experiment.RoundResult{{}, {Transcript: &experiment.Transcript{Outcome: activities.OutcomeSkipped}}}}
	for name, c := range map[string]struct {
		spec    experiment.Spec
		results experiment.Results
		at      int
		refused bool
	}{
		"a proposal that was decided about":           {longer, r, 1, false},
		"the last round's":                            {longer, r, 2, true},
		"the last round's, and nobody is to be asked": {unasked, r, 2, false},
		"a design that was left out":                  {longer, skipped, 2, false},
	} {
		if faults := undecided(old, c.spec, refs, c.results, c.at); (len(faults) > 0) != c.refused {
			t.Errorf("%s: %q; want it refused: %v", name, faults, c.refused)
		}
	}
}
