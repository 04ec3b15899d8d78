package ask_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/ask"
	"floe/internal/endpoint"
)

func TestBudgetsOfTokensAndMoneyAreNotExceededAndLargerOnesGoOn(t *testing.T) {
	price := func(prompt, completion int) float64 { return float64(prompt)*1e-3 + float64(completion)*1e-2 }
	for what, set := range map[string]func(*ask.Plan, float64){
		"tokens": func(p *ask.Plan, share float64) { p.MaxTokens = int64(30 * 35 * share) },
		"money":  func(p *ask.Plan, share float64) { p.MaxCost = ask.Money(30 * 0.08 * share) },
	} {
		t.Run(what, func(t *testing.T) {
			m, items, j := newModel(t), questions(30), journals(t)["objects"]()
			p := plan()
			p.Price = price
			set(&p, 0.5)
			_, tally, err := ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{})
			spent, ok := errors.AsType[*ask.SpentError](err)
			if !ok || spent.What != what || spent.Used > spent.Limit || tally.Answered < 5 || tally.Answered > 15 {
				t.Fatalf("%v; %+v", err, tally)
			}
			set(&p, 2)
			if _, tally, err = ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{}); err != nil || tally.Cost < 2.39 || tally.Cost > 2.41 {
				t.Errorf("%v; %+v", err, tally)
			}
			m.askedOnce(t, items)
		})
	}
}

func TestTroubleIsWaitedOutAndToldOnceOrEndsAsking(t *testing.T) {
	m, items := newModel(t), questions(12)
	// Four calls fail, and none is answered before all four have been made again: so
	// all of them have met the trouble before anything ends it.
	var again sync.WaitGroup
	again.Add(4)
	m.first(func(n int, _ string, w http.ResponseWriter, _ *http.Request) bool {
		switch {
		case n <= 4:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case n <= 8:
			again.Done()
			again.Wait()
		}
		return n <= 4
	})
	told := 0
	j := journals(t)["objects"]()
	p := plan()
	p.Concurrency = 4
	_, _, err := ask.Run(t.Context(), m.endpoint(t), p, items[:6], j, ask.Watch{Waiting: func(time.Duration, *endpoint.Trouble) { told++ }})
	if err != nil || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
	m.first(func(_ int, _ string, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "what?", http.StatusNotFound)
		return true
	})
	_, tally, err := ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{})
	if trouble, ok := errors.AsType[*endpoint.Trouble](err); !ok || !trouble.Final || tally.Answered != 6 {
		t.Errorf("%v, %+v", err, tally)
	}
}

func TestPlansAndItemsThatMakeNoSenseAreRefusedWhole(t *testing.T) {
	m := newModel(t)
	_, _, err := ask.Run(t.Context(), m.endpoint(t), ask.Plan{MaxTokens: -1, MaxCost: 1}, questions(1), nil, ask.Watch{})
	for _, want := range []string{"no model", "longest answer", "0 calls", "token budget", "no prices"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	items := []ask.Item{{"a", "x"}, {"a", "y"}, {"", "z"}, {"b", ""}}
	_, _, err = ask.Run(t.Context(), m.endpoint(t), plan(), items, nil, ask.Watch{})
	for _, want := range []string{"items 1 and 2", "item 3 has no ID", `"b" has no prompt`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if n := m.calls(); n > 0 {
		t.Errorf("%d calls", n)
	}
}

func TestAJournalOfAnotherPlanIsRefused(t *testing.T) {
	m, items, j := newModel(t), questions(3), journals(t)["objects"]()
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err != nil {
		t.Fatal(err)
	}
	other := plan()
	other.Seed = "another"
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), other, items, j, ask.Watch{}); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("%v", err)
	}
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items[:2], j, ask.Watch{}); err == nil || !strings.Contains(err.Error(), "none of the items") {
		t.Errorf("%v", err)
	}
}
