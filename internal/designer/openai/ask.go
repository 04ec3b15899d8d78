package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/outage"
)

// ask gets one reply, the newest attempt, waiting out trouble that may pass.
// Every call is an attempt, also one that failed. The sentence says that the
// budget forbids a call.
func (c *conversation) ask(ctx context.Context) (spent string, err error) {
	waited := false
	var kept error
	err = c.endpoint.Persist(ctx, c.in.Seed, func() *endpoint.Trouble {
		var room int
		if room, spent = c.room(); spent != "" {
			return nil
		}
		if waited {
			c.tell("asking " + c.model + " at " + c.endpoint.Host() + " again")
		}
		var trouble *endpoint.Trouble
		trouble, kept = c.call(ctx, room)
		if kept != nil {
			return nil // what cannot be recorded must not be repeated
		}
		return trouble
	}, func(wait time.Duration, t *endpoint.Trouble) {
		waited = true
		c.tell(fmt.Sprintf("waiting %s: %s", wait.Round(time.Second/10), t.Reason))
	})
	if kept != nil {
		return "", kept
	}
	return spent, inDesignersWords(err)
}

// inDesignersWords says what the caller may do about trouble. An outage stays one.
func inDesignersWords(err error) error {
	t, met := errors.AsType[*endpoint.Trouble](err)
	if !met {
		return err
	}
	if t.Final {
		return &designer.FinalError{Reason: t.Reason}
	}
	away := &designer.UnavailableError{Reason: t.Reason, RetryAfter: t.After}
	if o, ok := outage.As(err); ok {
		return &outage.Error{Service: o.Service, Err: away, After: o.After}
	}
	return away
}

// call makes one call and keeps it as an attempt. A call that was served and brought
// no reply is recorded at once, any other once its reply was read.
func (c *conversation) call(ctx context.Context, room int) (*endpoint.Trouble, error) {
	r, trouble := c.endpoint.Call(ctx, c.request(room))
	a := experiment.Attempt{
		Request: r.Request, Response: r.Response, Reply: r.Text, Reasoning: r.Reasoning, FinishReason: r.FinishReason,
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, Cost: c.cost(r),
		LatencyMS: r.Latency.Milliseconds(), Server: r.Server, At: r.At.UTC().Format(time.RFC3339), Trace: c.sent(r),
	}
	if trouble == nil {
		c.attempts = append(c.attempts, a)
		return nil, nil
	}
	a.Class, a.Fault = string(designer.ClassUnavailable), trouble.Reason
	c.attempts = append(c.attempts, a)
	if !designer.WasServed(a) {
		return trouble, nil
	}
	return trouble, c.in.Record(a)
}

// sent says what of the settings did not reach the model.
func (c *conversation) sent(r endpoint.Reply) []string {
	var lines []string
	if r.Learned != "" {
		lines = append(lines, r.Learned+".")
	}
	if len(r.Unsent) > 0 {
		lines = append(lines, fmt.Sprintf("Not sent, as %s does not take it: %s.", c.endpoint.Host(), strings.Join(r.Unsent, ", ")))
	}
	for _, l := range lines {
		c.tell(l)
	}
	return lines
}

func (c *conversation) request(room int) endpoint.Request {
	spec := c.in.Spec
	r := endpoint.Request{
		Model: c.model, Messages: c.messages, MaxTokens: room, Temperature: spec.Temperature, Seed: endpoint.Seed(c.in.Seed), Stop: spec.Stop,
	}
	if spec.Thinking == thinkingOn || spec.Thinking == thinkingOff {
		on := spec.Thinking == thinkingOn
		r.Thinking = &on
	}
	if spec.Structured == structuredSchema {
		r.Schema = designer.Schema(c.in.Space)
	}
	return r
}

// Settings of a spec that change a request.
const (
	thinkingOn       = "on"
	thinkingOff      = "off"
	structuredSchema = "json_schema"
)
