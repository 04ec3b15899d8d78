package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"floe/internal/endpoint"
)

// Bounds of asking: thousands of tokens take a busy server a while, and a person
// who waits for hours wants a restarted server to be waited for.
const (
	benchCall     = 30 * time.Minute
	benchPatience = 10 * time.Minute
)

// asking is the asking of one folder's open tasks.
type asking struct {
	*bench
	server endpoint.Endpoint
	budget *endpoint.Budget
	flags  benchFlags
	logs   []*answerLog // by set
	open   []unasked

	mu    sync.Mutex // guards what follows
	meter *meter
	done  int
	total int
	told  string // the trouble that was told last
}

type unasked struct{ set, item int }

// ask asks all tasks that have no answer. Stopped says that the budget forbids to
// go on.
func (b *bench) ask(ctx context.Context, server endpoint.Endpoint, f benchFlags) (stopped, err error) {
	server.Clock.Call, server.Clock.Patience = benchCall, benchPatience
	q := &asking{bench: b, server: server, flags: f}
	defer func() { err = errors.Join(err, q.close()) }()
	if err := q.resume(); err != nil {
		return nil, err
	}
	if len(q.open) == 0 {
		return nil, nil
	}
	if q.done > 0 {
		b.app.say("going on in %s: %d of %d tasks are answered", b.dir, q.done, q.total)
	}
	spent, err := q.all(ctx)
	switch {
	case ctx.Err() != nil:
		b.app.say("interrupted; %s; the same command goes on", q.kept())
		return nil, ctx.Err()
	case err != nil:
		return nil, q.explained(err)
	case spent:
		return fail(exitFailed, "the budget of %d tokens is used up (%d used, a call may take more than is left); %s; the same command with a larger --max-cost-tokens goes on",
			f.maxCost, q.budget.Used(), q.kept()), nil
	}
	return nil, nil
}

func (q *asking) kept() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return fmt.Sprintf("%d of %d answers are kept in %s", q.done, q.total, q.dir)
}

// explained says what became of the answers so far, and gives trouble its code.
func (q *asking) explained(err error) error {
	code := exitFailed
	if trouble, ok := errors.AsType[*endpoint.Trouble](err); ok && !trouble.Final {
		code = exitUnreachable
	}
	return fail(code, "ask %s: %w; %s; the same command goes on", q.Model, err, q.kept())
}

// resume finds what is open and what was used, and opens the logs.
func (q *asking) resume() error {
	var used int64
	for i, set := range q.sets {
		answered := make([]bool, len(set.items))
		whole, err := q.answers(set, func(item int, a benchAnswer) error {
			answered[item] = true
			used += int64(a.PromptTokens) + int64(a.CompletionTokens)
			return nil
		})
		if err != nil {
			return err
		}
		log, err := q.openLog(set, whole)
		if err != nil {
			return err
		}
		q.logs = append(q.logs, log)
		q.total += len(set.items)
		for item, is := range answered {
			if is {
				q.done++
			} else {
				q.open = append(q.open, unasked{i, item})
			}
		}
	}
	q.budget = endpoint.NewBudget(q.flags.maxCost, used)
	return nil
}

// all asks so many at a time, until all are answered, one meets trouble that will
// not pass, or the budget has no room for another.
func (q *asking) all(ctx context.Context) (spent bool, err error) {
	q.meter = q.app.meter("asking " + q.Model)
	defer func() { q.meter.close() }()
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(q.flags.concurrency)
	for _, t := range q.open {
		most := q.most(t)
		if ctx.Err() != nil {
			break
		}
		if spent = !q.budget.Hold(most); spent {
			break
		}
		calls.Go(func() error {
			used, err := q.one(ctx, t)
			q.budget.Settle(most, used)
			return err
		})
	}
	return spent, calls.Wait()
}

// most is what asking a task can use. Endpoints count a prompt differently, but
// hardly a token for every byte of it.
func (q *asking) most(t unasked) int64 {
	return int64(len(q.sets[t.set].items[t.item].Prompt)) + int64(q.MaxTokens)
}

// one asks a task and keeps its answer.
func (q *asking) one(ctx context.Context, t unasked) (used int64, err error) {
	item := q.sets[t.set].items[t.item]
	request := endpoint.Request{
		Model: q.Model, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: item.Prompt}},
		MaxTokens: q.MaxTokens, Temperature: q.Temperature, Seed: endpoint.Seed(item.ID),
	}
	var r endpoint.Reply
	err = q.server.Clock.Persist(ctx, item.ID, func() (trouble *endpoint.Trouble) {
		r, trouble = q.server.Call(ctx, request)
		if trouble != nil && trouble.Filtered {
			r.FinishReason = endpoint.FinishFilter
			return nil
		}
		return trouble
	}, q.waiting)
	if err != nil {
		return 0, err
	}
	err = q.logs[t.set].add(benchAnswer{
		ID: item.ID, Answer: r.Text, Reasoning: r.Reasoning, FinishReason: r.FinishReason,
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, LatencyMS: r.Latency.Milliseconds(),
	})
	if err != nil {
		return 0, fmt.Errorf("keep the answer to %s: %w", item.ID, err)
	}
	q.answered()
	return int64(r.PromptTokens) + int64(r.CompletionTokens), nil
}

func (q *asking) answered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done++
	q.told = ""
	q.meter.show(q.done, q.total)
}

// waiting tells trouble once for all calls that meet it.
func (q *asking) waiting(wait time.Duration, t *endpoint.Trouble) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.told == t.Reason {
		return
	}
	q.told = t.Reason
	q.meter.close() // the bar comes back with the next answer
	q.app.say("waiting %s: %s", wait.Round(time.Second/10), t.Reason)
}

func (q *asking) close() error {
	var errs []error
	for _, l := range q.logs {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
