package endpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
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
	TopP        float64 // 0 leaves it to the server
	Seed        int
	Stop        []string
	// Thinking switches a model's thinking on or off where its chat template can;
	// nil leaves it to the server.
	Thinking *bool
	// Schema is a JSON Schema that the endpoint is to hold the reply to; nil for none.
	Schema json.RawMessage
}

// Reply is what came of a call. Request and Response are the bodies as they went
// over the wire. Text, Reasoning and FinishReason are set only where there was no
// trouble. No secret is in any of it.
type Reply struct {
	Request, Response string
	Text              string // as the model wrote it, or its refusal
	Reasoning         string
	FinishReason      string
	// Tokens as the endpoint counts them. Where it counts none they are estimated,
	// also for a call that broke after the endpoint had begun: it may be charged.
	PromptTokens     int
	CompletionTokens int    // reasoning included
	Server           string // what answered, as it named itself: model, fingerprint, Server header
	At               time.Time
	Latency          time.Duration
}

// Call asks once.
func (e Endpoint) Call(ctx context.Context, r Request) (Reply, *Trouble) {
	asked, loads := ctx, e.loads()
	ctx, cancel := context.WithTimeout(ctx, e.Clock.Call)
	defer cancel()
	x := &exchange{endpoint: e, fields: r.fields()}
	start := e.Clock.Now()
	resp, err := e.client(x).CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: r.Model, Messages: r.messages()})
	reply := Reply{
		Request: e.Scrub(string(x.request)), Response: e.scrubBody(string(x.response)),
		Server: e.Scrub(signature(resp, x.server)), At: start, Latency: e.Clock.Now().Sub(start),
	}
	trouble := e.judge(r, x, len(resp.Choices), err)
	switch {
	case trouble == nil:
		e.fill(&reply, resp)
	case x.begun():
		reply.PromptTokens, reply.CompletionTokens = Estimate(reply.Request), Estimate(reply.Response)
	}
	return e.kept(asked, r, loads, x.status, reply, trouble)
}

// signature joins what a server said of itself.
func signature(resp openai.ChatCompletionResponse, server string) string {
	said := slices.DeleteFunc([]string{resp.Model, resp.SystemFingerprint, server}, func(s string) bool { return s == "" })
	return strings.Join(said, " · ")
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
	if len(r.Stop) > 0 {
		fields["stop"] = r.Stop
	}
	if r.Thinking != nil {
		fields["chat_template_kwargs"] = map[string]any{"enable_thinking": *r.Thinking}
	}
	if r.Schema != nil {
		fields["response_format"] = map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": "reply", "strict": true, "schema": r.Schema},
		}
	}
	if fixedSampling(r.Model) {
		fields["max_completion_tokens"] = r.MaxTokens
		return fields
	}
	fields["max_tokens"] = r.MaxTokens
	fields["temperature"] = r.Temperature
	if r.TopP > 0 {
		fields["top_p"] = r.TopP
	}
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
