package serve_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"floe/internal/endpoint"
	"floe/internal/serve"
	"floe/internal/serve/servetest"
)

const key = "a-key-that-is-long-enough"

// theirs is a server that somebody else runs. It wants a key, lists its models to
// some, and answers as those models.
func theirs(t *testing.T, lists bool, models map[string]string) string {
	t.Helper()
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if !lists || r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "not for you, "+r.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		var data []map[string]string
		for id, root := range models {
			data = append(data, map[string]string{"id": id, "root": root})
		}
		reply(w, map[string]any{"data": data})
	})
	m.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		if _, ok := models[q.Model]; !ok {
			http.Error(w, "no such model", http.StatusNotFound)
			return
		}
		reply(w, map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": q.Model}}}})
	})
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func external(t *testing.T, url string, x serve.External) serve.Server {
	t.Helper()
	var err error
	if x.Endpoint, err = endpoint.New(url, key); err != nil {
		t.Fatal(err)
	}
	s, err := x.Server()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAServerOfOthersIsProvenAndNotTouched(t *testing.T) {
	c := checkpoint(t, "round-1")
	url := theirs(t, true, map[string]string{"qwen": "Qwen/Qwen3-4B", c.Name(): c.Dir})
	s := external(t, url, serve.External{Model: "qwen", Root: "Qwen/Qwen3-4B"})
	started(t, s)
	served, err := s.Load(t.Context(), c)
	if err != nil || says(t, served) != c.Name() || says(t, s.Base()) != "qwen" {
		t.Errorf("%v, %+v", err, served)
	}
	if _, err := s.Load(t.Context(), checkpoint(t, "round-2")); !errors.Is(err, serve.ErrCannotLoad) {
		t.Errorf("%v", err)
	}
	wrong := external(t, url, serve.External{Model: "qwen", Root: "Qwen/Qwen3-8B"})
	if err := wrong.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "Qwen/Qwen3-4B") {
		t.Errorf("%v", err)
	}
	if err := external(t, url, serve.External{Model: "other"}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "serves nothing as other") {
		t.Errorf("%v", err)
	}
	if err := errors.Join(s.Unload(t.Context(), c.Name()), s.Release(), s.Stop(t.Context(), 0)); err != nil || says(t, s.Base()) != "qwen" {
		t.Errorf("%v", err)
	}
}

func TestAServerThatListsNothingIsProvenByAQuestion(t *testing.T) {
	url := theirs(t, false, map[string]string{"qwen": ""})
	started(t, external(t, url, serve.External{Model: "qwen"}))
	if err := external(t, url, serve.External{Model: "other"}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no model other") {
		t.Errorf("%v", err)
	}
	// What it should be cannot be proven then, so it is not believed.
	if err := external(t, url, serve.External{Model: "qwen", Root: "x"}).Start(t.Context()); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}

func TestAnExternalServerNeedsAnAddressAndAModel(t *testing.T) {
	if _, err := (serve.External{Model: "m"}).Server(); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("%v", err)
	}
	e, err := endpoint.New("http://127.0.0.1:1/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (serve.External{Endpoint: e}).Server(); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("%v", err)
	}
}

func TestCheckpointsAreLoadedIntoAServerOfOthersThatTakesThem(t *testing.T) {
	scripted := servetest.New("vllm", "Qwen/Qwen3-4B", "qwen", nil)
	at := httptest.NewServer(scripted)
	t.Cleanup(at.Close)
	c := checkpoint(t, "round-1")
	for range 2 { // the same name again, for the same checkpoint
		s := external(t, at.URL+"/v1", serve.External{Model: "qwen", Loads: true})
		served, err := s.Load(t.Context(), c)
		if err != nil || !strings.Contains(says(t, served), c.Dir) {
			t.Errorf("%+v, %v", served, err)
		}
		if got := s.Describe(t.Context()); got != "external vllm 0-scripted, model Qwen/Qwen3-4B" {
			t.Errorf("described as %q", got)
		}
		if loaded, err := s.Loaded(t.Context()); err != nil || !slices.Equal(loaded, []string{c.Name()}) {
			t.Errorf("loaded %q, %v", loaded, err)
		}
		moved := c
		moved.Dir = t.TempDir()
		if _, err := s.Load(t.Context(), moved); err == nil || !strings.Contains(err.Error(), c.Dir) {
			t.Errorf("the name of %s was given to %s: %v", c.Dir, moved.Dir, err)
		}
		if err := errors.Join(s.Unload(t.Context(), c.Name()), s.Unload(t.Context(), c.Name())); err != nil || len(scripted.Adapters()) > 0 {
			t.Errorf("%v, left %q", err, scripted.Adapters())
		}
	}
}
