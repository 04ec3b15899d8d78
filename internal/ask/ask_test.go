package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/artifact/artifacttest"
	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, append(importtest.NoAdapters, importtest.NoTemporal, importtest.NoAWS)...)
}

// model is a server that speaks chat completions; it counts what it is asked.
type model struct {
	*httptest.Server

	mu      sync.Mutex
	last    int // calls for the model "last"
	n       int
	now     int // calls under way
	most    int
	prompts map[string]int
	seeds   map[string]int
	before  hook
}

// hook may answer instead of a model, and says whether it did.
type hook func(n int, prompt string, w http.ResponseWriter, r *http.Request) bool

func (m *model) first(h hook) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = h
}

func (m *model) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

func newModel(t *testing.T) *model {
	m := &model{prompts: map[string]int{}, seeds: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Seed     int
		Messages []struct{ Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	prompt := q.Messages[len(q.Messages)-1].Content
	m.mu.Lock()
	m.n++
	m.now++
	m.most = max(m.most, m.now)
	n, before := m.n, m.before
	if q.Model == "last" {
		m.last++
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.now--
		m.mu.Unlock()
	}()
	if before != nil && before(n, prompt, w, r) {
		return
	}
	m.mu.Lock()
	m.prompts[prompt]++
	m.seeds[prompt] = q.Seed
	m.mu.Unlock()
	send(w, "answer to "+prompt, "stop")
}

func send(w http.ResponseWriter, text, finish string) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"content": text}, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 30, "completion_tokens": 5},
	})
}

func (m *model) endpoint(t *testing.T) endpoint.Endpoint {
	t.Helper()
	e, err := endpoint.New(m.URL+"/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	e.Clock.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return e
}

// askedOnce fails unless every item was answered once.
func (m *model) askedOnce(t *testing.T, items []ask.Item) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range items {
		if n := m.prompts[item.Prompt]; n != 1 {
			t.Errorf("%s was answered %d times", item.ID, n)
		}
	}
}

func questions(n int) []ask.Item {
	items := make([]ask.Item, n)
	for i := range items {
		items[i] = ask.Item{ID: fmt.Sprintf("q-%03d", i), Prompt: fmt.Sprintf("question %d?", i)}
	}
	return items
}

func plan() ask.Plan {
	return ask.Plan{Request: endpoint.Request{Model: "m", MaxTokens: 20}, Seed: "exp", Concurrency: 8}
}

// journals are both kinds, each opened anew by the function.
func journals(t *testing.T) map[string]func() ask.Journal {
	store, path := artifacttest.NewMemory(), filepath.Join(t.TempDir(), "answers.jsonl")
	return map[string]func() ask.Journal{
		"objects": func() ask.Journal { return ask.InStore(store, "steps/evaluate/key/answers") },
		"file": func() ask.Journal {
			j, err := ask.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close() })
			return j
		},
	}
}

func release(j ask.Journal) {
	if c, ok := j.(io.Closer); ok {
		_ = c.Close()
	}
}

func TestEveryItemIsAskedOnceWithItsOwnSeedAndKept(t *testing.T) {
	for name, open := range journals(t) {
		t.Run(name, func(t *testing.T) {
			m, items := newModel(t), questions(60)
			full := make(chan struct{})
			m.first(func(n int, _ string, _ http.ResponseWriter, r *http.Request) bool {
				if n == 8 {
					close(full)
				}
				select { // nobody is answered before eight are asked at one time
				case <-full:
				case <-r.Context().Done():
				}
				return false
			})
			var told []int
			j := open()
			answers, tally, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{
				Answered: func(done, total int, _ ask.Tally) { told = append(told, done); _ = total },
			})
			if err != nil {
				t.Fatal(err)
			}
			m.askedOnce(t, items)
			for i, a := range answers {
				if a.ID != items[i].ID || a.Answer != "answer to "+items[i].Prompt || a.Seed != m.seeds[items[i].Prompt] || a.Seed != plan().ItemSeed(a.ID) {
					t.Errorf("answer %d is %+v", i, a)
				}
			}
			if tally.OK != 60 || tally.SpentTokens != 60*35 || tally.PromptTokens != 60*30 {
				t.Errorf("tally %+v", tally)
			}
			if len(told) != 61 || told[0] != 0 || told[60] != 60 {
				t.Errorf("told %v", told)
			}
			if m.most != 8 {
				t.Errorf("%d calls at one time; want 8", m.most)
			}
			release(j)
			again, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, open(), ask.Watch{})
			if err != nil || !reflect.DeepEqual(again, answers) {
				t.Errorf("%v: from the journal come other answers", err)
			}
			m.askedOnce(t, items)
		})
	}
}

func TestInterruptedAskingGoesOnWithWhatIsOpen(t *testing.T) {
	for name, open := range journals(t) {
		t.Run(name, func(t *testing.T) {
			m, items := newModel(t), questions(50)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			m.first(func(n int, _ string, _ http.ResponseWriter, r *http.Request) bool {
				if n < 20 {
					return false
				}
				stop()
				<-r.Context().Done()
				return true
			})
			p := plan()
			p.Concurrency = 1 // of two, one could be answered as the other interrupts
			j := open()
			_, tally, err := ask.Run(ctx, m.endpoint(t), p, items, j, ask.Watch{})
			if !errors.Is(err, context.Canceled) || tally.Answered != 19 {
				t.Fatalf("%v after %d answers", err, tally.Answered)
			}
			release(j)
			m.first(nil)
			if _, tally, err = ask.Run(t.Context(), m.endpoint(t), p, items, open(), ask.Watch{}); err != nil || tally.Answered != 50 {
				t.Errorf("%v, %+v", err, tally)
			}
			m.askedOnce(t, items)
		})
	}
}

func TestHowAnswersEndAreClasses(t *testing.T) {
	m, items := newModel(t), questions(5)
	m.first(func(_ int, prompt string, w http.ResponseWriter, _ *http.Request) bool {
		switch prompt {
		case items[0].Prompt:
			send(w, "half an ans", "length")
		case items[1].Prompt:
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":null,"refusal":"I will not"},"finish_reason":"stop"}]}`)
		case items[2].Prompt:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":"content_filter","message":"no"}}`)
		case items[3].Prompt:
			send(w, " \n", "stop")
		default:
			return false
		}
		return true
	})
	answers, tally, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, journals(t)["objects"](), ask.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []ask.Class{ask.ClassTruncated, ask.ClassRefused, ask.ClassRefused, ask.ClassEmpty, ask.ClassOK} {
		if got := answers[i].Class(); got != want {
			t.Errorf("answer %d is %s; want %s", i, got, want)
		}
	}
	if tally.Truncated != 1 || tally.Refused != 2 || tally.Empty != 1 || tally.OK != 1 || !strings.Contains(tally.String(), "1 ok, 1 truncated, 2 refused, 1 empty") {
		t.Errorf("tally %s", tally)
	}
}
