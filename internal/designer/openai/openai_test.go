package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/designer/openai"
)

func TestAGoodReplyBecomesTheCurriculum(t *testing.T) {
	for name, text := range map[string]string{"bare": good, "fenced": "Here:\n```yaml\n" + good + "```", "thinking": "<think>\nhm {\n</think>\n" + good} {
		got, s, _ := done(t, reply(text))
		if got.Outcome != designer.OutcomeOK || got.Rationale != "because" || got.Model != "m" || got.Used.Rows[0].DataRatio != 0.6 {
			t.Errorf("%s: transcript %+v", name, got)
		}
		a := got.Attempts[0]
		if a.Reply != text || a.Class != "ok" || a.FinishReason != "stop" || a.PromptTokens != 100 || a.CompletionTokens != 20 {
			t.Errorf("%s: attempt %+v", name, a)
		}
		if a.Request != s.bodies[0] || !strings.Contains(a.Response, `"system_fingerprint":"fp"`) {
			t.Errorf("%s: the bodies are not as they went over the wire:\n%s\n%s", name, a.Request, a.Response)
		}
		if s.auth[0] != "Bearer "+secret || s.urls[0] != "/v1/chat/completions" {
			t.Errorf("%s: authorization %q at %s", name, s.auth[0], s.urls[0])
		}
		if got.Prompt == "" || !strings.Contains(a.Request, "Design the next training curriculum") {
			t.Errorf("%s: the prompt was not sent", name)
		}
	}
}

func TestZeroTemperatureSeedAndLengthAreReallySent(t *testing.T) {
	_, s, _ := done(t, reply(good))
	f := fields(t, s.bodies[0])
	if string(f["temperature"]) != "0" || string(f["max_tokens"]) != "500" || string(f["model"]) != `"m"` || f["max_completion_tokens"] != nil {
		t.Errorf("sent %s", s.bodies[0])
	}
	_, again, _ := done(t, reply(good))
	if seed := string(f["seed"]); seed == "" || seed != string(fields(t, again.bodies[0])["seed"]) {
		t.Errorf("seeds %s and %s; want the same", seed, fields(t, again.bodies[0])["seed"])
	}
	if s.bodies[0] != again.bodies[0] {
		t.Error("the same question is asked in two ways")
	}
}

// fixedSampling answers as OpenAI's models do that take no max_tokens and no temperature.
func fixedSampling(w http.ResponseWriter, r *http.Request) {
	var f map[string]any
	_ = json.NewDecoder(r.Body).Decode(&f)
	switch {
	case f["max_tokens"] != nil:
		raw(400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`)(w, r)
	case f["temperature"] != nil:
		raw(400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`)(w, r)
	default:
		reply(good)(w, r)
	}
}

func TestWhatAModelDoesNotTakeIsFoundOutOnceAndSaid(t *testing.T) {
	for _, name := range []string{"openai/gpt-5-mini", "azure/gpt-5", "GPT-5", "of-another-name"} {
		s := serve(t, fixedSampling, fixedSampling, fixedSampling, fixedSampling)
		d, _ := model(t, s, name)
		first, err := designer.Design(t.Context(), d, spec, evidence(), designer.Limits{Seed: "s", Calls: 1, Tokens: 1_000_000})
		if err != nil || first.Outcome != designer.OutcomeOK || s.requests() != 3 || len(first.Attempts) != 1 {
			t.Fatalf("%s: error %v after %d requests, outcome %s", name, err, s.requests(), first.Outcome)
		}
		trace := strings.Join(first.Attempts[0].Trace, "\n")
		if !strings.Contains(trace, " refuses for model "+name+": max_tokens (max_completion_tokens is sent instead), temperature (it is not sent).") || !strings.Contains(trace, "Not sent, as 127.0.0.1:") || !strings.Contains(trace, "temperature 0.") {
			t.Errorf("%s: the transcript says\n%s", name, trace)
		}
		second, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
		f := fields(t, s.bodies[3])
		if err != nil || s.requests() != 4 || string(f["max_completion_tokens"]) != "500" || f["max_tokens"] != nil || f["temperature"] != nil {
			t.Errorf("%s: error %v, was sent %s", name, err, s.bodies[3])
		}
		if trace := strings.Join(second.Attempts[0].Trace, "\n"); strings.Contains(trace, "refuses for") || !strings.Contains(trace, "temperature 0.") {
			t.Errorf("%s: the second transcript says\n%s", name, trace)
		}
	}
}

