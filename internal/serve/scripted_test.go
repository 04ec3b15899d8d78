package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// scripted is no model: it speaks the protocols of the servers that floe starts, as
// their sources have them, so that starting, proving, loading, sleeping and ending
// can be tested without a GPU. `make test-serve` does the same with real ones.
type scripted struct {
	kind, model, served string

	mu       sync.Mutex
	order    []string
	adapters map[string]string // name -> directory
	asleep   bool
}

// Variables that make a scripted server misbehave.
const (
	envWrongRoot = "SCRIPTED_ROOT" // it says that this is its model
	envBroken    = "SCRIPTED_BROKEN"
	envStubborn  = "SCRIPTED_STUBBORN" // SIGTERM does not end it
	envFragile   = "SCRIPTED_FRAGILE"  // the first question ends it
)

// flagOf finds a flag's value in an argument vector.
func flagOf(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func serveScripted(kind string, args []string) int {
	if os.Getenv(envBroken) != "" {
		fmt.Fprintln(os.Stdout, "RuntimeError: no device was found")
		return 3
	}
	if os.Getenv(envStubborn) != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	s := &scripted{kind: kind, adapters: map[string]string{}}
	names := map[string]string{"vllm": "--served-model-name", "sglang": "--served-model-name", "llamacpp": "--alias", "llamacpp-python": "--model_alias"}
	s.served = flagOf(args, names[kind])
	switch kind {
	case "vllm":
		s.model = args[0]
	case "sglang":
		s.model = flagOf(args, "--model-path")
	default:
		s.model = flagOf(args, "--model")
	}
	if root := os.Getenv(envWrongRoot); root != "" {
		s.model = root
	}
	err := http.ListenAndServe(flagOf(args, "--host")+":"+flagOf(args, "--port"), s.routes())
	fmt.Fprintln(os.Stdout, err)
	return 1
}

func (s *scripted) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", s.models)
	m.HandleFunc("POST /v1/chat/completions", s.answer)
	if s.kind != "llamacpp-python" {
		m.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	}
	switch s.kind {
	case "vllm":
		m.HandleFunc("POST /v1/load_lora_adapter", s.loadVLLM)
		m.HandleFunc("POST /v1/unload_lora_adapter", s.unload)
		m.HandleFunc("POST /sleep", func(_ http.ResponseWriter, r *http.Request) { s.sleep(r.URL.Query().Get("level") == "1") })
		m.HandleFunc("POST /wake_up", func(http.ResponseWriter, *http.Request) { s.sleep(false) })
		m.HandleFunc("GET /is_sleeping", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]any{"is_sleeping": s.sleeps()}) })
	case "sglang":
		m.HandleFunc("GET /get_model_info", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]any{"model_path": s.model}) })
		m.HandleFunc("POST /load_lora_adapter", s.loadSGLang)
		m.HandleFunc("POST /unload_lora_adapter", s.unload)
		m.HandleFunc("POST /release_memory_occupation", func(http.ResponseWriter, *http.Request) { s.sleep(true) })
		m.HandleFunc("POST /resume_memory_occupation", func(http.ResponseWriter, *http.Request) { s.sleep(false) })
	case "llamacpp":
		m.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]any{"model_path": s.model}) })
	}
	return m
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (s *scripted) sleep(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep = is
}

func (s *scripted) sleeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asleep
}

// models lists as each kind does: vLLM has the model as the root, SGLang the served
// name, the others have no root.
func (s *scripted) models(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root := map[string]string{"vllm": s.model, "sglang": s.served}[s.kind]
	data := []map[string]any{{"id": s.served, "root": root, "parent": nil}}
	for _, name := range s.order {
		data = append(data, map[string]any{"id": name, "root": s.adapters[name], "parent": s.served})
	}
	reply(w, map[string]any{"object": "list", "data": data})
}

type adapterRequest struct {
	Name string `json:"lora_name"`
	Path string `json:"lora_path"`
}

// add says whether a name was free.
func (s *scripted) add(r adapterRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.adapters[r.Name]; taken {
		return false
	}
	s.order, s.adapters[r.Name] = append(s.order, r.Name), r.Path
	return true
}

func (s *scripted) loadVLLM(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	_ = json.NewDecoder(r.Body).Decode(&q)
	if _, err := os.Stat(q.Path); err != nil {
		w.WriteHeader(http.StatusNotFound)
		reply(w, map[string]any{"error": map[string]any{"message": "No adapter found for " + q.Path, "type": "NotFoundError", "code": 404}})
		return
	}
	if !s.add(q) {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, map[string]any{"error": map[string]any{"message": "The lora adapter '" + q.Name + "' has already been loaded.", "type": "InvalidUserInput", "code": 400}})
		return
	}
	fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", q.Name)
}

func (s *scripted) loadSGLang(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	_ = json.NewDecoder(r.Body).Decode(&q)
	if !s.add(q) {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, map[string]any{"success": false, "error_message": "LoRA adapter " + q.Name + " is already loaded"})
		return
	}
	reply(w, map[string]any{"success": true})
}

func (s *scripted) unload(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	_ = json.NewDecoder(r.Body).Decode(&q)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.adapters, q.Name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == q.Name })
	reply(w, map[string]any{"success": true})
}

// answer says who answers: process, model, adapter's directory and settings.
func (s *scripted) answer(w http.ResponseWriter, r *http.Request) {
	var q struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&q)
	if os.Getenv(envFragile) != "" {
		fmt.Fprintln(os.Stdout, "EngineDeadError: out of memory")
		os.Exit(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, adapted := s.adapters[strings.TrimPrefix(q.Model, s.served+":")]
	if s.asleep || (q.Model != s.served && !adapted) || (s.kind == "sglang" && adapted && !strings.HasPrefix(q.Model, s.served+":")) {
		w.WriteHeader(http.StatusNotFound)
		reply(w, map[string]any{"error": map[string]any{"message": fmt.Sprintf("asleep %t, no model %s", s.asleep, q.Model)}})
		return
	}
	text := fmt.Sprintf("pid %d model %s adapter %q gpus %q key %q args %q", os.Getpid(), s.model, dir, os.Getenv("CUDA_VISIBLE_DEVICES"), os.Getenv("OPENAI_API_KEY"), os.Args[3:])
	reply(w, map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}, "finish_reason": "stop"}}})
}
