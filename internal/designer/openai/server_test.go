package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/designer"
	"floe/internal/designer/openai"
	"floe/internal/endpoint"
	"floe/internal/env"
	"floe/internal/experiment"
)

// secret is a key that must be found nowhere but in the Authorization header.
const secret = "sk-canary-7f3a9c/+\"x"

// step is one scripted response.
type step func(w http.ResponseWriter, r *http.Request)

// server speaks the protocol as scripted, one step a request, and keeps what it
// was sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	steps  []step
	bodies []string
	auth   []string
	urls   []string
}

func serve(t *testing.T, steps ...step) *server {
	t.Helper()
	s := &server{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies, s.auth, s.urls = append(s.bodies, string(body)), append(s.auth, r.Header.Get("Authorization")), append(s.urls, r.URL.String())
		s.mu.Unlock()
		if n >= len(s.steps) {
			http.Error(w, "the script has ended", http.StatusNotImplemented)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.steps[n](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// message answers with a message of these fields.
func message(finish string, fields map[string]any) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		fields["role"] = "assistant"
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "c-1", "object": "chat.completion", "model": "served", "system_fingerprint": "fp",
			"choices": []any{map[string]any{"index": 0, "message": fields, "finish_reason": finish}},
			"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
		})
	}
}

func reply(text string) step { return message("stop", map[string]any{"content": text}) }

// raw answers with a status and a body as they are.
func raw(status int, body string, header ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// cut promises a body and closes the connection in the middle of it.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"half`)
}

// never answers only when the client has gone.
func never(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const good = "rationale: because\nsizes:\n  low: {data_ratio: 0.6, knob: 0.3}\n  high: {data_ratio: 0.4, knob: 0.2}\n"

func space() env.Space {
	return env.Space{Sizes: []string{"low", "high"}, Knobs: []env.Knob{{Name: "knob", Max: 0.5, Easy: 0.1, Hard: 0.2, Tests: "valid"}}}
}

func evidence() designer.Evidence {
	present := experiment.Curriculum{Rows: []experiment.Row{
		{Size: "low", DataRatio: 0.5, Knobs: []experiment.Knob{{Name: "knob", Value: 0.1}}},
		{Size: "high", DataRatio: 0.5, Knobs: []experiment.Knob{{Name: "knob", Value: 0.1}}},
	}}
	return designer.Evidence{Space: space(), Rounds: 3, History: []designer.RoundEvidence{{
		Curriculum: present,
		Scorecard:  experiment.Scorecard{Cells: []experiment.Cell{{Size: "low", N: 4, Valid: 2}, {Size: "high", N: 4}}},
	}}}
}

var spec = experiment.DesignerSpec{Kind: "openai", Context: "V3", Details: "bookkeeping", MaxTokens: 500, Repairs: 2}

var plenty = designer.Limits{Seed: "s", Calls: 100, Tokens: 1_000_000}

func model(t *testing.T, s *server, name string) (*openai.Designer, func() []time.Duration) {
	t.Helper()
	d := newDesigner(t, s.URL+"/v1", name, secret)
	return d, d.Waits()
}

func newDesigner(t *testing.T, base, model, key string) *openai.Designer {
	t.Helper()
	e, err := endpoint.New(base, key)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openai.New(openai.Settings{Endpoint: e, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask designs once against a script and sees to it that the key stays hidden.
func ask(t *testing.T, l designer.Limits, steps ...step) (experiment.Transcript, *server, []time.Duration, error) {
	t.Helper()
	s := serve(t, steps...)
	d, waits := model(t, s, "m")
	got, err := designer.Design(t.Context(), d, spec, evidence(), l)
	hidden(t, got, err)
	return got, s, waits(), err
}

func hidden(t *testing.T, transcript experiment.Transcript, err error) {
	t.Helper()
	for _, text := range []string{fmt.Sprintf("%+v", transcript), fmt.Sprint(err)} {
		if strings.Contains(text, "sk-canary") {
			t.Errorf("the key is shown: %s", text)
		}
	}
}

func done(t *testing.T, steps ...step) (experiment.Transcript, *server, []time.Duration) {
	t.Helper()
	got, s, waits, err := ask(t, plenty, steps...)
	if err != nil {
		t.Fatal(err)
	}
	return got, s, waits
}

func fields(t *testing.T, body string) map[string]json.RawMessage {
	t.Helper()
	var f map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func short(d time.Duration) bool { return d >= 500*time.Millisecond && d <= time.Second }