func TestAModelsNameChangesNothing(t *testing.T) {
	for _, name := range []string{"o1-open-7b", "gpt-5-local", "o3"} {
		s := serve(t, reply(good))
		d, _ := model(t, s, name)
		if _, err := designer.Design(t.Context(), d, spec, evidence(), plenty); err != nil {
			t.Fatal(err)
		}
		if f := fields(t, s.bodies[0]); string(f["max_tokens"]) != "500" || string(f["temperature"]) != "0" {
			t.Errorf("%s was sent %s", name, s.bodies[0])
		}
	}
}

func TestReasoningIsKeptUnderBothNames(t *testing.T) {
	for name, c := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"reasoning":         {map[string]any{"content": good, "reasoning": "new name"}, "new name"},
		"reasoning_content": {map[string]any{"content": good, "reasoning_content": "old name"}, "old name"},
		"both the same":     {map[string]any{"content": good, "reasoning": "same", "reasoning_content": "same"}, "same"},
		"both":              {map[string]any{"content": good, "reasoning": "b", "reasoning_content": "a"}, "a\n\nb"},
		"null":              {map[string]any{"content": good, "reasoning": nil, "reasoning_content": nil}, ""},
		"parts":             {map[string]any{"content": []any{map[string]any{"type": "text", "text": good}}, "reasoning": map[string]any{"x": 1}}, `{"x":1}`},
	} {
		got, _, _ := done(t, message("stop", c.fields))
		if got.Attempts[0].Reasoning != c.want || got.Outcome != designer.OutcomeOK {
			t.Errorf("%s: reasoning %q, outcome %s; want %q", name, got.Attempts[0].Reasoning, got.Outcome, c.want)
		}
	}
}

func TestNonsenseIsToldBackAndMended(t *testing.T) {
	bad := "<think>long thoughts</think>```yaml\n" + strings.Replace(good, "0.4", "0.9", 1) + "```"
	got, s, _ := done(t, reply("I would rather talk."), reply(bad), reply(good))
	if got.Outcome != designer.OutcomeOK || len(got.Attempts) != 3 {
		t.Fatalf("transcript %+v", got)
	}
	if a, b := got.Attempts[0].Class, got.Attempts[1].Class; a != "no_block" || b != "bad_sum" {
		t.Errorf("classes %s, %s", a, b)
	}
	var last struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(s.bodies[2]), &last); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range last.Messages {
		roles = append(roles, m.Role)
	}
	if strings.Join(roles, " ") != "user assistant user assistant user" {
		t.Fatalf("roles %q", roles)
	}
	if !strings.Contains(last.Messages[4].Content, got.Attempts[1].Fault) || !strings.Contains(last.Messages[4].Content, "data_ratio sums to 1.5 over all sizes; want 1") {
		t.Errorf("the fault is not quoted: %s", last.Messages[4].Content)
	}
	if strings.Contains(s.bodies[2], "long thoughts") {
		t.Error("thinking is sent back")
	}
}

func TestAnEmptyReplyIsAskedAnewInOneMessage(t *testing.T) {
	_, s, _ := done(t, reply(""), reply(good))
	var second struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(s.bodies[1]), &second); err != nil {
		t.Fatal(err)
	}
	if len(second.Messages) != 1 || !strings.Contains(second.Messages[0].Content, "(empty): the answer is empty") {
		t.Errorf("messages %+v", second.Messages)
	}
}

func TestNothingUsableFallsBackLoudly(t *testing.T) {
	got, s, _ := done(t, reply("no"), message("length", map[string]any{"content": good}), message("stop", map[string]any{"content": nil, "refusal": "I will not."}))
	if got.Outcome != designer.OutcomeFallback || len(got.Changes) != 0 || got.Used.Rows[0].DataRatio != 0.5 || s.requests() != 3 {
		t.Errorf("transcript %+v", got)
	}
	var classes []string
	for _, a := range got.Attempts {
		classes = append(classes, a.Class)
	}
	if strings.Join(classes, " ") != "no_block truncated declined" {
		t.Errorf("classes %q", classes)
	}
	if !strings.HasPrefix(got.Rationale, "The last curriculum stays: none of 3 replies of m could be used; the last one: declined:") {
		t.Errorf("rationale %q", got.Rationale)
	}
}

func TestADesignerWithoutAModelIsRefused(t *testing.T) {
	_, err := openai.New(openai.Settings{})
	var final *designer.FinalError
	if !errors.As(err, &final) || !strings.Contains(err.Error(), "designer.model is empty") {
		t.Errorf("error %v", err)
	}
}
