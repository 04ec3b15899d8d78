package serve_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/job"
	"floe/internal/serve"
)

// checkpoint is a directory as a training leaves it.
func checkpoint(t *testing.T, label string) serve.Checkpoint {
	t.Helper()
	dir := filepath.Join(t.TempDir(), label)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	return serve.Checkpoint{Label: label, Dir: dir, SHA256: job.Digest([]byte(label))}
}

func TestAdaptersAreServedBesideTheBaseModelEachUnderItsOwnName(t *testing.T) {
	for _, kind := range []string{"vllm", "sglang"} {
		t.Run(kind, func(t *testing.T) {
			server := opened(t, t.TempDir(), adapting(kind))
			started(t, server)
			one, two := checkpoint(t, "Exp_1 round 1"), checkpoint(t, "exp-round-2")
			for _, c := range []serve.Checkpoint{one, two, one} { // the first again: a worker that does not know
				served, err := server.Load(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if said := says(t, served); !strings.Contains(said, c.Dir) {
					t.Errorf("%s answers %s; want the adapter %s", served.Model, said, c.Dir)
				}
			}
			if said := says(t, server.Base()); !strings.Contains(said, `adapter ""`) {
				t.Errorf("the base model answers %s", said)
			}
			if !strings.HasPrefix(one.Name(), "exp-1-round-1-") || one.Name() == two.Name() {
				t.Errorf("names %q and %q", one.Name(), two.Name())
			}
			moved := one
			moved.Dir = two.Dir // the same name for something else
			if _, err := server.Load(t.Context(), moved); err == nil || !strings.Contains(err.Error(), one.Dir) {
				t.Errorf("the name of %s was given to %s: %v", one.Dir, moved.Dir, err)
			}
			if err := errors.Join(server.Unload(t.Context(), one.Name()), server.Unload(t.Context(), one.Name())); err != nil {
				t.Error(err)
			}
			if err := server.WarmUp(t.Context(), one.Name()); err == nil {
				t.Error("an unloaded adapter answers")
			}
		})
	}
}

func TestWhatCannotBeLoadedSaysWhy(t *testing.T) {
	server := opened(t, t.TempDir(), adapting("vllm"))
	c := checkpoint(t, "early")
	if _, err := server.Load(t.Context(), c); err == nil || !strings.Contains(err.Error(), "not been started") {
		t.Errorf("%v", err)
	}
	started(t, server)
	absent := c
	absent.Dir = "/none"
	if _, err := server.Load(t.Context(), absent); err == nil || !strings.Contains(err.Error(), "No adapter found") {
		t.Errorf("%v", err)
	}
	if _, err := server.Load(t.Context(), serve.Checkpoint{Dir: "here", SHA256: "x"}); err == nil || !strings.Contains(err.Error(), "absolute") || !strings.Contains(err.Error(), "sha256") {
		t.Errorf("%v", err)
	}
	llama := opened(t, t.TempDir(), settings("llamacpp"))
	if _, err := llama.Load(t.Context(), c); !errors.Is(err, serve.ErrCannotLoad) {
		t.Errorf("%v", err)
	}
	if err := llama.Sleep(t.Context()); !errors.Is(err, serve.ErrCannotSleep) {
		t.Errorf("%v", err)
	}
}

func TestAServerSleepsAndWakesAndIsWokenByWhoAdoptsIt(t *testing.T) {
	for _, kind := range []string{"vllm", "sglang"} {
		s, root := adapting(kind), t.TempDir()
		server := opened(t, root, s)
		started(t, server)
		if err := server.Sleep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := server.WarmUp(t.Context(), server.Base().Model); err == nil {
			t.Errorf("%s answers in its sleep", kind)
		}
		if kind == "vllm" { // SGLang does not tell whether it sleeps
			started(t, opened(t, root, s))
		} else if err := server.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		says(t, server.Base())
	}
}

func TestAServerThatTakesNoAdapterWhileItRunsIsStartedWithOne(t *testing.T) {
	for kind, flag := range map[string]string{"llamacpp": "--lora", "llamacpp-python": "--lora_path"} {
		s := settings(kind)
		s.Adapter = "/models/adapter.gguf"
		server := opened(t, t.TempDir(), s)
		started(t, server)
		if said := says(t, server.Base()); !strings.Contains(said, fmt.Sprintf("%q %q", flag, s.Adapter)) {
			t.Errorf("%s: %s", kind, said)
		}
	}
}
