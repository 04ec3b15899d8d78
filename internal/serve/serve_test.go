package serve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/endpoint"
	"floe/internal/importtest"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
	"floe/internal/serve/servetest"
)

// TestMain makes the test program whatever it is called as: a supervisor of jobs, a
// guard of servers, a scripted server, or a worker that starts a server.
func TestMain(m *testing.M) {
	servetest.Main(nil)
	if len(os.Args) > 3 && os.Args[1] == "worker" {
		os.Exit(work(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

const patience = 2 * time.Minute

func local(root string) (serve.Local, error) {
	b, err := process.New(process.Settings{Root: filepath.Join(root, "jobs")})
	return serve.Local{Jobs: b, Root: filepath.Join(root, "servers")}, err
}

// opened is a server that the test stops at its end, whoever has started it.
func opened(t *testing.T, root string, s serve.Settings) serve.Server {
	t.Helper()
	l, err := local(root)
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Server(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background(), time.Second); err != nil {
			t.Error(err)
		}
	})
	return server
}

func settings(kind string) serve.Settings {
	return serve.Settings{
		Name: "one", Kind: kind, Model: "/models/base", Command: servetest.Command(kind),
		StartWithin: patience, Linger: 2 * time.Minute,
	}
}

func adapting(kind string) serve.Settings {
	s := settings(kind)
	s.MaxAdapters, s.MaxRank, s.Sleep = 2, 20, true
	return s
}

func started(t *testing.T, s serve.Server) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// says is what a model answers.
func says(t *testing.T, m serve.Served) string {
	t.Helper()
	r, trouble := m.Endpoint.Call(t.Context(), endpoint.Request{Model: m.Model, MaxTokens: 9, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "who?"}}})
	if trouble != nil {
		t.Fatal(trouble)
	}
	return r.Text
}

func pidIn(t *testing.T, text string) (pid int) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "pid %d", &pid); err != nil {
		t.Fatalf("%q names no process", text)
	}
	return pid
}

func alive(pid int) bool {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(body), ") Z ")
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

func TestEveryKindIsStartedProvenAskedAndEnded(t *testing.T) {
	t.Parallel()
	for _, kind := range serve.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := settings(kind)
			s.GPUs, s.Context, s.Args = "3", 512, []string{"--more"}
			server := opened(t, t.TempDir(), s)
			started(t, server)
			if err := errors.Join(server.Health(t.Context()), server.WarmUp(t.Context(), server.Base().Model)); err != nil {
				t.Error(err)
			}
			said := says(t, server.Base())
			for _, want := range []string{"model /models/base", `gpus "3"`, `"512"`, `"--more"`, `"127.0.0.1"`} {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in %s", want, said)
				}
			}
			if err := server.Stop(t.Context(), patience); err != nil {
				t.Fatal(err)
			}
			if pid := pidIn(t, said); alive(pid) {
				t.Errorf("process %d lives after its server was stopped", pid)
			}
			if err := server.Health(t.Context()); err == nil {
				t.Error("a stopped server is healthy")
			}
			started(t, server) // as the next attempt
			if again := says(t, server.Base()); pidIn(t, again) == pidIn(t, said) {
				t.Error("the stopped server was adopted")
			}
		})
	}
}

func TestAServerThatDoesNotEndIsKilled(t *testing.T) {
	s := settings("vllm")
	s.Env = []string{servetest.EnvStubborn + "=1"}
	server := opened(t, t.TempDir(), s)
	started(t, server)
	pid := pidIn(t, says(t, server.Base()))
	if err := server.Stop(t.Context(), 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Errorf("process %d lives", pid)
	}
}

func TestAnotherModelIsFoundOut(t *testing.T) {
	for _, kind := range []string{"vllm", "sglang", "llamacpp"} {
		s := settings(kind)
		s.Env = []string{servetest.EnvWrongRoot + "=/models/other"}
		err := opened(t, t.TempDir(), s).Start(t.Context())
		if wrong, ok := errors.AsType[*serve.WrongModelError](err); !ok || wrong.Found != "/models/other" || wrong.Want != "/models/base" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	s := settings("vllm")
	s.Env = []string{servetest.EnvBroken + "=1"}
	err := opened(t, t.TempDir(), s).Start(t.Context())
	for _, want := range []string{"start server one", "exit code 3", "no device was found"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	s = settings("vllm")
	s.Command = []string{filepath.Join(t.TempDir(), "none")}
	if err := opened(t, t.TempDir(), s).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatItsFirstQuestionEndsSaysWhy(t *testing.T) {
	s := settings("vllm")
	s.Env = []string{servetest.EnvFragile + "=1"}
	server := opened(t, t.TempDir(), s)
	started(t, server)
	err := server.WarmUp(t.Context(), server.Base().Model)
	for _, want := range []string{"warm up base", "exit code 1", "EngineDeadError: out of memory"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestWrongSettingsAreToldAtOnce(t *testing.T) {
	l, err := local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Server(serve.Settings{Name: "No", Kind: "llamacpp-python", Context: -1, MemoryShare: 2, MaxAdapters: 1, Sleep: true, Parallel: 4, Reasoning: "x", Env: []string{"x"}})
	for _, want := range []string{"name is", "no model", "context", "memory share is 2", "largest rank", "takes no adapter", "cannot sleep", "one at a time", "no parser", "NAME=value"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, err := l.Server(serve.Settings{Name: "one", Kind: "magic", Model: "m"}); err == nil || !strings.Contains(err.Error(), "llamacpp, llamacpp-python, sglang, vllm") {
		t.Errorf("%v", err)
	}
}

func TestOurKeysDoNotReachAServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "a-key-that-is-ours")
	server := opened(t, t.TempDir(), settings("vllm"))
	started(t, server)
	if said := says(t, server.Base()); !strings.Contains(said, `key ""`) {
		t.Errorf("the server has the variables %s", said)
	}
}
