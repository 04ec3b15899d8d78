package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// gatedSpec is the small experiment behind a gate.
func gatedSpec(t *testing.T, rounds, designer string) string {
	t.Helper()
	return specFile(t, strings.Replace(small, "rounds: 2", "rounds: "+rounds+"\ndesigner: "+designer, 1))
}

// waits waits until the experiment waits for a person after a round.
func (m *machine) waits(round int) {
	m.t.Helper()
	m.until("a proposal to wait", func() bool {
		var d design
		out, _, code := m.starter("design", "show", "small", "-o", "json")
		return code == exitOK && json.Unmarshal([]byte(out), &d) == nil && d.Waiting != nil && d.Waiting.Round == round
	})
}

// refused wants a command to end with a code and words.
func (m *machine) refused(code int, words string, args ...string) {
	m.t.Helper()
	if _, errOut, got := m.starter(args...); got != code || !strings.Contains(errOut, words) {
		m.t.Errorf("%v: exit code %d, %s; want %d and %q", args, got, errOut, code, words)
	}
}

func (m *machine) shareOf(path, size string) float64 {
	m.t.Helper()
	var c experiment.Curriculum
	if err := json.Unmarshal([]byte(m.must("artifacts", "get", "small", path, "-O", "-")), &c); err != nil {
		m.t.Fatal(err)
	}
	row, _ := c.Row(size)
	return row.DataRatio
}

const mine = `rationale: the large maps next
sizes:
  3x3: {data_ratio: 0.2, hole_ratio: 0.1, wait_ratio: 0.2}
  4x4: {data_ratio: 0.3, hole_ratio: 0.9, wait_ratio: 0.2}
  5x5: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
`

// TestAPersonDesigns lets the run wait, kills the worker, and goes on with a
// curriculum that a person wrote.
func TestAPersonDesigns(t *testing.T) {
	t.Parallel()
	m := boot(t, impatient...)
	spec := gatedSpec(t, "2", "{kind: human}")
	m.must("run", spec, "--detach")
	m.waits(0)
	m.kill9("worker")
	m.waits(0)
	if out := m.must("list", "--state", "waiting"); !strings.Contains(out, workflows.StateWaiting) {
		t.Errorf("list: %s", out)
	}
	if out := m.must("show", "small"); !strings.Contains(out, "design edit small") {
		t.Errorf("show does not say what to type: %s", out)
	}
	if out := m.must("design", "show", "small"); !strings.Contains(out, "the designer is a person") || !strings.Contains(out, "nothing changes") {
		t.Errorf("design show: %s", out)
	}

	bad := specFile(t, "sizes:\n  3x3: {data_ratio: 20%}\n  77x7: {data_ratio: 1}\n")
	m.refused(exitUsage, bad+":2:21: sizes.3x3.data_ratio", "design", "edit", "small", "--file", bad)
	m.refused(exitUsage, "--reason is missing", "design", "reject", "small")
	m.refused(exitNotFound, "no design after round 7", "design", "show", "small", "--round", "7")
	out, errOut, code := m.starter("design", "edit", "small", "--file", specFile(t, mine), "--by", "ann", "--note", "by hand", "-o", "json")
	if code != exitOK || !strings.Contains(errOut, "4x4 hole_ratio 0.90 -> 0.50") {
		t.Fatalf("edit: exit code %d, %s; want the repair told", code, errOut)
	}
	var said verdict
	if err := json.Unmarshal([]byte(out), &said); err != nil || said.Verdict != experiment.VerdictEdited || said.By != "ann" || said.ID.Kind != "decision" {
		t.Errorf("edit printed %s (%v)", out, err)
	}
	m.refused(exitNotFound, "nothing waits for a decision in small", "design", "approve", "small")
	m.must("watch", "small")
	m.refused(exitNotFound, "the proposal after round 0 was edited by ann at ", "design", "approve", "small")
	if got := m.shareOf("round-0/design/curriculum.json", "5x5"); got != 0.5 {
		t.Errorf("5x5 has %v of round 1's samples; want 0.5", got)
	}
	if got := m.shareOf("round-0/proposal/curriculum.json", "5x5"); got != 0.3 {
		t.Errorf("5x5 has %v of the proposal's samples; want 0.3", got)
	}
	if out := m.must("transcript", "show", "small", "--round", "0"); !strings.Contains(out, "Edited by ann: by hand") || !strings.Contains(out, "Shown: failures") {
		t.Errorf("transcript: %s", out)
	}
	m.refused(exitNotFound, "asked no model", "transcript", "show", "small", "--round", "0", "--attempt", "1")
	file := filepath.Join(t.TempDir(), "r.html")
	m.must("report", "small", "-O", file)
	if body, err := os.ReadFile(file); err != nil || !strings.Contains(string(body), "Edited by ann") {
		t.Errorf("the report does not say who decided: %v", err)
	}
	if *record {
		m.record("exp-small", "experiment-edited.json")
		m.record("exp-small-round-0", "round-edited.json")
	}
}

