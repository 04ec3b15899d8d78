package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/experiment"
)

// Runner asks what a plan says.
type Runner struct {
	Plan
	Steps       artifact.Steps
	Designer    func(experiment.DesignerSpec) (designer.Designer, error)
	Concurrency int // answers at one time
	// MaxTokens and MaxCost bound the whole replay, answers that are there already
	// included; 0 bounds nothing. An answer is asked for only if the most that it
	// can use is left.
	MaxTokens int64
	MaxCost   float64
	// Tell hears how far the replay is and what a designer waits for. May be nil.
	Tell func(done, total int, note string)
}

// Priced is a designer that knows what its calls cost.
type Priced interface {
	// Price is the money for so many tokens; false if prices are not known.
	Price(promptTokens, replyTokens int) (money float64, known bool)
}

// answers are what has come, by cell and draw.
type answers [][]*answer

type answer struct {
	seed       string
	id         experiment.StepID
	transcript experiment.Transcript
}

// Reached is a designer that can say, at no cost, whether its model is there.
type Reached interface {
	Reach(ctx context.Context) error
}

// Run asks until all is answered, trouble ends it, or the budget has no room for
// another answer, which stopped says in a sentence. The result holds what there is
// in any case.
func (r Runner) Run(ctx context.Context) (result Result, stopped string, err error) {
	run := &running{Runner: r, got: make(answers, len(r.Cells))}
	for i := range run.got {
		run.got[i] = make([]*answer, r.N)
	}
	if err := run.open(); err != nil {
		return Result{}, "", err
	}
	open, err := run.resume(ctx)
	if err != nil {
		return Result{}, "", err
	}
	if err := run.reach(ctx, open); err != nil {
		return Result{}, "", err
	}
	stopped, err = run.all(ctx, open)
	result, failed := r.summarise(run.got)
	if err == nil {
		err = failed
	}
	return result, stopped, err
}

type running struct {
	Runner
	designers []designer.Designer
	tokens    *endpoint.Budget
	money     *endpoint.Budget // in millionths

	mu   sync.Mutex // guards what follows
	got  answers
	done int
}

// open makes every cell's designer, so that what is wrong with one is told before
// any is asked.
func (r *running) open() error {
	for _, c := range r.Cells {
		d, err := r.Designer(c.Spec)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if priced, ok := d.(Priced); ok && r.MaxCost > 0 {
			if _, known := priced.Price(1, 1); !known {
				return &designer.FinalError{Reason: fmt.Sprintf("%s: the money is bounded, and what this model costs is not known: give its endpoint prompt_price and reply_price in the endpoints file", c.Name)}
			}
		}
		r.designers = append(r.designers, d)
	}
	return nil
}

// reach finds out whether the models that are still to be asked are there at all.
func (r *running) reach(ctx context.Context, open []ask) error {
	asked := make([]bool, len(r.Cells))
	for _, a := range open {
		d, ok := r.designers[a.cell].(Reached)
		if !ok || asked[a.cell] {
			continue
		}
		asked[a.cell] = true
		if err := d.Reach(ctx); err != nil {
			return fmt.Errorf("%s: %w", r.Cells[a.cell].Name, err)
		}
	}
	return nil
}

// resume finds what is answered already and what that used.
func (r *running) resume(ctx context.Context) (open []ask, err error) {
	asks, err := r.asks()
	if err != nil {
		return nil, err
	}
	var tokens int64
	var cost float64
	for _, a := range asks {
		m, ok, err := r.Steps.Find(ctx, a.id)
		if err != nil {
			return nil, err
		}
		if !ok {
			open = append(open, a)
			continue
		}
		var t experiment.Transcript
		if err := r.Steps.ReadJSON(ctx, m, File, &t); err != nil {
			return nil, err
		}
		r.keep(a, t)
		used := spent(t)
		tokens, cost = tokens+int64(used.Tokens), cost+used.Cost
	}
	r.tokens = endpoint.NewBudget(r.MaxTokens, tokens)
	r.money = endpoint.NewBudget(micros(r.MaxCost), micros(cost))
	return open, nil
}

func (r *running) keep(a ask, t experiment.Transcript) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[a.cell][a.draw] = &answer{a.seed, a.id, t}
	r.done++
}

func (r *running) tell(note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Tell != nil {
		r.Tell(r.done, r.N*len(r.Cells), note)
	}
}

