package endpoint

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"floe/internal/outage"
)

func TestAnErrorUnderStatus200MeansWhatItSays(t *testing.T) {
	const passes, final, filtered, long = "passes", "final", "filtered", "too long"
	for body, want := range map[string]string{
		`{"error":"upstream connection lost"}`:                                       passes,
		`{"error":{"type":"rate_limit_error"}}`:                                      passes,
		`{"error":{"type":"overloaded_error","message":"Overloaded"}}`:               passes,
		`{"error":{"message":"something went wrong"}}`:                               passes,
		`{"error":{"code":502,"message":"Bad gateway"}}`:                             passes,
		`{"error":{"code":"503"}}`:                                                   passes,
		`{"error":{"message":"invalid response from upstream server"}}`:              passes,
		`{"object":"error","message":"worker restarted","code":503}`:                 passes,
		`{"detail":"model is loading"}`:                                              passes,
		`{"error":{"type":"server_error"},"choices":[]}`:                             passes,
		`upstream connect error or disconnect/reset before headers`:                  passes,
		`{"error":{"type":"invalid_request_error","message":"timeout must be 1"}}`:   final,
		`{"error":{"type":"authentication_error","message":"connection refused"}}`:   final,
		`{"error":"model m not found"}`:                                              final,
		`{"error":{"code":"insufficient_quota","message":"rate limit of 0"}}`:        final,
		`{"error":{"code":400,"message":"no"}}`:                                      final,
		`<html>upstream`:                                                             final,
		`{"error":{"code":"content_filter","message":"no"}}`:                         filtered,
		`{"error":{"message":"prompt is too long: 215023 tokens > 200000 maximum"}}`: long,
		`{"error":{"code":400,"message":"maximum context length is 4096 tokens"}}`:   long,
	} {
		_, trouble := answering(t, body)
		got := passes
		switch {
		case trouble == nil:
			got = "no trouble"
		case trouble.TooLong && trouble.Final:
			got = long
		case trouble.Filtered && trouble.Final:
			got = filtered
		case trouble.Final:
			got = final
		}
		if got != want || trouble != nil && trouble.Served {
			t.Errorf("%s: %s; want %s: %v", body, got, want, trouble)
		}
		if trouble != nil && strings.HasPrefix(trouble.Reason, "400: ") && !strings.Contains(body, `"code":400`) {
			t.Errorf("%s is told as %q", body, trouble.Reason)
		}
	}
}

func TestRepliesThatWereBrokenOffAreServedAndCounted(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"half"},"finish_reason":"abort"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
		`{"choices":[{"message":{"content":"half"},"finish_reason":"stop","error":{"code":502}}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
		`{"choices":[{"message":{"content":"half"},"finish_reason":"stop"}],"error":{"message":"lost"},"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
	} {
		r, trouble := answering(t, body)
		if trouble == nil || trouble.Final || !trouble.Served || r.PromptTokens != 7 || r.CompletionTokens != 2 || r.Text != "" {
			t.Errorf("%s: %+v, %+v", body, trouble, r)
		}
	}
}

// TestReachIsQuickAndTakesAnyAnswer has a server that answers the list of models and a
// question with these statuses.
func TestReachIsQuickAndTakesAnyAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		models, question int
		wants            string
		questions        int
	}{
		"it lists models":                 {200, 500, "", 0},
		"it is busy":                      {503, 500, "", 0},
		"it has no list":                  {404, 200, "", 1},
		"it keeps its list to itself":     {403, 200, "", 1},
		"it has no list and is busy":      {405, 429, "", 1},
		"it wants another key":            {401, 401, "401: the key in OPENAI_API_KEY was refused", 1},
		"it is something else altogether": {404, 404, "404", 1},
	} {
		questions, key := 0, ""
		e, _ := at(t, func(w http.ResponseWriter, r *http.Request) {
			key = r.Header.Get("Authorization")
			status := c.models
			if r.Method == http.MethodPost {
				questions++
				status = c.question
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"data":[],"choices":[{"message":{"content":"1"},"finish_reason":"length"}]}`)
		})
		err := e.Reach(t.Context(), "m")
		if (err == nil) != (c.wants == "") || err != nil && !strings.Contains(err.Error(), c.wants) || questions != c.questions || key != "Bearer long-enough-key" {
			t.Errorf("%s: %v after %d questions with %q", name, err, questions, key)
		}
	}
}

func TestReachSaysThatAnEndpointIsAway(t *testing.T) {
	e, err := New("http://127.0.0.1:1/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	e.Name = "lab"
	err = e.Reach(t.Context(), "m")
	if away, ok := outage.As(err); !ok || away.Service != "the model endpoint lab (127.0.0.1:1)" || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}
