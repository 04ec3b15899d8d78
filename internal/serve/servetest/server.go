package servetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// Server is no model: it speaks the protocols of the servers that floe starts, as
// their sources have them. It is an http.Handler.
type Server struct {
	kind, model, served string
	answer              Answer
	mux                 *http.ServeMux

	mu       sync.Mutex
	order    []string
	adapters map[string]string // name -> directory
	asleep   bool
	forgets  bool
}

// New is a server of a kind, of a base model and the name that requests call it.
// Without an answer it says who it is.
func New(kind, model, served string, answer Answer) *Server {
	if answer == nil {
		answer = Who
	}
	s := &Server{kind: kind, model: model, served: served, answer: answer, adapters: map[string]string{}}
	s.mux = s.routes()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Adapters lists the names of what is loaded, in the order it was.
func (s *Server) Adapters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

// Forget drops all adapters, as a restart does.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order, s.adapters = nil, map[string]string{}
}

// Forgets has questions find no adapter, loaded or not, as behind a balancer that asks
// another server.
func (s *Server) Forgets(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets = yes
}

func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", s.models)
	m.HandleFunc("POST /v1/chat/completions", s.complete)
	if s.kind != "llamacpp-python" {
		m.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	}
	switch s.kind {
	case "vllm":
		m.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]any{"version": "0-scripted"}) })
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

func (s *Server) sleep(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep = is
}

func (s *Server) sleeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asleep
}

// models lists as each kind does: vLLM has the model as the root, SGLang the served
// name, the others have no root.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
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
func (s *Server) add(r adapterRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.adapters[r.Name]; taken {
		return false
	}
	s.order, s.adapters[r.Name] = append(s.order, r.Name), r.Path
	return true
}

func (s *Server) loadVLLM(w http.ResponseWriter, r *http.Request) {
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

func (s *Server) loadSGLang(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	_ = json.NewDecoder(r.Body).Decode(&q)
	if !s.add(q) {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, map[string]any{"success": false, "error_message": "LoRA adapter " + q.Name + " is already loaded"})
		return
	}
	reply(w, map[string]any{"success": true})
}

func (s *Server) unload(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	_ = json.NewDecoder(r.Body).Decode(&q)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.adapters, q.Name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == q.Name })
	reply(w, map[string]any{"success": true})
}

// complete answers a question put to the base model or to an adapter.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	q := Question{Kind: s.kind, Base: s.model, Body: body}
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, map[string]any{"error": map[string]any{"message": err.Error()}})
		return
	}
	if os.Getenv(EnvFragile) != "" {
		fmt.Fprintln(os.Stdout, "EngineDeadError: out of memory")
		os.Exit(1)
	}
	dir, ok := s.asked(q.Model)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		reply(w, map[string]any{"error": map[string]any{"message": fmt.Sprintf("asleep %t, no model %s", s.sleeps(), q.Model)}})
		return
	}
	q.Adapter = dir
	text := s.answer(q)
	words := len(strings.Fields(text))
	prompt := 0
	for _, m := range q.Messages {
		prompt += len(strings.Fields(m.Content))
	}
	reply(w, map[string]any{
		"id": "scripted", "object": "chat.completion", "model": q.Model,
		"choices": []any{map[string]any{"index": 0, "message": map[string]string{"role": "assistant", "content": text}, "finish_reason": "stop"}},
		"usage":   map[string]int{"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words},
	})
}

// asked finds whom a request means: the base model, whose directory is empty, or an
// adapter. Nobody answers asleep.
func (s *Server) asked(model string) (dir string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, prefixed := strings.CutPrefix(model, s.served+":")
	dir, adapted := s.adapters[name]
	switch {
	case s.asleep:
		return "", false
	case model == s.served:
		return "", true
	}
	return dir, adapted && !s.forgets && prefixed == (s.kind == "sglang")
}
