package endpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"floe/internal/experiment"
)

// Roles of messages.
const (
	RoleUser      = openai.ChatMessageRoleUser
	RoleAssistant = openai.ChatMessageRoleAssistant
)

// Reasons to end a reply, as the protocol names them; FinishRefusal is ours, for
// a message that is nothing but a refusal.
const (
	FinishLength  = string(openai.FinishReasonLength)
	FinishFilter  = string(openai.FinishReasonContentFilter)
	FinishRefusal = "refusal"
)

// Message is one turn of a conversation.
type Message struct{ Role, Content string }

// Request is one question.
type Request struct {
	Model       string
	Messages    []Message
	MaxTokens   int
	Temperature float64 // 0 is really sent
	Seed        int
}

// Reply is what came of a call. Request and Response are the bodies as they went
// over the wire; the rest is set only where there was no trouble. No secret is in
// any of it.
type Reply struct {
	Request, Response string
	Text              string // as the model wrote it, or its refusal
	Reasoning         string
	FinishReason      string
	PromptTokens      int
	CompletionTokens  int // reasoning included
	Latency           time.Duration
}

// Call asks once.
func (e Endpoint) Call(ctx context.Context, r Request) (Reply, *Trouble) {
	ctx, cancel := context.WithTimeout(ctx, e.Clock.Call)
	defer cancel()
	x := &exchange{endpoint: e, fields: r.fields()}
	start := e.Clock.Now()
	resp, err := e.client(x).CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: r.Model, Messages: r.messages()})
	reply := Reply{
		Request: e.Scrub(string(x.request)), Response: e.Scrub(string(x.response)), Latency: e.Clock.Now().Sub(start),
	}
	trouble := e.judge(r.Model, x, len(resp.Choices), err)
	if trouble == nil {
		e.fill(&reply, resp)
	}
	return reply, trouble
}

func (r Request) messages() []openai.ChatCompletionMessage {
	messages := make([]openai.ChatCompletionMessage, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = openai.ChatCompletionMessage{Role: m.Role, Content: m.Content}
	}
	return messages
}

// fields are the settings that must reach the endpoint exactly. The client
// library drops zeros, and a temperature of 0 with them, so the exchange writes
// them into the body.
func (r Request) fields() map[string]any {
	fields := map[string]any{"seed": r.Seed}
	if fixedSampling(r.Model) {
		fields["max_completion_tokens"] = r.MaxTokens
		return fields
	}
	fields["max_tokens"] = r.MaxTokens
	fields["temperature"] = r.Temperature
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

// Seed is a name's seed as endpoints take it: 31 bits, which all of them do.
func Seed(name string) int {
	s := experiment.Seed(name, "model")
	return int(binary.LittleEndian.Uint32(s[:4]) >> 1)
}

// Estimate counts a text's tokens where nobody else does: four bytes each, the
// usual rule for English.
func Estimate(text string) int { return (len(text) + 3) / 4 }

// fill takes a reply apart. Where the endpoint counts no tokens they are
// estimated, so that budgets hold all the same.
func (e Endpoint) fill(r *Reply, resp openai.ChatCompletionResponse) {
	choice := resp.Choices[0]
	r.Text = e.Scrub(content(choice.Message))
	r.Reasoning = e.Scrub(reasoning(r.Response))
	r.FinishReason = string(choice.FinishReason)
	if r.Text == "" && choice.Message.Refusal != "" {
		r.Text, r.FinishReason = e.Scrub(choice.Message.Refusal), FinishRefusal
	}
	r.PromptTokens, r.CompletionTokens = resp.Usage.PromptTokens, resp.Usage.CompletionTokens
	if r.PromptTokens+r.CompletionTokens <= 0 {
		r.PromptTokens, r.CompletionTokens = Estimate(r.Request), Estimate(r.Text+r.Reasoning)
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

// Head is the start of a text, at most n bytes of whole runes.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
