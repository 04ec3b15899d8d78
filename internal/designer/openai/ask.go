package openai

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/experiment"
)

// ask gets one reply, the newest attempt, waiting out trouble that may pass.
// Every call is an attempt, also one that failed. The sentence says that the
// budget forbids a call.
func (c *conversation) ask(ctx context.Context) (spent string, err error) {
	waited := false
	err = c.endpoint.Clock.Persist(ctx, c.in.Seed, func() *endpoint.Trouble {
		var room int
		if room, spent = c.room(); spent != "" {
			return nil
		}
		if waited {
			c.tell("asking " + c.model + " at " + c.endpoint.Host() + " again")
		}
		return c.call(ctx, room)
	}, func(wait time.Duration, t *endpoint.Trouble) {
		waited = true
		c.tell(fmt.Sprintf("waiting %s: %s", wait.Round(time.Second/10), t.Reason))
	})
	if trouble, ok := errors.AsType[*endpoint.Trouble](err); ok {
		return "", inDesignersWords(trouble)
	}
	return spent, err
}

// inDesignersWords says what the caller may do about trouble.
func inDesignersWords(t *endpoint.Trouble) error {
	if t.Final {
		return &designer.FinalError{Reason: t.Reason}
	}
	return &designer.UnavailableError{Reason: t.Reason, RetryAfter: t.After}
}

// call makes one call and keeps it as an attempt.
func (c *conversation) call(ctx context.Context, room int) *endpoint.Trouble {
	r, trouble := c.endpoint.Call(ctx, endpoint.Request{
		Model: c.model, Messages: c.messages, MaxTokens: room, Temperature: c.in.Spec.Temperature, Seed: endpoint.Seed(c.in.Seed),
	})
	a := experiment.Attempt{
		Request: r.Request, Response: r.Response, Reply: r.Text, Reasoning: r.Reasoning, FinishReason: r.FinishReason,
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, LatencyMS: r.Latency.Milliseconds(),
	}
	if trouble != nil {
		a.Class, a.Fault = classUnavailable, trouble.Reason
	}
	c.attempts = append(c.attempts, a)
	return trouble
}

// classUnavailable marks an attempt that brought no reply to read.
const classUnavailable = "unavailable"
