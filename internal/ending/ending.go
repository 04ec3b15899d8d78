// Package ending knows the words with which endpoints say why a reply ended. Servers
// of OpenAI's protocol pass on the words of what runs behind them, so there are many;
// the set is closed all the same. A reply counts as whole only if its reason is known
// to mean that: one with an unknown reason was broken off, until a row here says more.
package ending

import "strings"

// End says how a reply ended.
type End string

// Ends.
const (
	Whole     End = "whole"     // the model had nothing more to say
	Truncated End = "truncated" // cut at a limit on tokens
	Refused   End = "refused"   // by the model, or by a filter before or after it
	TooLong   End = "too_long"  // there is none: the prompt is longer than the model takes
	Broken    End = "broken"    // cut by trouble at the endpoint; asking again may bring all of it
)

// Reasons that floe itself writes, or that are written in one way everywhere.
const (
	Length  = "length"
	Filter  = "content_filter"
	Refusal = "refusal"  // a message that is nothing but a refusal
	Longer  = "too_long" // the endpoint refused the prompt for its length
)

// reasons are those of OpenAI, vLLM, SGLang, TGI, llama.cpp, Ollama, LiteLLM,
// OpenRouter, and the vendors whose words gateways pass on: Anthropic, Google,
// Mistral, Cohere, Amazon, IBM, AI21, DeepSeek.
var reasons = map[End][]string{
	Whole: {
		"", "null", "stop", "stop_sequence", "stop_token", "stopped", "eos", "eos_token", "eos_found", "end_of_sequence",
		"endoftext", "end_turn", "complete", "completed", "finish", "finished", "word", "tool_calls", "tool_call",
		"tool_use", "function_call",
	},
	Truncated: {
		Length, "max_tokens", "max_length", "max_output_tokens", "max_new_tokens", "max_completion_tokens", "token_limit", "limit",
		"model_length", "model_context_window_exceeded", "context_length_exceeded", "error_limit",
		"repetition", // vLLM cuts a model that repeats itself; with the same seed it would again
	},
	Refused: {
		Filter, "content_filtered", Refusal, "refused", "safety", "image_safety", "recitation", "blocklist", "prohibited_content", "spii",
		"language", "guardrail_intervened", "guardrails", "sensitive", "error_toxic", "moderation",
	},
	TooLong: {Longer},
}

var ends = byReason()

func byReason() map[string]End {
	known := map[string]End{}
	for end, words := range reasons {
		for _, w := range words {
			known[w] = end
		}
	}
	return known
}

// Of is the end that a reason means, in whatever case and with dashes or
// underscores. No reason at all means a whole reply, since some servers give none;
// whoever finds neither reason nor text knows better.
func Of(reason string) End {
	word := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(reason)), "-", "_")
	if end, known := ends[word]; known {
		return end
	}
	return Broken
}
