package openai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/designer/openai"
	"floe/internal/endpoint"
	"floe/internal/experiment"
)

func TestEveryCallThatWasServedIsRecordedOnceAlsoOfADesignThatFails(t *testing.T) {
	var kept []experiment.Attempt
	l := plenty
	l.Record = func(a experiment.Attempt) error { kept = append(kept, a); return nil }
	_, _, _, err := ask(t, l, raw(503, ""), raw(429, ""), message("abort", map[string]any{"content": good}), reply("no"), cut, raw(401, ""))
	if err == nil {
		t.Fatal("want an error")
	}
	var classes []string
	for _, a := range kept {
		classes = append(classes, a.Class)
	}
	if strings.Join(classes, " ") != "unavailable no_block unavailable" {
		t.Fatalf("recorded %q", classes)
	}
	if kept[0].PromptTokens != 100 || kept[0].CompletionTokens != 20 || !strings.Contains(kept[0].Fault, `broke off its reply (finish_reason "abort")`) {
		t.Errorf("recorded %+v", kept[0])
	}
	if kept[1].PromptTokens != 100 || kept[1].CompletionTokens != 20 || kept[1].Reply != "no" {
		t.Errorf("recorded %+v", kept[1])
	}
}

func TestCallsThatWereNotServedUseUpNoLimit(t *testing.T) {
	l := plenty
	l.Calls, l.Tokens = 1, 4000
	got, s, _, err := ask(t, l, raw(503, ""), raw(429, ""), raw(502, "<html>"), reply(good))
	if err != nil || got.Outcome != designer.OutcomeOK || s.requests() != 4 {
		t.Errorf("error %v after %d requests, outcome %s", err, s.requests(), got.Outcome)
	}
	got, _, _, err = ask(t, l, raw(503, ""), reply("no"), reply(good))
	if err != nil || got.Outcome != designer.OutcomeFallback || !strings.Contains(got.Rationale, "(limits.model_calls): 1 calls were served, with 120 tokens") {
		t.Errorf("error %v, rationale %q", err, got.Rationale)
	}
}

func TestADesignThatWasBrokenOffIsNotUsed(t *testing.T) {
	half := "rationale: because\nsizes:\n  low: {data_ratio: 1.0, knob: 0.3}\n" // its shares sum to 1
	for _, reason := range []string{"abort", "error", "cancelled"} {
		got, s, _ := done(t, message(reason, map[string]any{"content": half}), reply(good))
		if got.Outcome != designer.OutcomeOK || got.Used.Rows[0].DataRatio != 0.6 || s.requests() != 2 || s.bodies[0] != s.bodies[1] {
			t.Errorf("%s: after %d requests %+v", reason, s.requests(), got.Used)
		}
	}
}

func TestACallThatCannotBeRecordedEndsTheDesign(t *testing.T) {
	full := errors.New("the store is full")
	for name, first := range map[string]step{"a reply": reply(good), "a reply that was cut": cut} {
		l := plenty
		l.Record = func(experiment.Attempt) error { return full }
		_, s, _, err := ask(t, l, first, reply(good))
		if !errors.Is(err, full) || s.requests() != 1 {
			t.Errorf("%s: error %v after %d requests", name, err, s.requests())
		}
	}
}

// priced asks with prices and money.
func priced(t *testing.T, prices *endpoint.Prices, money float64, steps ...step) (experiment.Transcript, *server, error) {
	t.Helper()
	s := serve(t, steps...)
	e, err := endpoint.New(s.URL, secret)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openai.New(openai.Settings{Endpoint: e, Model: "m", Prices: prices})
	if err != nil {
		t.Fatal(err)
	}
	d.Waits()
	l := plenty
	l.Cost = &money
	got, err := designer.Design(t.Context(), d, spec, evidence(), l)
	return got, s, err
}

func TestMoneyIsCountedAndBounded(t *testing.T) {
	prices := &endpoint.Prices{Prompt: 10, Reply: 100} // a scripted call: 100 and 20 tokens, 0.003
	got, _, err := priced(t, prices, 1, reply("no"), reply(good))
	if err != nil || got.Outcome != designer.OutcomeOK || got.Attempts[0].Cost != 0.003 || got.Attempts[1].Cost != 0.003 {
		t.Errorf("error %v, attempts %+v", err, got.Attempts)
	}
	got, s, err := priced(t, prices, 0.02, reply("no"), message("stop", map[string]any{"content": "no"}), reply("no"))
	if err != nil || s.requests() == 0 {
		t.Fatalf("error %v after %d requests", err, s.requests())
	}
	if room := string(fields(t, s.bodies[0])["max_tokens"]); room == "500" || len(room) > 3 {
		t.Errorf("asked for %s tokens; want what the money pays", room)
	}
	got, s, err = priced(t, prices, 0.0001, reply(good))
	if err != nil || s.requests() != 0 || got.Outcome != designer.OutcomeFallback || !strings.Contains(got.Rationale, "limits.model_cost") {
		t.Errorf("error %v, %d requests, rationale %q", err, s.requests(), got.Rationale)
	}
}

func TestFreeRepliesAreNotBoundedByMoney(t *testing.T) {
	for name, prices := range map[string]*endpoint.Prices{"free": {}, "a free reply": {Prompt: 1}} {
		got, s, err := priced(t, prices, 0.5, reply(good))
		if err != nil || got.Outcome != designer.OutcomeOK || string(fields(t, s.bodies[0])["max_tokens"]) != "500" {
			t.Errorf("%s: error %v, outcome %s", name, err, got.Outcome)
		}
	}
}

func TestABoundOnMoneyNeedsPrices(t *testing.T) {
	_, s, err := priced(t, nil, 5, reply(good))
	var final *designer.FinalError
	if !errors.As(err, &final) || s.requests() != 0 || !strings.Contains(fmt.Sprint(err), "prompt_price and reply_price") {
		t.Errorf("error %v after %d requests", err, s.requests())
	}
}
