package ask_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/outage"
)

// brokenOff are the ways in which servers send the start of a reply.
var brokenOff = map[string]string{
	"abort":                      `{"choices":[{"message":{"content":"half an ans"},"finish_reason":"abort"}],"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
	"error":                      `{"choices":[{"message":{"content":"half an ans"},"finish_reason":"error"}],"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
	"an error in the choice":     `{"choices":[{"message":{"content":"half an ans"},"finish_reason":"stop","error":{"code":502,"message":"lost"}}],"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
	"an error beside choices":    `{"choices":[{"message":{"content":"half an ans"},"finish_reason":"stop"}],"error":{"message":"worker lost"},"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
	"neither text nor reason":    `{"choices":[{"message":{"content":""},"finish_reason":null}],"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
	"a reason that nobody knows": `{"choices":[{"message":{"content":"half an ans"},"finish_reason":"preempted"}],"usage":{"prompt_tokens":30,"completion_tokens":2}}`,
}

func TestRepliesThatWereBrokenOffAreAskedAgainAndNotKept(t *testing.T) {
	for name, body := range brokenOff {
		t.Run(name, func(t *testing.T) {
			m, items, j := newModel(t), questions(12), journals(t)["file"]()
			m.first(func(n int, _ string, w http.ResponseWriter, _ *http.Request) bool {
				if n%4 == 0 {
					_, _ = io.WriteString(w, body)
				}
				return n%4 == 0
			})
			answers, tally, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{})
			if err != nil || tally.OK != len(items) {
				t.Fatalf("%v, %s", err, tally)
			}
			for i, a := range answers {
				if a.Answer != "answer to "+items[i].Prompt {
					t.Errorf("answer %d is %q", i, a.Answer)
				}
			}
			m.askedOnce(t, items)
			if again := int64(m.calls() - len(items)); again == 0 || tally.SpentTokens != int64(len(items))*35+again*32 {
				t.Errorf("%d calls were broken off, %d tokens are counted", again, tally.SpentTokens)
			}
		})
	}
}

func TestAnEndpointThatAlwaysBreaksOffEndsAsking(t *testing.T) {
	m, items, j := newModel(t), questions(1), journals(t)["objects"]()
	m.first(func(_ int, _ string, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, brokenOff["abort"])
		return true
	})
	_, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{})
	trouble, met := errors.AsType[*endpoint.Trouble](err)
	if _, away := outage.As(err); !met || away || trouble.Final || !strings.Contains(err.Error(), `"abort"`) || m.calls() > 10 {
		t.Errorf("after %d calls: %v", m.calls(), err)
	}
}

func TestCallsThatWereBrokenOffStayWithinTheBudget(t *testing.T) {
	m, items, j := newModel(t), questions(20), journals(t)["objects"]()
	m.first(func(_ int, _ string, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, brokenOff["abort"])
		return true
	})
	p := plan()
	p.MaxTokens = 320
	_, _, err := ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{})
	if _, spent := errors.AsType[*ask.SpentError](err); !spent || m.calls()*32 > 320 {
		t.Errorf("%d calls of 32 tokens: %v", m.calls(), err)
	}
}

// TestAnswersThatWereKeptBrokenAreAskedAgain has a journal of a version that took them
// for whole.
func TestAnswersThatWereKeptBrokenAreAskedAgain(t *testing.T) {
	m, items, path := newModel(t), questions(4), filepath.Join(t.TempDir(), "answers.jsonl")
	kept := `{"id":"q-000","answer":"half","finish_reason":"abort"}` + "\n" + `{"id":"q-001","answer":"all","finish_reason":"stop"}` + "\n"
	if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time all are there
		j, err := ask.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		answers, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{})
		release(j)
		if err != nil || answers[0].Answer != "answer to "+items[0].Prompt || answers[1].Answer != "all" {
			t.Fatalf("%v, %+v", err, answers)
		}
	}
	if m.calls() != 3 {
		t.Errorf("%d calls; want 3", m.calls())
	}
}

// lengths are refusals of a prompt for its length, as servers word them.
var lengths = map[string]string{
	"OpenAI and vLLM": `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages. Please reduce the length of the messages.","code":"context_length_exceeded"}}`,
	"llama.cpp":       `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`,
	"SGLang":          `{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","code":400}`,
	"TGI":             "{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens. Given: 1500\",\"error_type\":\"validation\"}",
	"Anthropic":       `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215023 tokens > 200000 maximum"}}`,
	"Google":          `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`,
	"Mistral":         `{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}`,
}

func TestAPromptThatIsTooLongIsOneAnswerAndNotTheEnd(t *testing.T) {
	for name, body := range lengths {
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
			m, items, j := newModel(t), questions(6), journals(t)["file"]()
			refused := map[string]bool{items[0].Prompt: true, items[4].Prompt: true} // also before any is served
			m.first(func(_ int, prompt string, w http.ResponseWriter, _ *http.Request) bool {
				if refused[prompt] {
					w.WriteHeader(status)
					_, _ = io.WriteString(w, body)
				}
				return refused[prompt]
			})
			p := plan()
			p.Concurrency = 1
			answers, tally, err := ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{})
			if err != nil || tally.TooLong != 2 || tally.OK != 4 || answers[4].Class() != ask.ClassTooLong || !strings.Contains(tally.String(), "2 too_long") {
				t.Fatalf("%s: %v, %s", name, err, tally)
			}
			if _, _, err = ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{}); err != nil || m.calls() != 6 {
				t.Errorf("%s: asked again: %d calls, %v", name, m.calls(), err)
			}
		}
	}
}

