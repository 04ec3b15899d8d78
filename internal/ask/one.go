package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"floe/internal/ending"
	"floe/internal/endpoint"
)

// try is one item being asked, within the room that the budget holds for one call.
type try struct {
	*run
	most Answer
	held bool
	used Answer // by the last call
	a    Answer
}

// one asks an item until it is answered, and keeps its answer.
func (r *run) one(ctx context.Context, i int) error {
	item := r.items[i]
	t := &try{run: r, most: r.most(i), a: Answer{ID: item.ID, Seed: r.plan.ItemSeed(item.ID)}}
	defer t.settle()
	q := r.plan.Request
	q.Messages = append(slices.Clip(q.Messages), endpoint.Message{Role: endpoint.RoleUser, Content: item.Prompt})
	q.Seed = t.a.Seed
	err := r.endpoint.Persist(ctx, r.plan.Seed+"/"+item.ID, func() *endpoint.Trouble { return t.call(ctx, q) }, r.waiting)
	if err != nil {
		return fmt.Errorf("ask %s: %w", item.ID, err)
	}
	if !t.held {
		return nil // the budget has no room
	}
	return r.keep(ctx, i, t.a)
}

// call asks once.
func (t *try) call(ctx context.Context, q endpoint.Request) *endpoint.Trouble {
	if !t.hold() {
		return nil
	}
	reply, trouble := t.endpoint.Call(ctx, q)
	t.note(reply)
	t.used = Answer{PromptTokens: reply.PromptTokens, CompletionTokens: reply.CompletionTokens}
	t.a.SpentTokens += t.used.spent()
	t.a.LatencyMS = reply.Latency.Milliseconds()
	switch {
	case trouble == nil:
		t.a.take(reply)
	case trouble.Filtered:
		t.a.FinishReason = ending.Filter
	case trouble.TooLong:
		t.a.FinishReason = ending.Longer
		t.lengthy(trouble.Reason)
	default:
		return trouble
	}
	return nil
}

// hold makes room for a call, also where the last one was charged and brought nothing.
func (t *try) hold() bool {
	if t.held && t.used.spent() == 0 {
		return true
	}
	t.settle()
	if spent := t.budget.hold(t.most); spent != nil {
		t.over(spent)
		return false
	}
	t.held = true
	return true
}

func (t *try) settle() {
	if t.held {
		t.budget.settle(t.most, t.used)
	}
	t.held, t.used = false, Answer{}
}

// late is an item whose prompt is said to be too long.
type late struct {
	i int
	a Answer
}

// mostLate prompts that are too long, and not one that is not, are no trouble of these
// prompts: the model's context, or the room for an answer, is set wrong.
const mostLate = 16

// keep puts an answer into the journal. That a prompt is too long is believed once any
// other was served.
func (r *run) keep(ctx context.Context, i int, a Answer) error {
	r.mu.Lock()
	all := append(r.late, late{i, a})
	if r.served = r.served || a.Class() != ClassTooLong; r.served {
		r.late = nil
	} else {
		r.late, all = all, nil
	}
	r.mu.Unlock()
	for _, l := range all {
		// It was paid for: it is kept even where asking has been given up meanwhile.
		if err := r.journal.Add(context.WithoutCancel(ctx), l.a); err != nil {
			return fmt.Errorf("keep the answer to %s: %w", l.a.ID, err)
		}
		r.count(l.i, l.a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late) < mostLate {
		return nil
	}
	return r.tooLong()
}

// allTooLong is an error if no prompt was served.
func (r *run) allTooLong() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late) == 0 {
		return nil
	}
	return r.tooLong()
}

func (r *run) tooLong() error {
	return &endpoint.Trouble{Final: true, TooLong: true, Reason: fmt.Sprintf(
		"all %d prompts so far are refused as too long with room for an answer of %d tokens; "+
			"serve the model with a longer context, or ask for shorter answers. %s", len(r.late), r.plan.Request.MaxTokens, r.length)}
}

// lengthy remembers what the endpoint says of a prompt's length.
func (r *run) lengthy(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.length = reason
}

func (r *run) count(i int, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[i], r.told = &a, ""
	r.tally.Count(a, r.plan.Price)
	if r.watch.Answered != nil {
		r.watch.Answered(r.tally.Answered, len(r.items), r.tally)
	}
}

// note tells what a call found out about the endpoint.
func (r *run) note(reply endpoint.Reply) {
	sentences := []string{reply.Learned}
	if len(reply.Unsent) > 0 {
		sentences = append(sentences, "not sent, as the endpoint does not take it: "+strings.Join(reply.Unsent, ", "))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range sentences {
		if s != "" && !r.noted[s] && r.watch.Noted != nil {
			r.noted[s] = true
			r.watch.Noted(s)
		}
	}
}
