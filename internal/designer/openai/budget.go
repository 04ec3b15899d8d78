package openai

import (
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
	switch left := c.left(prompt); {
	case c.in.Calls <= len(c.attempts):
		return 0, "the experiment's model calls are used up (limits.model_calls)"
	case left < shortestReply:
		return 0, "the experiment's model tokens are used up (limits.model_tokens)"
	default:
		tokens = min(tokens, left)
	}
	if left, bound := c.affordable(prompt); bound {
		if left < shortestReply {
			return 0, "the experiment's money for model calls is used up (limits.model_cost)"
		}
		tokens = min(tokens, left)
	}
	return tokens, ""
}

// left is how many tokens of a reply the token limit leaves after this prompt.
func (c *conversation) left(prompt int) int {
	left := c.in.Tokens - prompt
	for _, a := range c.attempts {
		left -= a.PromptTokens + a.CompletionTokens
	}
	return left
}

// affordable is how many tokens of a reply the money pays after this prompt.
// Nothing bounds them without a limit, or where replies are free and the prompt
// is paid for.
func (c *conversation) affordable(prompt int) (tokens int, bound bool) {
	if c.in.Cost == nil || c.prices == nil {
		return 0, false
	}
	money := *c.in.Cost - c.prices.Cost(prompt, 0)
	for _, a := range c.attempts {
		money -= a.Cost
	}
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
