package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/experiment"
)

// spender is a designer that makes some calls and then meets trouble. It keeps
// what it was allowed.
type spender struct {
	calls   int
	err     error
	allowed []designer.Request
}

func (s *spender) Propose(_ context.Context, in designer.Request) (designer.Proposal, error) {
	s.allowed = append(s.allowed, in)
	for range min(s.calls, in.Calls) {
		if err := in.Record(experiment.Attempt{Class: "no_block", PromptTokens: 90, CompletionTokens: 10, Cost: 0.25, Reply: "no"}); err != nil {
			return designer.Proposal{}, err
		}
	}
	return designer.Proposal{Fallback: "nothing came"}, s.err
}

func TestCallsOfAttemptsThatFailedCountAgainstTheLimits(t *testing.T) {
	b := newBench(t)
	s := &spender{calls: 2, err: &designer.UnavailableError{Reason: "503"}}
	b.acts.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return s, nil }
	in := upToDesign(b)
	in.Spec.Limits.ModelCalls, in.Spec.Limits.ModelTokens, in.Spec.Limits.ModelCost = 5, 1000, 2
	for range 4 { // as many attempts of the activity, or runs of the experiment
		if _, err := do(b, b.acts.Design, in); err == nil {
			t.Fatal("want an error")
		}
	}
	for i, want := range []struct {
		calls, tokens int
		cost          float64
	}{{5, 1000, 2}, {3, 800, 1.5}, {1, 600, 1}, {0, 500, 0.75}} {
		got := s.allowed[i]
		if got.Calls != want.calls || got.Tokens != want.tokens || got.Cost == nil || *got.Cost != want.cost {
			t.Errorf("attempt %d may make %d calls of %d tokens for %v; want %+v", i, got.Calls, got.Tokens, got.Cost, want)
		}
	}
	docs, err := b.acts.Steps.ListDocs(t.Context(), in.Spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, doc := range docs {
		if strings.HasPrefix(doc, "model-call-") {
			kept++
		}
	}
	if kept != 5 {
		t.Errorf("%d calls are kept; want each of 5", kept)
	}
}

func TestWithoutABoundOnMoneyThereIsNone(t *testing.T) {
	b := newBench(t)
	s := &spender{}
	b.acts.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return s, nil }
	in := upToDesign(b)
	in.Spec.Limits.ModelCalls, in.Spec.Limits.ModelTokens = 5, 1000
	if _, err := do(b, b.acts.Design, in); err != nil {
		t.Fatal(err)
	}
	if got := s.allowed[0]; got.Cost != nil || got.Calls != 5 || got.Tokens != 1000 {
		t.Errorf("%d calls, %d tokens, money %v", got.Calls, got.Tokens, got.Cost)
	}
	if again, err := do(b, b.acts.Design, in); err != nil || !again.Reused || len(s.allowed) != 1 {
		t.Errorf("a design that is done was asked for again: %+v, %v", again, err)
	}
}

// TestCallsThatWereNotServedCountForNothing has a ledger of a version that entered
// refused connections too.
func TestCallsThatWereNotServedCountForNothing(t *testing.T) {
	b := newBench(t)
	away := &away{}
	b.acts.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return away, nil }
	in := upToDesign(b)
	in.Spec.Limits.ModelCalls, in.Spec.Limits.ModelTokens, in.Spec.Limits.ModelCost = 3, 1000, 2
	for range 5 {
		if _, err := do(b, b.acts.Design, in); err == nil {
			t.Fatal("want an error")
		}
	}
	if last := away.allowed; last.Calls != 3 || last.Tokens != 1000 || *last.Cost != 2 || last.Served.Calls != 0 {
		t.Errorf("after 5 calls that were not served: %d calls, %d tokens, %v money are left", last.Calls, last.Tokens, *last.Cost)
	}
}

// away is a designer whose endpoint refuses every connection.
type away struct{ allowed designer.Request }

func (a *away) Propose(_ context.Context, in designer.Request) (designer.Proposal, error) {
	a.allowed = in
	err := in.Record(experiment.Attempt{Class: string(designer.ClassUnavailable), Fault: "connection refused"})
	return designer.Proposal{}, errors.Join(err, &designer.UnavailableError{Reason: "connection refused"})
}
