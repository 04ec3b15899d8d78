package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/ending"
	"floe/internal/outage"
)

// at is an endpoint whose waits pass at once.
func at(t *testing.T, serve http.HandlerFunc) (Endpoint, *[]time.Duration) {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	e, err := New(s.URL, "long-enough-key")
	if err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	now := time.Unix(1_000_000, 0)
	e.Clock.Now = func() time.Time { return now }
	e.Clock.Sleep = func(ctx context.Context, d time.Duration) error {
		waits, now = append(waits, d), now.Add(d)
		return ctx.Err()
	}
	return e, &waits
}

func TestAReplyComesWithItsTokensAndReasoning(t *testing.T) {
	var sent map[string]any
	e, _ := at(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"go long-enough-key","reasoning":"hm"},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`)
	})
	r, trouble := e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "hello"}}, MaxTokens: 9, Seed: 4})
	if trouble != nil || r.Text != "go [redacted]" || r.Reasoning != "hm" || r.FinishReason != ending.Length || r.PromptTokens != 7 || r.CompletionTokens != 3 {
		t.Errorf("trouble %v, reply %+v", trouble, r)
	}
	if sent["temperature"] != 0.0 || sent["max_tokens"] != 9.0 || sent["seed"] != 4.0 {
		t.Errorf("sent %v", sent)
	}
}

func TestRefusalsAreNamedAndFiltersAreTheRequestsTrouble(t *testing.T) {
	e, _ := at(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "filter me") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":"content_filter","message":"no"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":null,"refusal":"I will not"},"finish_reason":"stop"}]}`)
	})
	r, trouble := e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "hello"}}})
	if trouble != nil || r.FinishReason != ending.Refusal || r.Text != "I will not" || r.PromptTokens == 0 {
		t.Errorf("trouble %v, reply %+v", trouble, r)
	}
	_, trouble = e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "filter me"}}})
	if trouble == nil || !trouble.Filtered || !trouble.Final {
		t.Errorf("trouble %+v", trouble)
	}
}

func TestPersistWaitsOutWhatPassesAndSaysSo(t *testing.T) {
	n := 0
	e, waits := at(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		if n < 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}`)
	})
	told := 0
	err := e.Persist(t.Context(), "name", func() *Trouble {
		_, trouble := e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "x"}}})
		return trouble
	}, func(time.Duration, *Trouble) { told++ })
	if err != nil || told != 3 || len(*waits) != 3 {
		t.Errorf("error %v, told %d times, waits %v", err, told, *waits)
	}
	for i, w := range *waits {
		if full := time.Second << i; w > full || w < full/2 {
			t.Errorf("wait %d is %v; want %v to %v", i, w, full/2, full)
		}
	}
}

func TestPersistGivesUpOnWhatDoesNotPass(t *testing.T) {
	e, _ := at(t, func(http.ResponseWriter, *http.Request) {})
	calls := 0
	always := func(t Trouble) func() *Trouble { return func() *Trouble { calls++; return &t } }
	quiet := func(time.Duration, *Trouble) {}
	err := e.Persist(t.Context(), "n", always(Trouble{Reason: "bad key", Final: true}), quiet)
	if trouble, ok := errors.AsType[*Trouble](err); !ok || !trouble.Final || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	err = e.Persist(t.Context(), "n", always(Trouble{Reason: "busy"}), quiet)
	trouble, ok := errors.AsType[*Trouble](err)
	if _, away := outage.As(err); !ok || !away || trouble.Final || !strings.Contains(trouble.Reason, "times") {
		t.Errorf("%v", err)
	}
	calls = 0
	err = e.Persist(t.Context(), "n", always(Trouble{Reason: "broken off", Served: true}), quiet)
	if _, away := outage.As(err); err == nil || away || calls != mostBroken {
		t.Errorf("after %d calls that may be charged: %v", calls, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Persist(gone, "n", always(Trouble{Reason: "busy"}), quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestABudgetIsNeverExceededAndUsedAsFarAsItGoes(t *testing.T) {
	const limit, most, used = 1000, 100, 30
	b := NewBudget(limit, 50)
	var calls sync.WaitGroup
	var started atomic.Int64
	for b.Hold(most) {
		started.Add(1)
		calls.Go(func() { b.Settle(most, used) })
	}
	calls.Wait()
	// The last call starts once 900 or less are used: 50 + 30k <= 900.
	if got := started.Load(); got != 29 || b.Used() != 50+29*used {
		t.Errorf("%d calls, %d tokens; want 29 calls", got, b.Used())
	}
	if none := NewBudget(0, 0); !none.Hold(1 << 40) {
		t.Error("no limit is a limit")
	}
}

func TestURLsThatAreNoneAreNotQuoted(t *testing.T) {
	for _, base := range []string{"nonsense", "ftp://user:secretword@host", "http://", "://secretword"} {
		if _, err := New(base, ""); err == nil || strings.Contains(err.Error(), "secretword") {
			t.Errorf("%s: %v", base, err)
		}
	}
	e, err := New("http://user:secretword@host:8000/v1/?token=secretword", "")
	if err != nil || e.Host() != "host:8000" || strings.Contains(e.base, "secretword") {
		t.Errorf("%v, %+v", err, e)
	}
}