func TestPromptsThatAreAllTooLongAreNoAnswers(t *testing.T) {
	for _, n := range []int{5, 100} {
		m, items, j := newModel(t), questions(n), journals(t)["file"]()
		m.first(func(_ int, _ string, w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "'max_tokens' or 'max_completion_tokens' is too large: 20. This model's maximum context length is 16 tokens", http.StatusBadRequest)
			return true
		})
		_, tally, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{})
		if trouble, ok := errors.AsType[*endpoint.Trouble](err); !ok || !trouble.Final || tally.Answered != 0 || m.calls() > 40 || !strings.Contains(err.Error(), "longer context") || !strings.Contains(err.Error(), "maximum context length is 16") {
			t.Errorf("%d items, %d calls, %s: %v", n, m.calls(), tally, err)
		}
		m.first(nil)
		if _, tally, err = ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err != nil || tally.OK != n {
			t.Errorf("%v, %s", err, tally)
		}
	}
}

func TestSettingsThatAreNotSentAreSaidOnceAndCounted(t *testing.T) {
	m, items := newModel(t), questions(9)
	m.first(func(_ int, _ string, w http.ResponseWriter, _ *http.Request) bool { return false })
	e := m.endpoint(t)
	e.Temperature = endpoint.TemperatureOmit
	p := plan()
	p.Request.Temperature = 0.7
	var noted []string
	_, tally, err := ask.Run(t.Context(), e, p, items, journals(t)["file"](), ask.Watch{Noted: func(s string) { noted = append(noted, s) }})
	if err != nil || tally.Unsent != 9 || len(noted) != 1 || !strings.Contains(noted[0], "temperature 0.7") {
		t.Errorf("%v, %s, noted %q", err, fmt.Sprint(tally), noted)
	}
}

func TestAnEndpointThatIsAwayIsAnOutage(t *testing.T) {
	m, items := newModel(t), questions(2)
	e := m.endpoint(t)
	e.Clock.Patience = 0
	m.Close()
	_, tally, err := ask.Run(t.Context(), e, plan(), items, journals(t)["file"](), ask.Watch{})
	if away, ok := outage.As(err); !ok || !strings.HasPrefix(away.Service, "the model endpoint 127.0.0.1:") || tally.SpentTokens != 0 {
		t.Errorf("%v, %s", err, tally)
	}
}
