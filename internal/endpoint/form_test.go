package endpoint

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// picky refuses fields with a body, and counts its calls.
func picky(t *testing.T, refuses map[string]string) (Endpoint, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	e, _ := at(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var f map[string]any
		_ = json.NewDecoder(r.Body).Decode(&f)
		for field, body := range refuses {
			if f[field] != nil {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, body)
				return
			}
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}`)
	})
	return e, &calls
}

var question = Request{Model: "m", Messages: []Message{{RoleUser, "x"}}, MaxTokens: 9, Temperature: 0.7, TopP: 0.9, Seed: 4}

func TestSettingsThatAModelRefusesAreLeftOutFromThenOn(t *testing.T) {
	for name, c := range map[string]struct {
		refuses map[string]string
		calls   int64
		unsent  []string
	}{
		"OpenAI": {map[string]string{
			"max_tokens":  `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
			"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0.7 with this model.","param":"temperature","code":"unsupported_value"}}`,
		}, 3, []string{"temperature 0.7"}},
		"LiteLLM": {map[string]string{
			"temperature": `{"error":{"message":"litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.7. Only temperature=1 is supported","type":"None","param":null,"code":"400"}}`,
		}, 2, []string{"temperature 0.7"}},
		"Mistral": {map[string]string{
			"seed": `{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":4}]}`,
		}, 2, []string{"seed"}},
		"two at once": {map[string]string{
			"temperature": "temperature and top_p are not supported by this model",
		}, 2, []string{"temperature 0.7", "top_p 0.9"}},
	} {
		e, calls := picky(t, c.refuses)
		r, trouble := e.Call(t.Context(), question)
		if trouble != nil || calls.Load() != c.calls || !slices.Equal(r.Unsent, c.unsent) || !strings.Contains(r.Learned, "refuses for model m") {
			t.Errorf("%s: %v after %d calls, not sent %q, %q", name, trouble, calls.Load(), r.Unsent, r.Learned)
		}
		r, trouble = e.Call(t.Context(), question)
		if trouble != nil || calls.Load() != c.calls+1 || !slices.Equal(r.Unsent, c.unsent) || r.Learned != "" {
			t.Errorf("%s, again: %v after %d calls, not sent %q, %q", name, trouble, calls.Load(), r.Unsent, r.Learned)
		}
		other := question
		other.Model = "another"
		if r, _ = e.Call(t.Context(), other); calls.Load() != 2*c.calls+1 || r.Learned == "" {
			t.Errorf("%s: what one model refuses is not sent to another", name)
		}
	}
}

func TestOtherRefusalsChangeNothing(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"temperature must be at most 0.5"}}`,
		`{"error":{"message":"max_tokens is too large: 9. This model supports at most 4 completion tokens"}}`,
		`{"error":{"message":"'max_tokens' is not allowed: this model's maximum context length is 4 tokens"}}`,
		`{"error":{"message":"Unsupported value for messages","param":"messages"}}`,
	} {
		e, calls := picky(t, map[string]string{"messages": body})
		if _, trouble := e.Call(t.Context(), question); trouble == nil || !trouble.Final || calls.Load() != 1 {
			t.Errorf("%s: %v after %d calls", body, trouble, calls.Load())
		}
	}
}

func TestARefusalThatStaysTeachesNothing(t *testing.T) {
	e, calls := picky(t, map[string]string{"messages": "unknown model temperature-7b"})
	for range 2 {
		if _, trouble := e.Call(t.Context(), question); trouble == nil || !trouble.Final {
			t.Errorf("%v", trouble)
		}
	}
	if calls.Load() != 4 {
		t.Errorf("%d calls; want each question in both forms", calls.Load())
	}
}

func TestWhatTheEndpointsFileSaysIsDone(t *testing.T) {
	e, calls := picky(t, map[string]string{"max_tokens": "max_tokens is unknown", "temperature": "temperature is unknown"})
	e.TokensField, e.Temperature = MaxCompletionTokens, TemperatureOmit
	r, trouble := e.Call(t.Context(), question)
	if trouble != nil || calls.Load() != 1 || !slices.Equal(r.Unsent, []string{"temperature 0.7"}) {
		t.Errorf("%v after %d calls, not sent %q", trouble, calls.Load(), r.Unsent)
	}
	for _, field := range []string{"max_tokens", "temperature"} {
		e, calls := picky(t, map[string]string{field: field + " is unknown"})
		e.TokensField, e.Temperature = MaxTokens, TemperatureSend
		if _, trouble = e.Call(t.Context(), question); trouble == nil || !trouble.Final || calls.Load() != 1 {
			t.Errorf("%s: %v after %d calls", field, trouble, calls.Load())
		}
	}
}

func TestTheSettingsOfAnEndpointAreReadStrictly(t *testing.T) {
	entries, err := Read("f", []byte("a: {url: http://h/v1, tokens_field: max_completion_tokens, temperature: omit}\nb: {url: http://h/v1, tokens_field: auto}\n"))
	if err != nil || entries[0].TokensField != MaxCompletionTokens || entries[0].Temperature != TemperatureOmit || entries[1].TokensField != "" {
		t.Errorf("%v, %+v", err, entries)
	}
	_, err = Read("f", []byte("a: {url: http://h/v1, tokens_field: tokens, temperature: 0.7}\n"))
	for _, want := range []string{"want auto, max_tokens or max_completion_tokens", "want auto, send or omit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
