package openai_test

import (
	"strings"
	"testing"

	"floe/internal/designer"
)

func TestTheBudgetHolds(t *testing.T) {
	shown, err := designer.ContextOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	_, prompt, err := designer.Compose(evidence(), shown)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limits   designer.Limits
		requests int
		says     string
	}{
		"no calls":           {designer.Limits{Calls: 0, Tokens: 1_000_000}, 0, "model_calls"},
		"two calls":          {designer.Limits{Calls: 2, Tokens: 1_000_000}, 2, "model_calls"},
		"no tokens":          {designer.Limits{Calls: 9, Tokens: 0}, 0, "model_tokens"},
		"tokens for a reply": {designer.Limits{Calls: 9, Tokens: len(prompt)/4 + 100}, 1, "model_tokens"},
	} {
		got, s, _, err := ask(t, c.limits, reply("no"), reply("no"), reply("no"))
		if err != nil || got.Outcome != designer.OutcomeFallback || s.requests() != c.requests || !strings.Contains(got.Rationale, c.says) {
			t.Errorf("%s: error %v, %d requests, outcome %s, rationale %q", name, err, s.requests(), got.Outcome, got.Rationale)
		}
		if name == "tokens for a reply" {
			if room := string(fields(t, s.bodies[0])["max_tokens"]); room != "99" && room != "100" {
				t.Errorf("asked for %s tokens; want what is left", room)
			}
		}
	}
}

func TestTokensAreEstimatedWhereNobodyCounts(t *testing.T) {
	got, _, _ := done(t, raw(200, `{"choices":[{"message":{"content":"sizes: {low: {data_ratio: 0.5}}"},"finish_reason":"stop"}]}`))
	if a := got.Attempts[0]; a.PromptTokens < 300 || a.CompletionTokens != 8 {
		t.Errorf("%d and %d tokens", a.PromptTokens, a.CompletionTokens)
	}
}
