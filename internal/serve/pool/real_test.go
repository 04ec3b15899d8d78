package pool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/serve"
	"floe/internal/serve/pool"
)

// realWant is vLLM's CPU build with a small model and one place; `make test-serve`
// has both.
func realWant(t *testing.T) (pool.Want, []*serve.Checkpoint) {
	t.Helper()
	program, base, adapters := os.Getenv("FLOE_TEST_VLLM"), os.Getenv("FLOE_TEST_VLLM_BASE"), os.Getenv("FLOE_TEST_VLLM_ADAPTERS")
	if program == "" || base == "" || adapters == "" {
		t.Skip("no real server: `make test-serve` has one; it sets FLOE_TEST_VLLM")
	}
	t.Setenv("VLLM_CPU_KVCACHE_SPACE", "1")
	t.Setenv("HF_HUB_OFFLINE", "1")
	w := want(1, "--dtype", "float32", "--enforce-eager")
	w.Trainer.Model = &experiment.ModelSpec{URI: base}
	w.Trainer.Recipe.LoraRank = 8
	w.Serve.Program, w.Serve.Parallel, w.Serve.Start, w.Tokens = []string{program, "serve"}, 8, 20, 2048
	var list []*serve.Checkpoint
	for dir := range strings.SplitSeq(adapters, ":") {
		body, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &serve.Checkpoint{Label: "exp-" + filepath.Base(dir), Dir: dir, SHA256: job.Digest(body)})
	}
	return w, list
}

// continued is what a model makes of a prompt, always the same.
func continued(t *testing.T, u *pool.Use) string {
	t.Helper()
	r, trouble := u.Endpoint.Call(t.Context(), endpoint.Request{
		Model: u.Model, MaxTokens: 24, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "Once upon a time"}},
	})
	if trouble != nil {
		t.Fatalf("%s: %v", u.Model, trouble)
	}
	return r.Text
}

func TestARealVLLMServesAPool(t *testing.T) {
	wanted, checkpoints := realWant(t)
	w := newWorker(t, true)
	p := w.pool()
	var told heard
	base, err := p.Use(t.Context(), wanted, told.tell)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"base": continued(t, base)}
	for _, c := range append(checkpoints, checkpoints[0]) { // the last one after it had to make room
		u, err := p.Use(t.Context(), with(wanted, c), told.tell)
		if err != nil {
			t.Fatal(err)
		}
		text := continued(t, u)
		if before, ok := said[u.Model]; ok && before != text {
			t.Errorf("%s says %q, and then %q", u.Model, before, text)
		}
		said[u.Model] = text
		u.Done(false)
	}
	t.Logf("%s\n%q\n%s", base.Server, said, strings.Join(told.notes, "\n"))
	if len(said) != 3 || said["base"] == said[checkpoints[0].Name()] || said[checkpoints[0].Name()] == said[checkpoints[1].Name()] {
		t.Errorf("base and checkpoints are not told apart: %q", said)
	}
	if !strings.HasPrefix(base.Server, "vllm 0.") || !told.has("unloading "+checkpoints[1].Name()) {
		t.Errorf("recorded as %q; told %q", base.Server, told.notes)
	}
	base.Done(false)
	p.Close()
	next := w.pool()
	again := begin(t.Context(), next, wanted)
	if text := continued(t, again.got(t)); text != said["base"] {
		t.Errorf("the adopted server says %q, and before %q", text, said["base"])
	}
	again.use.Done(false)
	if err := next.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, trouble := again.use.Endpoint.Call(t.Context(), endpoint.Request{Model: "base", MaxTokens: 1}); trouble == nil {
		t.Error("it answers after the device was cleared")
	}
}
