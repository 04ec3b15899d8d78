package openai_test

import (
	"context"
	"encoding/json"
	"errors"
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

func fields(t *testing.T, body string) map[string]json.RawMessage {
	t.Helper()
	var f map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatal(err)
	}
	return f
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

func TestModelsWithFixedSamplingGetTheirOwnFields(t *testing.T) {
	for _, name := range []string{"o1-mini", "o3", "o4-mini", "gpt-5.1", "gpt-6-sol"} {
		s := serve(t, reply(good))
		d, _ := model(t, s, name)
		if _, err := designer.Design(t.Context(), d, spec, evidence(), plenty); err != nil {
			t.Fatal(err)
		}
		f := fields(t, s.bodies[0])
		if string(f["max_completion_tokens"]) != "500" || f["max_tokens"] != nil || f["temperature"] != nil {
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

func TestTroubleThatPassesIsWaitedOut(t *testing.T) {
	for name, c := range map[string]struct {
		step  step
		wait  func(time.Duration) bool
		fault string
	}{
		"busy, with seconds":     {raw(429, `{"error":{"message":"slow down"}}`, "Retry-After", "7"), func(d time.Duration) bool { return d == 7*time.Second }, "takes no more requests now; it says: slow down"},
		"busy":                   {raw(429, ""), short, "429"},
		"broken":                 {raw(500, "oops"), short, "trouble of its own; it says: oops"},
		"overloaded":             {raw(503, `{"detail":"loading"}`), short, "it says: loading"},
		"cut":                    {cut, short, "broke off its response"},
		"cut without a length":   {raw(200, `{"choices":[`), short, "broke off its response"},
		"nothing":                {raw(200, ""), short, "broke off its response"},
		"an error that is a 200": {raw(200, `{"error":{"code":503,"message":"no worker"}}`), short, "503"},
	} {
		got, s, waits := done(t, c.step, reply(good))
		if got.Outcome != designer.OutcomeOK || len(got.Attempts) != 2 || s.requests() != 2 {
			t.Errorf("%s: %d attempts, outcome %s", name, len(got.Attempts), got.Outcome)
			continue
		}
		if len(waits) != 1 || !c.wait(waits[0]) {
			t.Errorf("%s: waited %v", name, waits)
		}
		if a := got.Attempts[0]; a.Class != "unavailable" || !strings.Contains(a.Fault, c.fault) || a.Request == "" {
			t.Errorf("%s: attempt %+v; want the fault %q", name, a, c.fault)
		}
		if name == "cut" && !strings.Contains(got.Attempts[0].Response, "half") {
			t.Errorf("what came before the cut is lost: %q", got.Attempts[0].Response)
		}
	}
}

func short(d time.Duration) bool { return d >= 500*time.Millisecond && d <= time.Second }

func TestPatienceIsBounded(t *testing.T) {
	steps := make([]step, 50)
	for i := range steps {
		steps[i] = raw(503, "")
	}
	_, s, waits, err := ask(t, plenty, steps...)
	var unavailable *designer.UnavailableError
	if !errors.As(err, &unavailable) || s.requests() > 12 || !strings.Contains(err.Error(), "ask m: 503") {
		t.Errorf("error %v after %d requests and waits %v", err, s.requests(), waits)
	}
	total := time.Duration(0)
	for _, w := range waits {
		total += w
	}
	if total > 2*time.Minute || total < 30*time.Second {
		t.Errorf("waited %v in all", total)
	}
}

func TestALongRetryAfterIsTheCallersToWait(t *testing.T) {
	_, s, waits, err := ask(t, plenty, raw(429, "", "Retry-After", "600"))
	var unavailable *designer.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.RetryAfter != 10*time.Minute || len(waits) != 0 || s.requests() != 1 {
		t.Errorf("error %v, waits %v", err, waits)
	}
}

func TestASlowModelIsGivenUp(t *testing.T) {
	s := serve(t, never, reply(good))
	d, waits := model(t, s, "m")
	d.SetTimeout(50 * time.Millisecond)
	got, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if err != nil || len(got.Attempts) != 2 || !strings.Contains(got.Attempts[0].Fault, "did not answer in time") || len(waits()) != 1 {
		t.Errorf("error %v, transcript %+v", err, got)
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

func TestTheBudgetHolds(t *testing.T) {
	_, prompt, err := designer.Compose(evidence(), spec.Context, spec.Details)
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

func TestWhatWillNotPassIsFinalAndSaysWhatToChange(t *testing.T) {
	for name, c := range map[string]struct {
		step step
		want string
	}{
		"401":               {raw(401, `{"error":{"message":"Incorrect API key provided: `+strings.ReplaceAll(secret, `"`, `\"`)+`"}}`), "401: the key in OPENAI_API_KEY was refused by 127.0.0.1:"},
		"403":               {raw(403, ""), "403: the key in OPENAI_API_KEY may not use model m at 127.0.0.1:"},
		"404":               {raw(404, `{"error":"model m not found"}`), "it says: model m not found"},
		"400":               {raw(400, `{"message":"context length exceeded"}`), "refused the request; it says: context length exceeded"},
		"no quota":          {raw(429, `{"error":{"code":"insufficient_quota","message":"pay"}}`), "429"},
		"redirect":          {raw(307, "", "Location", "/elsewhere"), "redirects elsewhere"},
		"a web page":        {raw(200, "<html>hello"), `no chat completion (base URLs mostly end in /v1); it begins "<html>hello"`},
		"no choices":        {raw(200, `{"choices":[]}`), "no chat completion"},
		"a 200 that is 401": {raw(200, `{"error":{"code":"401","message":"who"}}`), "401: the key"},
		"too much":          {raw(200, strings.Repeat(" ", 9<<20)), "larger than 8 MiB"},
	} {
		_, s, waits, err := ask(t, plenty, c.step, reply(good))
		var final *designer.FinalError
		if !errors.As(err, &final) || !strings.Contains(err.Error(), c.want) || s.requests() != 1 || len(waits) != 0 {
			t.Errorf("%s: error %v after %d requests; want %q in it", name, err, s.requests(), c.want)
		}
		if len(fmt.Sprint(err)) > 600 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

func TestNobodyThereIsTrouble(t *testing.T) {
	s := serve(t)
	d, _ := model(t, s, "m")
	s.Close()
	_, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	var unavailable *designer.UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "cannot be reached: dial tcp") || strings.Contains(err.Error(), "/v1") {
		t.Errorf("error %v", err)
	}
}

func TestSecretsOfTheURLAreUsedAndNeverShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		raw(401, user+" "+password+" "+r.URL.RawQuery)(w, r)
	}
	s := serve(t, echo)
	d := newDesigner(t, strings.Replace(s.URL, "http://", "http://longuser:longpassword@", 1)+"/v1/?token=longtoken", "m", "")
	_, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if s.urls[0] != "/v1/chat/completions?token=longtoken" || !strings.HasPrefix(s.auth[0], "Basic ") {
		t.Errorf("sent %s with %q", s.urls[0], s.auth[0])
	}
	if text := fmt.Sprint(err); strings.Contains(text, "long") || !strings.Contains(text, "[redacted]") {
		t.Errorf("error %v", err)
	}
}

func TestAnEchoedKeyIsCutOutOfTheTranscript(t *testing.T) {
	body, err := json.Marshal(good + "# " + secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := done(t, raw(200, `{"choices":[{"message":{"content":`+string(body)+`,"reasoning":`+string(body)+`},"finish_reason":"stop"}]}`))
	if got.Outcome != designer.OutcomeOK || !strings.Contains(got.Attempts[0].Reply, "[redacted]") || !strings.Contains(got.Attempts[0].Response, "[redacted]") {
		t.Errorf("transcript %+v", got)
	}
}

func TestAPlaceholderForAKeyIsNoSecret(t *testing.T) {
	s := serve(t, reply(good))
	d := newDesigner(t, s.URL, "m", "low")
	got, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if err != nil || got.Outcome != designer.OutcomeOK || strings.Contains(got.Attempts[0].Reply, "redacted") {
		t.Errorf("error %v, transcript %+v", err, got)
	}
}

func TestWithoutAKeyA401SaysSo(t *testing.T) {
	s := serve(t, raw(401, ""))
	d := newDesigner(t, s.URL, "m", "")
	if _, err := designer.Design(t.Context(), d, spec, evidence(), plenty); err == nil || !strings.Contains(err.Error(), "wants a key, and OPENAI_API_KEY is not set") {
		t.Errorf("error %v", err)
	}
}

func TestCancellingStopsACallAndAWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, _ := model(t, serve(t, func(w http.ResponseWriter, r *http.Request) { cancel(); never(w, r) }), "m")
	if _, err := designer.Design(ctx, d, spec, evidence(), plenty); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v while calling", err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	s := serve(t, raw(503, "", "Retry-After", "100"))
	d = newDesigner(t, s.URL, "m", "")
	l := plenty
	l.Beat = func(note string) {
		if strings.HasPrefix(note, "waiting") {
			cancel()
		}
	}
	if _, err := designer.Design(ctx, d, spec, evidence(), l); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v while waiting", err)
	}
}

func TestTheCallerHearsWhileTheModelThinks(t *testing.T) {
	heard := make(chan string, 1000)
	l := plenty
	l.Beat = func(note string) { heard <- note }
	think := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { <-think; reply(good)(w, r) })
	d, _ := model(t, s, "m")
	d.SetBeat(time.Millisecond)
	finished := make(chan error, 1)
	go func() {
		_, err := designer.Design(t.Context(), d, spec, evidence(), l)
		finished <- err
	}()
	for range 3 {
		if note := <-heard; !strings.HasPrefix(note, "asking m at 127.0.0.1:") {
			t.Errorf("heard %q", note)
		}
	}
	close(think)
	if err := <-finished; err != nil {
		t.Error(err)
	}
}

func TestADesignerWithoutAModelIsRefused(t *testing.T) {
	_, err := openai.New(openai.Settings{})
	var final *designer.FinalError
	if !errors.As(err, &final) || !strings.Contains(err.Error(), "designer.model is empty") {
		t.Errorf("error %v", err)
	}
}