// TestAGateBehindADesigner approves one proposal, cancels while the next waits,
// goes on where it stopped, and rejects.
func TestAGateBehindADesigner(t *testing.T) {
	t.Parallel()
	m := boot(t)
	spec := gatedSpec(t, "3", "{kind: learnability, approve: true}")
	m.must("run", spec, "--detach")
	m.waits(0)
	m.must("design", "approve", "small", "--by", "ann", "--note", "fine")
	m.waits(1)
	m.must("cancel", "small")
	m.refused(exitNotFound, "the proposal after round 0 was approved by ann", "design", "approve", "small")
	m.must("run", spec, "--detach")
	m.waits(1) // round 0 is not asked about again

	m.env = []string{"VISUAL=", "EDITOR="}
	m.refused(exitUsage, "--file", "design", "edit", "small")
	m.env = []string{"VISUAL=", "EDITOR=true"} // leaves the text as it is
	m.refused(exitUsage, "the proposal as it stands", "design", "edit", "small")
	m.env = []string{"VISUAL=", "EDITOR=false"}
	m.refused(exitFailed, "nothing was sent", "design", "edit", "small")
	m.must("design", "reject", "small", "--by", "bob", "--reason", "too hard")
	m.must("watch", "small")
	if now, before := m.shareOf("round-1/design/curriculum.json", "3x3"), m.shareOf("round-0/design/curriculum.json", "3x3"); now != before {
		t.Errorf("3x3 has %v of round 2's samples; want %v, as before the rejected proposal", now, before)
	}
	var all []experiment.RoundResult
	var results struct{ Rounds *[]experiment.RoundResult }
	results.Rounds = &all
	if err := json.Unmarshal([]byte(m.must("report", "small", "-o", "json")), &results); err != nil || len(all) != 3 {
		t.Fatalf("%d rounds, %v", len(all), err)
	}
	for i, want := range []string{"ok", experiment.VerdictRejected} {
		if tr := all[i].Transcript; tr.Decision == nil || tr.Outcome != want {
			t.Errorf("round %d: outcome %q, decision %+v; want %q", i, tr.Outcome, tr.Decision, want)
		}
	}
	if all[2].Transcript.Decision != nil {
		t.Error("the last design, which no round uses, was decided about")
	}
}

func TestDecidingNeedsAServerAndAnExperiment(t *testing.T) {
	m := &machine{t: t, data: filepath.Join(t.TempDir(), "nothing")}
	for _, args := range [][]string{
		{"design", "show", "small"},
		{"design", "approve", "small"},
		{"design", "reject", "small", "--reason", "x"},
		{"transcript", "show", "small"},
	} {
		m.refused(exitUnreachable, "", args...)
	}
	m.refused(exitUsage, "--round is -1", "design", "show", "small", "--round", "-1")
}

// TestAFallbackIsLoud has a model say nothing that can be used. The endpoint is
// scripted.
func TestAFallbackIsLoud(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{
			"model":   "scripted",
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": "All is well."}}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5},
		}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	m := boot(t, "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY=none")
	out, errOut, code := m.starter("run", gatedSpec(t, "1", "{kind: openai, model: scripted, repairs: 1}"))
	if code != exitUndesigned || !strings.Contains(errOut, activities.StateFallback) || !strings.Contains(out, "! design_fallback: Round 0") {
		t.Errorf("run: exit code %d\n%s%s", code, out, errOut)
	}
	if out := m.must("show", "small"); !strings.Contains(out, "! design_fallback: Round 0") {
		t.Errorf("show: %s", out)
	}
	if out := m.must("transcript", "show", "small", "--attempt", "2", "--raw"); !strings.Contains(out, "All is well.") || !strings.Contains(out, `"temperature":0`) || strings.Contains(out, "Call 1") {
		t.Errorf("transcript: %s", out)
	}
	var call experiment.Attempt
	if err := json.Unmarshal([]byte(m.must("transcript", "show", "small", "--attempt", "1", "-o", "json")), &call); err != nil || call.Class != "no_block" || call.Request == "" {
		t.Errorf("call 1 is %+v (%v)", call, err)
	}
	m.refused(exitNotFound, "no call 3", "transcript", "show", "small", "--attempt", "3")
}
