package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"floe/internal/designer/replay"
	"floe/internal/devtest/skill"
	"floe/internal/serve/servetest"
)

func TestADesignIsReplayedByTheExperimentsOwnModels(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must("run", l.spec, "--set", "designer.kind=learnability")
	args := []string{"design", "replay", "lm", "--round", "0", "--designer", "trained,base,learnability", "--n", "2", "-o", "json"}
	out := l.must(args...)
	var r replay.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Cells) != 3 || !r.Complete {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, want := range []string{fmt.Sprintf("skill %.6f", float64(l.skillAfter("lm", 0))), fmt.Sprintf("skill %.6f", baseSkill)} {
		c := r.Cells[i]
		if c.Usable != 2 || len(c.Draws) != 2 || c.Tokens == 0 || c.Model == "" {
			t.Errorf("%s: %+v", c.Name, c)
			continue
		}
		for _, a := range l.calls(replay.Result{Cells: r.Cells[i : i+1]}) {
			if !strings.Contains(a.Reply, want) {
				t.Errorf("%s was answered by another model; want that of %s:\n%s", c.Name, want, a.Reply)
			}
		}
	}
	if r.Cells[0].Model == r.Cells[1].Model || r.Cells[2].Model != "" {
		t.Errorf("models %q, %q, %q", r.Cells[0].Model, r.Cells[1].Model, r.Cells[2].Model)
	}
	l.quiet() // the servers ended with the replay
	before := len(l.of(skill.EventServe))
	if again := l.must(args...); again != out || len(l.of(skill.EventServe)) != before {
		t.Errorf("the same again started %d servers, or had another result", len(l.of(skill.EventServe))-before)
	}

	theirs := servetest.New("vllm", l.path("base"), "base", skill.Answer)
	server := httptest.NewServer(theirs)
	defer server.Close()
	l.must("run", l.spec, "--name", "external", "--set", "designer.kind=fixed",
		"--set", "serve={kind: external, endpoint: "+server.URL+"/v1, load: true, folder: "+l.path("shared")+"}")
	var x replay.Result
	out = l.must("design", "replay", "external", "--round", "0", "--designer", "trained", "--n", "1", "-o", "json")
	if err := json.Unmarshal([]byte(out), &x); err != nil || x.Cells[0].Usable != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	_, errOut, code := l.starter("design", "replay", "external", "--round", "0", "--designer", "trained", "--n", "2", "--max-cost", "1")
	if code != exitFailed || !strings.Contains(errOut, "what this model costs is not known") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
