package endpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"floe/internal/ending"
	"floe/internal/experiment"
)

// Roles of messages.
const (
	RoleUser      = openai.ChatMessageRoleUser
	RoleAssistant = openai.ChatMessageRoleAssistant
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
	FinishReason      string // as the endpoint says, or one of package ending's
	// Tokens as the endpoint counts them. Where it counts none they are estimated,
	// also for a call that broke after the endpoint had begun: it may be charged. A
	// call that was not served has none.
	PromptTokens     int
	CompletionTokens int    // reasoning included
	Server           string // what answered, as it named itself: model, fingerprint, Server header
	At               time.Time
	Latency          time.Duration
	Unsent           []string // settings that were asked for and that the endpoint does not take, such as "temperature 0.7"
	Learned          string   // a sentence, if this call found out which settings the endpoint takes
}

// Call asks once. Where the endpoint refuses a setting that not every model takes, the
// question is put again without it.
func (e Endpoint) Call(ctx context.Context, r Request) (Reply, *Trouble) {
	asked, loads := ctx, e.loads()
	ctx, cancel := context.WithTimeout(ctx, e.Clock.Call)
	defer cancel()
	start := e.Clock.Now()
	f, first := e.form(r.Model), true
	for {
		reply, x, trouble := e.once(ctx, r, f)
		if next, ok := f.without(e, r, x); ok {
			f, first = next, false
			continue
		}
		if trouble == nil {
			reply.Unsent = f.unsent(r)
			if !first {
				reply.Learned = e.learn(r.Model, f)
			}
		}
		reply.At, reply.Latency = start, e.Clock.Now().Sub(start)
		return e.kept(asked, r, loads, x.status, reply, trouble)
	}
}

// once asks in one form.
func (e Endpoint) once(ctx context.Context, r Request, f form) (Reply, *exchange, *Trouble) {
	x := e.exchange(ctx, r, f)
	got, trouble := e.judge(r, x)
	reply := Reply{
		Request: e.Scrub(string(x.request)), Response: e.scrubBody(string(x.response)),
		Server: e.Scrub(strings.Join(present(got.model, got.fingerprint, x.server), " · ")),
	}
	switch {
	case trouble == nil:
		e.fill(&reply, got)
	case trouble.Served:
		reply.PromptTokens, reply.CompletionTokens = got.tokens(Estimate(reply.Request), Estimate(reply.Response))
	}
	return reply, x, trouble
}

func (r Request) messages() []openai.ChatCompletionMessage {
	messages := make([]openai.ChatCompletionMessage, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = openai.ChatCompletionMessage{Role: m.Role, Content: m.Content}
	}
	return messages
}

// fields are the settings that must reach the endpoint exactly. The client
// library's type drops zeros, and a temperature of 0 with them, so they are written
// into the body.
func (r Request) fields(f form) map[string]any {
	fields := map[string]any{f.tokens: r.MaxTokens}
	for name, value := range r.optional() {
		if !f.omits(name) {
			fields[name] = value
		}
	}
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
	return fields
}

// Seed is a name's seed as endpoints take it: 31 bits, which all of them do.
func Seed(name string) int {
	s := experiment.Seed(name, "model")
	return int(binary.LittleEndian.Uint32(s[:4]) >> 1)
}

// Estimate counts a text's tokens where the endpoint does not: four bytes each, the
// usual rule for English.
func Estimate(text string) int { return (len(text) + 3) / 4 }

// fill takes over a whole reply. Where the endpoint counts no tokens they are
// estimated, so that budgets hold all the same.
func (e Endpoint) fill(r *Reply, got reading) {
	r.Text, r.Reasoning, r.FinishReason = e.Scrub(got.text), e.Scrub(got.reasoning), e.Scrub(got.finish)
	if r.Text == "" && got.refusal != "" {
		r.Text, r.FinishReason = e.Scrub(got.refusal), ending.Refusal
	}
	r.PromptTokens, r.CompletionTokens = got.tokens(Estimate(r.Request), Estimate(r.Text+r.Reasoning))
}

// Head is the start of a text, at most n bytes of whole runes.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