// all asks so many at a time.
func (r *running) all(ctx context.Context, open []ask) (stopped string, err error) {
	r.tell("")
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(max(1, r.Concurrency))
	for _, a := range open {
		tokens, money, err := r.most(a)
		if err != nil {
			calls.Go(func() error { return err })
			break
		}
		if ctx.Err() != nil {
			break
		}
		if !r.tokens.Hold(tokens) {
			stopped = fmt.Sprintf("the budget of %d tokens has no room for another answer: %d are used, and one may take %d", r.MaxTokens, r.tokens.Used(), tokens)
			break
		}
		if !r.money.Hold(money) {
			r.tokens.Settle(tokens, 0)
			stopped = fmt.Sprintf("the budget of %g has no room for another answer: %g is used, and one may cost %g", r.MaxCost, float64(r.money.Used())/1e6, float64(money)/1e6)
			break
		}
		calls.Go(func() error {
			if ctx.Err() != nil { // another one met trouble while this one waited for its turn
				r.tokens.Settle(tokens, 0)
				r.money.Settle(money, 0)
				return ctx.Err()
			}
			used, cost, err := r.one(ctx, a)
			r.tokens.Settle(tokens, used)
			r.money.Settle(money, cost)
			return err
		})
	}
	return stopped, calls.Wait()
}

// most is what an answer can use: every turn sends the prompt again with what was
// said, and no text has more tokens than bytes. A designer that makes no calls
// uses nothing.
func (r *running) most(a ask) (tokens, money int64, err error) {
	priced, ok := r.designers[a.cell].(Priced)
	if !ok {
		return 0, 0, nil
	}
	spec := r.Cells[a.cell].Spec
	context, err := designer.ContextOf(spec)
	if err != nil {
		return 0, 0, err
	}
	_, prompt, err := designer.Compose(r.Evidence, context)
	if err != nil {
		return 0, 0, err
	}
	turns := spec.Repairs + 1
	sent := turns*len(prompt) + turns*(turns-1)/2*longestTurn
	cost, _ := priced.Price(sent, turns*spec.MaxTokens)
	return int64(sent + turns*spec.MaxTokens), micros(cost), nil
}

// longestTurn bounds, in bytes, what one turn adds to a conversation: a reply of
// which the start is quoted, and its faults.
const longestTurn = 12000

// one asks once and keeps the answer as a step, unless another replay is at the
// same answer: then it waits for that one's. What was used counts also if the
// answer never comes.
func (r *running) one(ctx context.Context, a ask) (tokens, money int64, err error) {
	h, m, done, err := r.Steps.Claim(ctx, a.id, r.claimant(), func(l artifact.Lease) {
		r.tell("waiting for another replay on " + l.Owner.Host + ", which asks the same")
	})
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", r.Cells[a.cell].Name, err)
	}
	if done { // it counts like one that was there from the start
		t, err := r.adopt(ctx, a, m)
		used := spent(t)
		return int64(used.Tokens), micros(used.Cost), err
	}
	return r.ask(h, a) //nolint:contextcheck // the hold's context is ctx, and ends also when the hold is lost
}

// ask has the designer of an answer that this replay holds asked.
func (r *running) ask(h *artifact.Hold, a ask) (tokens, money int64, err error) {
	defer h.Release()
	ctx := h.Context()
	var mu sync.Mutex
	var cost float64
	started := time.Now().UTC()
	t, err := designer.Design(ctx, r.designers[a.cell], r.Cells[a.cell].Spec, r.Evidence, designer.Limits{
		Seed: a.seed, Calls: math.MaxInt32, Tokens: math.MaxInt32, Feasible: r.Feasible,
		Record: func(call experiment.Attempt) error {
			mu.Lock()
			defer mu.Unlock()
			tokens += int64(call.PromptTokens) + int64(call.CompletionTokens)
			cost += call.Cost
			return nil
		},
		Beat: func(note string) { r.tell(note) },
	})
	if err != nil {
		return tokens, micros(cost), fmt.Errorf("%s: %w", r.Cells[a.cell].Name, err)
	}
	body, err := artifact.JSON(File, t)
	if err != nil {
		return tokens, micros(cost), err
	}
	m, err := h.Commit(ctx, a.inputs, started, []artifact.Body{body})
	if err == nil {
		_, err = r.adopt(ctx, a, m)
	}
	return tokens, micros(cost), err
}

// adopt takes an answer from the store, whoever asked for it.
func (r *running) adopt(ctx context.Context, a ask, m artifact.Manifest) (t experiment.Transcript, err error) {
	if err := r.Steps.ReadJSON(ctx, m, File, &t); err != nil {
		return t, err
	}
	r.keep(a, t)
	r.tell("")
	return t, nil
}

// claimant is one try at an answer; no other has its name.
func (r *running) claimant() artifact.Claimant {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	name := "replay-" + hex.EncodeToString(b[:])
	return artifact.Claimant{Experiment: r.Experiment, Round: r.Evidence.Round, Work: name, Try: 1, Host: r.Steps.Host, Attempt: name}
}

// spent is what an answer used. Calls that were not served are none.
func spent(t experiment.Transcript) designer.Served {
	var used designer.Served
	for _, a := range t.Attempts {
		used.Add(a)
	}
	return used
}

func micros(money float64) int64 { return int64(math.Ceil(money * 1e6)) }
