package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"floe/internal/designer"
	"floe/internal/experiment"
)

// ask gets one reply, the newest attempt, waiting out trouble that may pass.
// Every call is an attempt, also one that failed. The sentence says that the
// budget forbids a call.
func (c *conversation) ask(ctx context.Context) (spent string, err error) {
	start := c.clock.now()
	for try := 1; ; try++ {
		room, spent := c.room()
		if spent != "" {
			return spent, nil
		}
		trouble := c.call(ctx, room)
		if trouble == nil {
			return "", nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if trouble.final {
			return "", &designer.FinalError{Reason: trouble.reason}
		}
		wait := c.backoff(try, trouble)
		if c.clock.now().Sub(start)+wait > c.clock.patience {
			return "", c.unavailable(try, trouble)
		}
		c.tell(fmt.Sprintf("waiting %s: %s", wait.Round(time.Second/10), trouble.reason))
		if err := c.clock.sleep(ctx, wait); err != nil {
			return "", context.Cause(ctx)
		}
		c.tell("asking " + c.model + " at " + c.endpoint.host + " again")
	}
}

func (c *conversation) unavailable(tries int, t *trouble) error {
	return &designer.UnavailableError{
		Reason:     fmt.Sprintf("%s (tried %d times)", t.reason, tries),
		RetryAfter: t.after,
	}
}

// backoff is what the endpoint asks for, or else doubles from 1 s to 30 s, with
// up to half of it taken off so that arms of a sweep do not knock together.
func (c *conversation) backoff(try int, t *trouble) time.Duration {
	if t.after > 0 {
		return t.after
	}
	full := min(30*time.Second, time.Second<<min(try-1, 10))
	jitter := experiment.Rand(c.in.Seed, "backoff", strconv.Itoa(try)).Float64()
	return full - time.Duration(jitter*float64(full)/2)
}

// call makes one call and keeps it as an attempt.
func (c *conversation) call(ctx context.Context, room int) *trouble {
	ctx, cancel := context.WithTimeout(ctx, c.clock.call)
	defer cancel()
	x := &exchange{endpoint: c.endpoint, fields: c.fields(room)}
	start := c.clock.now()
	resp, err := c.endpoint.client(x).CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: c.model, Messages: c.messages})
	a := experiment.Attempt{
		Request:   c.endpoint.scrub(string(x.request)),
		Response:  c.endpoint.scrub(string(x.response)),
		LatencyMS: c.clock.now().Sub(start).Milliseconds(),
	}
	trouble := c.endpoint.judge(c.model, x, len(resp.Choices), err)
	if trouble != nil {
		a.Class, a.Fault = classUnavailable, trouble.reason
	} else {
		c.fill(&a, resp)
	}
	c.attempts = append(c.attempts, a)
	return trouble
}

// classUnavailable marks an attempt that brought no reply to read.
const classUnavailable = "unavailable"

// fields are the settings that must reach the endpoint exactly. The client
// library drops zeros, and a temperature of 0 with them, so the exchange writes
// them into the body.
func (c *conversation) fields(room int) map[string]any {
	fields := map[string]any{"seed": c.seed()}
	if fixedSampling(c.model) {
		fields["max_completion_tokens"] = room
		return fields
	}
	fields["max_tokens"] = room
	fields["temperature"] = c.in.Spec.Temperature
	return fields
}

// fixedSampling says whether a model is one of OpenAI's that take
// max_completion_tokens instead of max_tokens, and no temperature.
func fixedSampling(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// fill takes a reply apart. Where the endpoint counts no tokens they are
// estimated, so that the budget holds all the same.
func (c *conversation) fill(a *experiment.Attempt, resp openai.ChatCompletionResponse) {
	choice := resp.Choices[0]
	a.Reply = c.endpoint.scrub(content(choice.Message))
	a.Reasoning = c.endpoint.scrub(reasoning(a.Response))
	a.FinishReason = string(choice.FinishReason)
	if a.Reply == "" && choice.Message.Refusal != "" {
		a.Reply, a.FinishReason = c.endpoint.scrub(choice.Message.Refusal), "refusal"
	}
	a.PromptTokens, a.CompletionTokens = resp.Usage.PromptTokens, resp.Usage.CompletionTokens
	if a.PromptTokens+a.CompletionTokens <= 0 {
		a.PromptTokens, a.CompletionTokens = estimate(a.Request), estimate(a.Reply+a.Reasoning)
	}
}

// content is a message's text; some servers send it in parts.
func content(m openai.ChatCompletionMessage) string {
	var text strings.Builder
	text.WriteString(m.Content)
	for _, part := range m.MultiContent {
		text.WriteString(part.Text)
	}
	return text.String()
}

// reasoning takes what a model thought from a raw response: reasoning_content,
// or reasoning as vLLM calls it now and the client library does not know it.
func reasoning(response string) string {
	var body struct {
		Choices []struct {
			Message struct {
				Reasoning        json.RawMessage `json:"reasoning"`
				ReasoningContent json.RawMessage `json:"reasoning_content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal([]byte(response), &body) != nil || len(body.Choices) == 0 {
		return ""
	}
	m := body.Choices[0].Message
	first, second := plain(m.ReasoningContent), plain(m.Reasoning)
	if first == "" || first == second {
		return second
	}
	return strings.TrimSpace(first + "\n\n" + second)
}

// plain is a JSON string's text; anything else stays JSON, and null is nothing.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s // null too
	}
	return string(raw)
}
