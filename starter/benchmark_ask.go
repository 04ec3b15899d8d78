package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/pause"
)

// Bounds of asking: thousands of tokens take a busy server a while, and a person
// who waits for hours wants a restarted server to be waited for.
const (
	benchCall     = 30 * time.Minute // where the endpoints file has no timeout
	benchPatience = 10 * time.Minute
)

// ask asks all tasks that have no answer. Stopped says that a budget forbids to go
// on.
func (b *bench) ask(ctx context.Context, place endpoint.Place, f benchFlags) (stopped, err error) {
	journal, err := b.openJournal()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.close()) }()
	server := place.Endpoint
	server.Clock.Call, server.Clock.Patience = cmp.Or(place.Timeout, benchCall), benchPatience
	q := &asking{bench: b, meter: b.app.meter("asking " + b.Model)}
	stop := pause.Every(stillEvery, func(now time.Time) { q.still(server.Service(), now) })
	_, _, err = ask.Run(ctx, server, b.plan(f), b.items(), journal, ask.Watch{Answered: q.answered, Waiting: q.waiting, Noted: q.noted})
	stop()
	q.meter.close()
	return q.ended(ctx, err)
}

// plan is how the tasks are asked. It names no seed, so that a task's is that of
// its ID: the same in every folder.
func (b *bench) plan(f benchFlags) ask.Plan {
	return ask.Plan{
		Request:     endpoint.Request{Model: b.Model, MaxTokens: b.MaxTokens, Temperature: b.Temperature},
		Concurrency: f.concurrency, MaxTokens: f.mostTokens, Price: b.price, MaxCost: ask.Money(f.mostMoney),
	}
}

// items are the tasks of all sets, so that one budget is over all of them.
func (b *bench) items() []ask.Item {
	var items []ask.Item
	for _, set := range b.sets {
		items = append(items, ask.Tasks(set.tasks())...)
	}
	return items
}

// asking shows a person how the asking of a folder goes.
type asking struct {
	*bench
	meter *meter

	mu          sync.Mutex // guards what follows
	begun       bool       // the answers that were kept before are read
	done, total int
	trouble     string    // that is being waited out; empty: none
	since       time.Time // when it began
}

func (q *asking) answered(done, total int, _ ask.Tally) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.begun && done > 0 && done < total {
		q.app.say("resuming in %s: %d of %d tasks answered", q.dir, done, total)
	}
	if q.begun {
		q.meter.show(done, total)
	}
	q.begun, q.done, q.total, q.trouble = true, done, total, ""
}

func (q *asking) waiting(wait time.Duration, t *endpoint.Trouble) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.trouble == "" {
		q.since = time.Now()
	}
	q.trouble = t.Reason
	q.meter.close() // the bar comes back with the next answer
	q.app.say("waiting %s: %s", wait.Round(time.Second/10), t.Reason)
}

func (q *asking) noted(sentence string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.meter.close()
	q.app.say("%s", sentence)
}

// Between two lines that say what is still being waited for.
const stillEvery = 30 * time.Second

// still says what is being waited for, if anything is.
func (q *asking) still(service string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.trouble == "" {
		return
	}
	q.app.say("%d of %d: waiting for %s since %s (%s): %s",
		q.done, q.total, service, q.since.Format("15:04"), now.Sub(q.since).Round(time.Second), q.trouble)
}

// largerOf is the flag that lets a spent budget go on.
func largerOf(spent *ask.SpentError) string {
	if spent.What == "money" {
		return "--max-cost"
	}
	return "--max-cost-tokens"
}

// ended says what became of the answers so far, and gives trouble its code.
func (q *asking) ended(ctx context.Context, err error) (stopped, failed error) {
	kept := fmt.Sprintf("%d of %d answers are kept in %s", q.done, q.total, q.dir)
	spent, over := errors.AsType[*ask.SpentError](err)
	trouble, met := errors.AsType[*endpoint.Trouble](err)
	switch {
	case err == nil || !q.begun: // not begun: what is in the folder cannot be gone on with
		return nil, err
	case ctx.Err() != nil:
		q.app.say("interrupted; %s; the same command goes on", kept)
		return nil, ctx.Err()
	case over:
		return fail(exitFailed, "%w; %s; the same command with a larger %s goes on", err, kept, largerOf(spent)), nil
	case met && !trouble.Final:
		return nil, fail(exitUnreachable, "%s: %w; %s; the same command goes on", q.Model, err, kept)
	}
	return nil, fail(exitFailed, "%s: %w; %s; the same command goes on", q.Model, err, kept)
}
