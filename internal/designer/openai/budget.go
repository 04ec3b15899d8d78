package openai

import (
	"fmt"

	"floe/internal/designer"
	"floe/internal/endpoint"
)

// shortestReply is the least room, in tokens, that is worth a call.
const shortestReply = 16

// room says how long the next reply may be; the sentence says why none may come.
// The prompt is counted as it is estimated, since only the endpoint knows better.
func (c *conversation) room() (tokens int, spent string) {
	prompt := 0
	for _, m := range c.messages {
		prompt += endpoint.Estimate(m.Content)
	}
	tokens = c.in.Spec.MaxTokens
	used := designer.Served{}
	for _, a := range c.attempts {
		used.Add(a)
	}
	switch left := c.in.Tokens - prompt - used.Tokens; {
	case c.in.Calls <= used.Calls:
		return 0, c.spent("model calls", "model_calls", used)
	case left < shortestReply:
		return 0, c.spent("model tokens", "model_tokens", used)
	default:
		tokens = min(tokens, left)
	}
	if left, bound := c.affordable(prompt, used.Cost); bound {
		if left < shortestReply {
			return 0, c.spent("money for model calls", "model_cost", used)
		}
		tokens = min(tokens, left)
	}
	return tokens, ""
}

// spent says which limit is reached, and by how much that was served.
func (c *conversation) spent(what, limit string, used designer.Served) string {
	all := designer.Served{Calls: c.in.Served.Calls + used.Calls, Tokens: c.in.Served.Tokens + used.Tokens, Cost: c.in.Served.Cost + used.Cost}
	return fmt.Sprintf("the experiment's %s are used up (limits.%s): %s", what, limit, all)
}

// affordable is how many tokens of a reply the money pays after this prompt.
// Nothing bounds them without a limit, or where replies are free and the prompt
// is paid for.
func (c *conversation) affordable(prompt int, used float64) (tokens int, bound bool) {
	if c.in.Cost == nil || c.prices == nil {
		return 0, false
	}
	money := *c.in.Cost - c.prices.Cost(prompt, 0) - used
	switch {
	case money <= 0 && c.prices.Prompt+c.prices.Reply > 0:
		return 0, true
	case c.prices.Reply == 0:
		return 0, false
	}
	return int(min(money/c.prices.Reply*1e6, 1e9)), true
}

// cost is what a call cost; 0 where prices are not known.
func (c *conversation) cost(r endpoint.Reply) float64 {
	if c.prices == nil {
		return 0
	}
	return c.prices.Cost(r.PromptTokens, r.CompletionTokens)
}

// Price is the money for so many tokens; false if the endpoint's prices are not
// known.
func (d *Designer) Price(promptTokens, replyTokens int) (money float64, known bool) {
	if d.prices == nil {
		return 0, false
	}
	return d.prices.Cost(promptTokens, replyTokens), true
}
