package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/connect"
	"floe/internal/designer/replay"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// Environment of the test with a real model; `make test-model` sets it.
const (
	envModelURL     = "FLOE_TEST_MODEL"         // base URL of a server with one
	envModelName    = "FLOE_TEST_MODEL_NAME"    // as the server calls it
	envModelReplies = "FLOE_TEST_MODEL_REPLIES" // file for a sample of the replies; may be empty
)

// modelRun is an experiment that a model designs, as small as its replies may be.
// A base model does not know when to end: what would begin something new ends its
// reply.
const modelRun = small + `
designer: {kind: openai, endpoint: real, context: V6, max_tokens: 224, repairs: 1, temperature: 0.8, stop: ["###", "\n` + "```" + `\n"]}
limits: {model_cost: 1}
`

// Answers of each context: with one repair each, at least 200 replies come of them.
const modelDraws = 17

// TestARealModelIsAskedInEveryContext has a real language model design an
// experiment, and asks it again in all of the paper's contexts. A small model's
// replies are mostly bad; how they are read is the result, and every one must be
// accounted for.
func TestARealModelIsAskedInEveryContext(t *testing.T) {
	url, name := os.Getenv(envModelURL), os.Getenv(envModelName)
	if url == "" {
		t.Skip("no model: `make test-model` serves one")
	}
	file := filepath.Join(t.TempDir(), "endpoints.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "real: {url: %q, model: %q, prompt_price: 0, reply_price: 0, timeout: 1h}\n", url, name), 0o600); err != nil {
		t.Fatal(err)
	}
	m := boot(t, "FLOE_ENDPOINTS="+file)
	m.patience = 2 * time.Hour
	m.must("run", specFile(t, modelRun))

	var table []string
	var replies []experiment.Attempt
	var present experiment.Curriculum
	for _, variant := range []string{"V1", "V2", "V3", "V4", "V5", "V6"} { // one by one: a server that keeps a prompt's beginning reads it once
		var r replay.Result
		out := m.must("design", "replay", "small", "--round", "1", "--variant", variant, "--n", fmt.Sprint(modelDraws), "--concurrency", "1", "--max-tokens", "0", "--endpoints", file, "-o", "json")
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		calls := m.calls(r)
		table = append(table, modelRow(variant, r.Cells[0], calls))
		replies, present = append(replies, calls...), r.Present
		checkCalls(t, variant, r, calls)
	}
	t.Logf("%s, %d replies:\n%s", replies[0].Server, len(replies), strings.Join(table, "\n"))
	if len(replies) < 200 {
		t.Errorf("%d replies; want at least 200", len(replies))
	}
	if to := os.Getenv(envModelReplies); to != "" {
		keepReplies(t, to, replies, present)
	}
}

// calls are the model calls of a replay, from its artifacts.
func (m *machine) calls(r replay.Result) []experiment.Attempt {
	m.t.Helper()
	to, err := connect.Resolve(connect.Flags{Data: m.data})
	if err != nil {
		m.t.Fatal(err)
	}
	store, err := to.Store(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	steps := artifact.Steps{Store: store}
	var calls []experiment.Attempt
	for _, d := range r.Cells[0].Draws {
		manifest, ok, err := steps.Find(m.t.Context(), d.Step)
		if err != nil || !ok {
			m.t.Fatalf("%s: %v, %v", d.Step, ok, err)
		}
		var transcript experiment.Transcript
		if err := steps.ReadJSON(m.t.Context(), manifest, replay.File, &transcript); err != nil {
			m.t.Fatal(err)
		}
		calls = append(calls, transcript.Attempts...)
	}
	return calls
}

func checkCalls(t *testing.T, variant string, r replay.Result, calls []experiment.Attempt) {
	if !r.Complete || len(r.Cells[0].Draws) != modelDraws {
		t.Errorf("%s: %d of %d answers", variant, len(r.Cells[0].Draws), modelDraws)
	}
	for i, c := range calls {
		var sent map[string]any
		if err := json.Unmarshal([]byte(c.Request), &sent); err != nil || sent["temperature"] != 0.8 || sent["max_tokens"] != 224.0 || sent["stop"] == nil || sent["seed"] == nil {
			t.Errorf("%s, call %d: %v, sent %.200s", variant, i, err, c.Request)
		}
		if c.Class == "" || c.Class == "unavailable" || c.Response == "" || c.At == "" || c.Server == "" || c.PromptTokens == 0 || c.LatencyMS == 0 {
			t.Errorf("%s, call %d is not accounted for: class %q, %+v", variant, i, c.Class, c)
		}
		if usable := c.Class == "ok" || c.Class == "normalised"; !usable && c.Fault == "" {
			t.Errorf("%s, call %d: class %s without a fault", variant, i, c.Class)
		}
	}
}

// modelRow is a variant's row in the table of docs/models.md.
func modelRow(variant string, c replay.CellResult, calls []experiment.Attempt) string {
	var classes []string
	for _, k := range c.Classes {
		classes = append(classes, fmt.Sprintf("%s %d", k.Class, k.Count))
	}
	var tokens int
	for _, a := range calls {
		tokens += a.PromptTokens
	}
	return fmt.Sprintf("| %s | %d | %d of %d | %s | %d |", variant, len(calls), c.Usable, len(c.Draws), strings.Join(classes, ", "), tokens/max(1, len(calls)))
}

// recorded is a file of real replies, which package designer reads again.
type recorded struct {
	Server  string                `json:"server"`
	Space   env.Space             `json:"space"`
	Present experiment.Curriculum `json:"present"`
	Replies []recordedReply       `json:"replies"`
}

type recordedReply struct {
	Class        string `json:"class"`
	FinishReason string `json:"finish_reason"`
	Reply        string `json:"reply"`
}

// mostOfAClass bounds how many replies of one class are kept.
const mostOfAClass = 8

// keepReplies writes a sample of every class, no reply twice, in a fixed order.
func keepReplies(t *testing.T, file string, calls []experiment.Attempt, present experiment.Curriculum) {
	lake, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	out := recorded{Server: calls[0].Server, Space: lake.Space(), Present: present}
	kept := map[string]int{}
	seen := map[string]bool{}
	for _, c := range calls {
		if seen[c.Reply] || kept[c.Class] == mostOfAClass {
			continue
		}
		seen[c.Reply] = true
		kept[c.Class]++
		out.Replies = append(out.Replies, recordedReply{c.Class, c.FinishReason, c.Reply})
	}
	slices.SortStableFunc(out.Replies, func(a, b recordedReply) int { return cmp.Compare(a.Class, b.Class) })
	body, err := json.MarshalIndent(out, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(body, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
