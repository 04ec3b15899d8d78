package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"floe/internal/designer/replay"
	"floe/internal/devtest/skill"
	"floe/internal/serve/servetest"
)

func TestALanguageModelIsTrainedServedAskedAndDesigns(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	l := openLab(t)
	out := l.must("run", l.spec)
	r := l.found("lm")
	if r.State != "done" || len(r.Rounds) != 2 || r.Base == nil || len(r.Benchmarks) != 1 || r.Benchmarks[0].Trained == nil {
		t.Fatalf("results %+v\n%s", r, out)
	}
	before := r.Base.Total()
	for i, round := range r.Rounds {
		now := round.Scorecard.Total()
		if now.Valid <= before.Valid {
			t.Errorf("round %d: %d of %d valid after %d", i, now.Valid, now.N, before.Valid)
		}
		before = now
		if tr := round.Training; tr == nil || tr.Trainer != "trl" || tr.Steps != 6 || tr.Rollouts != 6*4*4 || len(tr.Curve) != 6 {
			t.Errorf("round %d: training %+v", i, tr)
		}
	}
	design := r.Rounds[0].Transcript
	if want := fmt.Sprintf("skill %.6f", float64(l.skillAfter("lm", 0))); design == nil || design.Outcome != "ok" || !strings.Contains(design.Rationale, want) {
		t.Errorf("round 0's design is %+v; want one by the checkpoint of %s", design, want)
	}
	sums := l.sums("lm")
	for _, file := range []string{
		"checkpoint/manifest.json", "checkpoint/adapter_config.json", "model.json", "training.json", "result.json", "spec.json",
		"attempts.json", "metrics/a1.jsonl", "samples/a1.jsonl", "log/a1.log",
	} {
		if sums["round-1/train/"+file] == "" {
			t.Errorf("round 1's training left no %s; it left %v", file, slices.Sorted(maps.Keys(sums)))
		}
	}
	if log := l.text("lm", "round-1/train/log/a1.log"); !strings.Contains(log, "step 6 of 6") {
		t.Errorf("the log of the job:\n%s", log)
	}
	if lines := l.must("logs", "lm", "--round", "1", "--step", "train"); !strings.Contains(lines, "step 6 of 6") {
		t.Errorf("what the job printed is not in the log of its step:\n%s", lines)
	}
	l.once()
	l.quiet()
	if *record {
		l.record("exp-lm", "experiment-model.json")
		l.record("exp-lm-round-1", "round-model.json")
	}

	again := func(t *testing.T) *lab { m := *l.machine; m.t = t; return &lab{&m, l.dir, l.spec, l.env} }
	starts := func() int { return len(l.of(skill.EventStart)) }
	t.Run("the same again does nothing", func(t *testing.T) {
		l, before := again(t), starts()
		l.must("run", l.spec, "--name", "twin")
		if diff := differ(sums, l.sums("twin")); diff != "" || starts() != before {
			t.Errorf("%d trainings; %s", starts()-before, diff)
		}
		if asked := len(l.of(skill.EventServe)); asked == 0 {
			t.Error("no server was ever started")
		}
	})
	t.Run("its answers and designs are looked at again, and its rounds forked", func(t *testing.T) {
		l, before := again(t), starts()
		l.must("rescore", "lm", "--check")
		l.must("artifacts", "verify", "lm")
		var r replay.Result
		if err := json.Unmarshal([]byte(l.must("design", "replay", "lm", "--round", "0", "--n", "2", "-o", "json")), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Cells) != 1 || r.Cells[0].Usable != 2 {
			t.Errorf("the checkpoint was asked again for %+v; want two usable designs", r.Cells)
		}
		l.must("fork", "lm", "--at-round", "1", "--set", "trainer.learning_rate=0.00003")
		if made := starts() - before; made != 1 {
			t.Errorf("%d trainings; want that of the fork's round", made)
		}
		if was, now := l.skillAfter("lm", 1), l.skillAfter("lm-fork-1", 1); now <= was || l.skillAfter("lm-fork-1", 0) != l.skillAfter("lm", 0) {
			t.Errorf("the fork's round left a skill of %v; want more than %v, from the same round before", now, was)
		}
		l.quiet()
	})
	t.Run("another that shares the first training does the second alone, and the base model designs", func(t *testing.T) {
		l, before := again(t), starts()
		l.must("run", l.spec, "--name", "control", "--set", "designer.kind=base")
		if made := starts() - before; made != 1 {
			t.Errorf("%d trainings; want that of round 1", made)
		}
		if d := l.found("control").Rounds[0].Transcript; d == nil || d.Outcome != "ok" || !strings.Contains(d.Rationale, "skill 0.200000") {
			t.Errorf("round 0's design is %+v; want one by the base model", d)
		}
		l.quiet()
	})
	t.Run("somebody else's server is given the checkpoints", func(t *testing.T) {
		l := again(t)
		theirs := servetest.New("vllm", l.path("base"), "base", skill.Answer)
		server := httptest.NewServer(theirs)
		defer server.Close()
		l.must("run", l.spec, "--name", "external", "--set", "serve={kind: external, endpoint: "+server.URL+"/v1, load: true, folder: "+l.path("shared")+"}")
		if got, want := l.found("external").Rounds[1].Scorecard.Total(), l.found("lm").Rounds[1].Scorecard.Total(); got.Valid != want.Valid {
			t.Errorf("%d are valid, and %d where the server is ours", got.Valid, want.Valid)
		}
		l.quiet()
	})
	t.Run("job and inputs in the store, trained by full weights", func(t *testing.T) {
		l := again(t)
		l.must("run", l.spec, "--name", "stored", "--set", "job.files=store", "--set", "trainer.recipe.tuning=full", "--set", "designer.kind=fixed")
		r := l.found("stored")
		if base, last := r.Base.Total(), r.Rounds[1].Scorecard.Total(); last.Valid <= base.Valid {
			t.Errorf("%d of %d are valid after two rounds; before them %d", last.Valid, last.N, base.Valid)
		}
		l.quiet()
	})
}
