// Package ask asks a model behind an endpoint thousands of questions: so many at a
// time, each with a seed of its own, within a budget, and each one once. Every
// answer is in a journal before it counts, so that asking goes on after any end at
// the items that have no answer.
package ask

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"floe/internal/endpoint"
)

// Item is one question. IDs are unique within a set.
type Item struct{ ID, Prompt string }

// Plan is how items are asked.
type Plan struct {
	// Request is what all requests have in common: model, length, temperature and
	// the like. Its messages come before the prompt; its seed is not used.
	Request endpoint.Request
	// Seed names the asking: an item's seed is that of this name and its ID, so that
	// it does not depend on the order or on what else is asked. Empty: the ID alone.
	Seed        string
	Concurrency int   // calls at one time
	MaxTokens   int64 // that all answers together may cost, prompts included; 0: no bound
	Price       Price // nil: not known
	MaxCost     Money // that all answers together may cost, where there is a price; 0: no bound
}

// Journal keeps answers. Package ask has two: a File, and Objects in a store.
type Journal interface {
	// Load hands over the answers that are kept, each ID once.
	Load(ctx context.Context, take func(Answer) error) error
	// Add keeps an answer. When it returns, the answer survives any end of this
	// process. It is called concurrently.
	Add(ctx context.Context, a Answer) error
}

// Watch follows a run of questions. Each may be nil; none is called concurrently.
type Watch struct {
	// Answered is told of every answer once it is kept, and once before the first.
	Answered func(done, total int, t Tally)
	// Waiting is told of trouble before it is waited out, once for all calls that
	// meet the same.
	Waiting func(wait time.Duration, t *endpoint.Trouble)
	// Noted gets, once each, what a call found out about the endpoint and which
	// settings it does not take.
	Noted func(sentence string)
}

// SpentError says that a budget has no room for another call. What is answered
// stays; a larger budget goes on.
type SpentError struct {
	What        string // "tokens" or "money"
	Limit, Used float64
}

// Error implements error.
func (e *SpentError) Error() string {
	return fmt.Sprintf("the budget of %.10g %s is used up: %.10g are used, and another call may need more than is left", e.Limit, e.What, e.Used)
}

// Validate says everything that is wrong with a plan, or nil.
func (p Plan) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(p.Request.Model == "", "no model to ask")
	bad(p.Request.MaxTokens < 1, "longest answer is %d tokens; want 1 or more", p.Request.MaxTokens)
	bad(!(p.Request.Temperature >= 0), "temperature is %v; want 0 or more", p.Request.Temperature) // this way round, NaN is refused too
	bad(p.Concurrency < 1 || p.Concurrency > endpoint.MostConcurrent, "%d calls at one time; want 1 to %d", p.Concurrency, endpoint.MostConcurrent)
	bad(p.MaxTokens < 0, "token budget is %d; want 0 or more", p.MaxTokens)
	bad(!(p.MaxCost >= 0), "money budget is %v; want 0 or more", p.MaxCost)
	bad(p.MaxCost > 0 && p.Price == nil, "a money budget of %v, and no prices to count by", p.MaxCost)
	return errors.Join(errs...)
}

// ItemSeed is the seed that an item is asked with.
func (p Plan) ItemSeed(id string) int {
	if p.Seed == "" {
		return endpoint.Seed(id)
	}
	return endpoint.Seed(p.Seed + "/" + id)
}

// Run asks every item that the journal has no answer to, and returns all answers
// in the order of items. On an error the answers so far stay in the journal, and
// the tally says how far it came: a *SpentError at the end of a budget, an
// *endpoint.Trouble inside where the endpoint would not answer, marked as an outage
// (package outage) where it did not serve the call.
func Run(ctx context.Context, e endpoint.Endpoint, p Plan, items []Item, j Journal, w Watch) ([]Answer, Tally, error) {
	if err := p.Validate(); err != nil {
		return nil, Tally{}, err
	}
	at, err := index(items)
	if err != nil {
		return nil, Tally{}, err
	}
	r := &run{endpoint: e, plan: p, items: items, journal: j, watch: w, answers: make([]*Answer, len(items)), noted: map[string]bool{}}
	if err := j.Load(ctx, func(a Answer) error { return r.take(at, a) }); err != nil {
		return nil, r.tally, fmt.Errorf("read the answers that are kept: %w", err)
	}
	if err := r.all(ctx); err != nil {
		return nil, r.tally, err
	}
	answers := make([]Answer, len(items))
	for i, a := range r.answers {
		answers[i] = *a
	}
	return answers, r.tally, nil
}

// run is one asking.
type run struct {
	endpoint endpoint.Endpoint
	plan     Plan
	items    []Item
	journal  Journal
	watch    Watch
	budget   budget

	mu      sync.Mutex // guards what follows
	answers []*Answer  // nil: open
	tally   Tally
	told    string // the trouble that was told last
	noted   map[string]bool
	served  bool   // some prompt was not too long
	late    []late // prompts that are said to be too long, before any was served
	length  string // what the endpoint says of a prompt that is too long
	spent   error  // a budget has no room for another call
}

// take counts an answer that was kept before.
func (r *run) take(at map[string]int, a Answer) error {
	i, known := at[a.ID]
	if !known {
		return fmt.Errorf("an answer to %q, which is none of the items", a.ID)
	}
	if want := r.plan.ItemSeed(a.ID); a.Seed != 0 && a.Seed != want {
		return fmt.Errorf("the answer to %q was asked with the seed %d; want %d: it is of another plan", a.ID, a.Seed, want)
	}
	r.answers[i] = &a
	r.served = r.served || a.Class() != ClassTooLong
	r.tally.Count(a, r.plan.Price)
	return nil
}

// all asks so many at a time, until all are answered, one meets trouble that will
// not pass, or a budget has no room for another.
func (r *run) all(ctx context.Context) error {
	r.budget = newBudget(r.plan, r.tally)
	r.progress()
	calls, going := errgroup.WithContext(ctx)
	calls.SetLimit(r.plan.Concurrency)
	for i := range r.items {
		if r.answered(i) {
			continue
		}
		if going.Err() != nil || r.isOver() {
			break
		}
		calls.Go(func() error { return r.one(going, i) })
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	if r.spent != nil {
		return r.spent
	}
	if ctx.Err() != nil && !r.complete() {
		return context.Cause(ctx)
	}
	return r.allTooLong()
}

// over notes that a budget has no room for another call.
func (r *run) over(spent error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent = spent
}

func (r *run) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spent != nil
}

// most is the most that one call for an item can use. Endpoints count a prompt
// differently, but hardly a token for every byte of it.
func (r *run) most(i int) Answer {
	prompt := len(r.items[i].Prompt)
	for _, m := range r.plan.Request.Messages {
		prompt += len(m.Content)
	}
	return Answer{PromptTokens: prompt, CompletionTokens: r.plan.Request.MaxTokens}
}

func (r *run) progress() {
	if r.watch.Answered != nil {
		r.watch.Answered(r.tally.Answered, len(r.items), r.tally)
	}
}

func (r *run) answered(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[i] != nil
}

func (r *run) complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally.Answered == len(r.items)
}

// waiting tells trouble once for all calls that meet it.
func (r *run) waiting(wait time.Duration, t *endpoint.Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watch.Waiting == nil || r.told == t.Reason {
		return
	}
	r.told = t.Reason
	r.watch.Waiting(wait, t)
}
