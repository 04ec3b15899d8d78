package serve_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/serve"
)

// Environment of the tests with real servers; `make test-serve` sets it.
const (
	envVLLM      = "FLOE_TEST_VLLM"          // vLLM's program
	envVLLMBase  = "FLOE_TEST_VLLM_BASE"     // directory of a small model
	envVLLMLoras = "FLOE_TEST_VLLM_ADAPTERS" // directories of two adapters of it, with : between
	envLlama     = "FLOE_TEST_LLAMA"         // python that has llama_cpp.server
	envLlamaGGUF = "FLOE_TEST_LLAMA_MODEL"   // a model for it
	realPatience = 20 * time.Minute
)

func given(t *testing.T, name string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Skip("no real server: `make test-serve` has some; it sets " + name)
	}
	return v
}

func realVLLM(t *testing.T) serve.Settings {
	return serve.Settings{
		Name: "real", Kind: "vllm", Model: given(t, envVLLMBase), Command: []string{given(t, envVLLM), "serve"},
		Context: 2048, Parallel: 8, MaxAdapters: 2, MaxRank: 8, StartWithin: realPatience, Linger: 2 * time.Minute,
		Args: []string{"--dtype", "float32", "--enforce-eager"}, Env: []string{"VLLM_CPU_KVCACHE_SPACE=1", "HF_HUB_OFFLINE=1"},
	}
}

func realAdapters(t *testing.T) []serve.Checkpoint {
	t.Helper()
	var list []serve.Checkpoint
	for dir := range strings.SplitSeq(given(t, envVLLMLoras), ":") {
		body, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, serve.Checkpoint{Label: "exp-" + filepath.Base(dir), Dir: dir, SHA256: job.Digest(body)})
	}
	return list
}

// logged shows the end of a server's log where a test has failed.
func logged(t *testing.T, root string, s serve.Settings) {
	t.Cleanup(func() {
		if body, err := os.ReadFile(filepath.Join(root, "jobs", "serve-"+s.Name+"-a1", "log")); t.Failed() && err == nil {
			t.Logf("the end of the server's log:\n%s", body[max(0, len(body)-8000):])
		}
	})
}

// continued is what a model makes of a prompt, always the same.
func continued(t *testing.T, m serve.Served) string {
	t.Helper()
	r, trouble := m.Endpoint.Call(t.Context(), endpoint.Request{
		Model: m.Model, MaxTokens: 24, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "Once upon a time"}},
	})
	if trouble != nil {
		t.Fatalf("%s: %v", m.Model, trouble)
	}
	return r.Text
}

func TestARealVLLMServesBaseAndCheckpointsAndIsAdopted(t *testing.T) {
	root, s := t.TempDir(), realVLLM(t)
	adapters := realAdapters(t)
	logged(t, root, s)
	begun := time.Now()
	kill := worker(t, root, "hold", s) // a worker starts it, and is killed
	t.Logf("started within %s", time.Since(begun).Round(time.Second))
	server := opened(t, root, s)
	started(t, server)
	kill()
	if err := errors.Join(server.Health(t.Context()), server.WarmUp(t.Context(), server.Base().Model)); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"base": continued(t, server.Base())}
	for _, c := range append(adapters, adapters[0]) {
		m, err := server.Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		text := continued(t, m)
		if before, ok := said[m.Model]; ok && before != text {
			t.Errorf("%s says %q, and then %q", m.Model, before, text)
		}
		said[m.Model] = text
	}
	t.Logf("%q", said)
	if len(said) != 3 || said["base"] == said[adapters[0].Name()] || said[adapters[0].Name()] == said[adapters[1].Name()] {
		t.Errorf("base and checkpoints are not told apart: %q", said)
	}
	if again := continued(t, server.Base()); again != said["base"] {
		t.Errorf("the base model says %q, and with adapters loaded %q", said["base"], again)
	}
	moved := adapters[0]
	moved.Dir = adapters[1].Dir
	if _, err := server.Load(t.Context(), moved); err == nil || !strings.Contains(err.Error(), adapters[0].Dir) {
		t.Errorf("a name was given to another checkpoint: %v", err)
	}
	if err := errors.Join(server.Unload(t.Context(), adapters[0].Name()), server.Unload(t.Context(), adapters[0].Name())); err != nil {
		t.Error(err)
	}
	if err := server.WarmUp(t.Context(), adapters[0].Name()); err == nil {
		t.Error("an unloaded adapter answers")
	}
	absent := adapters[0]
	absent.Dir = filepath.Join(root, "none")
	if _, err := server.Load(t.Context(), absent); err == nil {
		t.Error("an adapter that is not there was loaded")
	} else {
		t.Logf("an adapter that is not there: %v", err)
	}
	if served, err := server.Load(t.Context(), adapters[1]); err != nil {
		t.Error(err)
	} else {
		askTasks(t, served)
	}
	if err := server.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(s.Model); len(left) > 0 {
		t.Errorf("after the stop there are %v", left)
	}
}

