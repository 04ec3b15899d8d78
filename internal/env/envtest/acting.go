package envtest

import (
	"slices"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

// paper is the reward as the paper gives it, with this house's defaults.
var paper = experiment.RewardSpec{
	Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid",
}

func demonstrates(t *testing.T, e env.Playable, tasks []env.Task) {
	for _, task := range tasks {
		p := open(t, e, task)
		acts, err := p.Demonstration()
		if err != nil {
			t.Fatalf("%s: %v", task.ID, err)
		}
		ep := p.Episode()
		for i, action := range acts {
			if ep.Done() {
				t.Fatalf("%s: done before decision %d of %d", task.ID, i+1, len(acts))
			}
			observed(t, e, ep)
			ep.Act(action)
		}
		v := p.Judge(ep.Answer())
		consistent(t, e, v)
		if !ep.Done() || !v.Valid || !v.Optimal || v.Cost != task.Optimum {
			t.Errorf("%s: done = %v, verdict %+v; want an optimal answer", task.ID, ep.Done(), v)
		}
		if r := env.Score(paper, env.RewardState{}, v); r.Total != 1 {
			t.Errorf("%s: reward %+v; want 1", task.ID, r)
		}
	}
}

// observed checks an observation: a set of indices below Features, appended.
func observed(t *testing.T, e env.Playable, ep env.Episode) {
	t.Helper()
	seen := ep.Observe([]int32{-7})
	if seen[0] != -7 || len(seen) < 2 {
		t.Fatalf("observation %v does not append", seen)
	}
	if again := ep.Observe([]int32{-7}); !slices.Equal(again, seen) {
		t.Fatalf("observed %v, then %v", seen, again)
	}
	slices.Sort(seen)
	for i, f := range seen[1:] {
		if f < 0 || int(f) >= e.Features() || f == seen[i] {
			t.Fatalf("observation %v; want different features below %d", seen[1:], e.Features())
		}
	}
}

// tooLong is more decisions than any episode may ask for.
const tooLong = 100_000

func wanders(t *testing.T, e env.Playable, tasks []env.Task) {
	rng := experiment.Rand("envtest", "wander")
	for _, task := range tasks {
		p := open(t, e, task)
		for range 5 {
			ep := p.Episode()
			for decisions := 0; !ep.Done(); decisions++ {
				if decisions == tooLong {
					t.Fatalf("%s: an episode does not end", task.ID)
				}
				observed(t, e, ep)
				ep.Act(rng.IntN(e.Actions()))
			}
			v := p.Judge(ep.Answer())
			consistent(t, e, v)
			if !v.Valid && v.Failed[0] == e.Checks()[0].Name {
				t.Errorf("%s: the referee cannot read the episode's answer %q: %q", task.ID, ep.Answer(), v.Faults)
			}
			ep.Act(0) // an act too many is ignored
			if again := p.Judge(ep.Answer()); again.Cost != v.Cost || again.Valid != v.Valid {
				t.Errorf("%s: acting after the end changed the answer", task.ID)
			}
		}
	}
}
