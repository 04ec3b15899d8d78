package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/internal/designer"
	"floe/internal/outage"
)

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

func TestPatienceIsBounded(t *testing.T) {
	steps := make([]step, 50)
	for i := range steps {
		steps[i] = raw(503, "")
	}
	_, s, waits, err := ask(t, plenty, steps...)
	var unavailable *designer.UnavailableError
	if !errors.As(err, &unavailable) || s.requests() > 12 || !strings.Contains(err.Error(), "ask m: the model endpoint 127.0.0.1:") {
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
	d.SetTimeout(time.Second)
	got, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if err != nil || len(got.Attempts) != 2 || !strings.Contains(got.Attempts[0].Fault, "did not answer in time") || len(waits()) != 1 {
		t.Errorf("error %v, transcript %+v", err, got)
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

// drip sends a body a few bytes at a time, and holds before its last byte as long
// as it is told to.
func drip(body string, hold func(*http.Request)) step {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		out := http.NewResponseController(w)
		for i := 0; i < len(body)-1; i += 7 {
			_, _ = io.WriteString(w, body[i:min(i+7, len(body)-1)])
			_ = out.Flush()
		}
		hold(r)
		_, _ = io.WriteString(w, body[len(body)-1:])
	}
}

func TestASlowStreamIsReadToItsEnd(t *testing.T) {
	body := `{"choices":[{"message":{"content":` + quoted(good) + `},"finish_reason":"stop"}]}`
	got, _, _ := done(t, drip(body, func(*http.Request) {}))
	if got.Outcome != designer.OutcomeOK || got.Attempts[0].Response != body {
		t.Errorf("transcript %+v", got)
	}
}

func TestAStreamThatDoesNotEndIsGivenUpAndWhatCameIsKeptAndCounted(t *testing.T) {
	body := `{"choices":[{"message":{"content":` + quoted(good) + `},"finish_reason":"stop"}]}`
	s := serve(t, drip(body, func(r *http.Request) { <-r.Context().Done() }), reply(good))
	d, _ := model(t, s, "m")
	d.SetTimeout(time.Second)
	got, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if err != nil || len(got.Attempts) != 2 {
		t.Fatalf("error %v, transcript %+v", err, got)
	}
	a := got.Attempts[0]
	if a.Class != "unavailable" || a.Response != body[:len(body)-1] || a.PromptTokens < 100 || a.CompletionTokens < 10 {
		t.Errorf("attempt %+v", a)
	}
}

func TestServerSentEventsAreNoReply(t *testing.T) {
	_, _, _, err := ask(t, plenty, raw(200, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", "Content-Type", "text/event-stream"))
	var final *designer.FinalError
	if !errors.As(err, &final) || !strings.Contains(err.Error(), "no chat completion") {
		t.Errorf("error %v", err)
	}
}

func TestAnEndpointThatIsAwayIsAnOutage(t *testing.T) {
	s := serve(t)
	d, _ := model(t, s, "m")
	s.Close()
	_, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	var unavailable *designer.UnavailableError
	if _, away := outage.As(err); !errors.As(err, &unavailable) || !away || !strings.Contains(err.Error(), "cannot be reached: dial tcp") || strings.Contains(err.Error(), "/v1") {
		t.Errorf("error %v", err)
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
