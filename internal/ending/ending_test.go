package ending_test

import (
	"testing"

	"floe/internal/ending"
	"floe/internal/importtest"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.Domain...) }

func TestOnlyKnownReasonsMakeAReplyWhole(t *testing.T) {
	for want, reasons := range map[ending.End][]string{
		ending.Whole:     {"", "stop", "STOP", " stop ", "eos", "eos_token", "stop_sequence", "end_turn", "tool_calls", "tool-calls", "function_call", "COMPLETE", "null"},
		ending.Truncated: {"length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded", "repetition"},
		ending.Refused:   {"content_filter", "content-filter", "refusal", "SAFETY", "guardrail_intervened"},
		ending.TooLong:   {"too_long"},
		ending.Broken: {
			"abort", "error", "cancelled", "canceled", "timeout", "time_limit", "network_error", "insufficient_system_resource",
			"pause_turn", "load", "unload", "not_finished", "ERROR", "other", "finish_reason_unspecified", "a word of tomorrow",
		},
	} {
		for _, reason := range reasons {
			if got := ending.Of(reason); got != want {
				t.Errorf("%q: %s; want %s", reason, got, want)
			}
		}
	}
}