// askTasks has a served model answer real tasks, and judges what it says.
func askTasks(t *testing.T, m serve.Served) {
	t.Helper()
	e, err := all.Open(all.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	space := e.Space()
	row := experiment.Row{Size: space.Sizes[0], DataRatio: 1}
	for _, k := range space.Knobs {
		row.Knobs = append(row.Knobs, experiment.Knob{Name: k.Name, Value: k.Default})
	}
	tasks, _, err := env.Tasks(t.Context(), e, env.Order{
		Split: env.SplitValidation, Seed: "served", IDPrefix: "v", Agents: 2, Objective: "sum_of_costs", Samples: 40,
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{row}},
	}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	// Greedily: vLLM 0.32's CPU build ends with the first request that has a seed and a temperature.
	plan := ask.Plan{Request: endpoint.Request{Model: m.Model, MaxTokens: 64}, Seed: "served", Concurrency: 8}
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	j, err := ask.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	begun := time.Now()
	answers, tally, err := ask.Run(t.Context(), m.Endpoint, plan, ask.Tasks(tasks), j, ask.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ask.Judge(t.Context(), e, tasks, answers)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Verdict.Truncated != (r.Class() == ask.ClassTruncated) || r.Verdict.Tokens != r.CompletionTokens || r.PromptTokens == 0 {
			t.Errorf("%s: class %s, verdict %+v", r.ID, r.Class(), r.Verdict)
		}
	}
	t.Logf("%d tasks in %s: %s", len(tasks), time.Since(begun).Round(time.Second), tally)
	if tally.Answered != len(tasks) || tally.CompletionTokens == 0 {
		t.Errorf("tally %+v", tally)
	}
}

// processesWith lists the processes that have a text among their arguments.
func processesWith(text string) []string {
	var found []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		body, err := os.ReadFile(file)
		if err == nil && file != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) && strings.Contains(string(body), text) {
			found = append(found, file+" "+strings.ReplaceAll(string(body), "\x00", " "))
		}
	}
	return found
}

func TestARealLlamaCppServerIsStartedProvenAskedAndEnded(t *testing.T) {
	s := serve.Settings{
		Name: "llama", Kind: "llamacpp-python", Model: given(t, envLlamaGGUF), Command: []string{given(t, envLlama), "-m", "llama_cpp.server"},
		Context: 2048, StartWithin: realPatience, Linger: 2 * time.Minute, Args: []string{"--chat_format", "alpaca", "--n_threads", "1"},
	}
	server := opened(t, t.TempDir(), s)
	started(t, server)
	if err := server.WarmUp(t.Context(), server.Base().Model); err != nil {
		t.Fatal(err)
	}
	text := continued(t, server.Base())
	t.Logf("it says %q", text)
	if strings.TrimSpace(text) == "" {
		t.Error("it says nothing")
	}
	if err := server.Stop(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(s.Model); len(left) > 0 {
		t.Errorf("after the stop there are %v", left)
	}
}
