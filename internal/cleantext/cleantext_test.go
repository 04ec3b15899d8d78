package cleantext_test

import (
	"strings"
	"testing"
	"unicode"

	"floe/internal/cleantext"
)

func TestNothingThatSteersATerminalIsLeft(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain, 7 × 7\u00a0%", "plain, 7 × 7\u00a0%", "plain, 7 × 7\u00a0%"},
		{"a\tb\nc", "a b c", "a\tb\nc"},
		{"a\r\nb\rc", "a  b c", "a\nb\nc"},
		{"\x1b]0;T\x07after", "after", "after"},
		{"\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", "link", "link"},
		{"\x1b[2Jafter\x1b[0m", "after", "after"},
		{"\x1b[38;5;196mred\x1b[39m", "red", "red"},
		{"\x1b(B\x1b=\x1bcafter", "after", "after"},
		{"\x1bPq#0\x1b\\after", "after", "after"},
		{"cut \x1b]0;title", "cut \ufffd]0;title", "cut \ufffd]0;title"},
		{"cut \x1b[3", "cut \ufffd[3", "cut \ufffd[3"},
		{"one \x1b]0;T\ntwo\x07", "one \ufffd]0;T two\ufffd", "one \ufffd]0;T\ntwo\ufffd"},
		{"nul\x00 bell\a del\x7f csi\u009b2J", "nul\ufffd bell\ufffd del\ufffd csi\ufffd2J", "nul\ufffd bell\ufffd del\ufffd csi\ufffd2J"},
		{"gpj.\u202eexe \u2066x\u2069", "gpj.\ufffdexe \ufffdx\ufffd", "gpj.\ufffdexe \ufffdx\ufffd"},
		{"9\u202f%", "9\u00a0%", "9\u00a0%"},
		{"\xff\x1b\x1b[2J", "\ufffd\ufffd", "\ufffd\ufffd"},
	} {
		if got := cleantext.Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q; want %q", c.in, got, c.line)
		}
		if got := cleantext.Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q; want %q", c.in, got, c.text)
		}
	}
}

func FuzzCleanTextHoldsNoControls(f *testing.F) {
	f.Add("a\x1b]0;\x1b[2J\x07\u202e\r\n\t\xff")
	f.Fuzz(func(t *testing.T, s string) {
		steers := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
		if got := cleantext.Line(s); strings.ContainsFunc(got, steers) {
			t.Errorf("Line(%q) = %q", s, got)
		}
		got := cleantext.Text(s)
		if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(got), steers) {
			t.Errorf("Text(%q) = %q", s, got)
		}
	})
}
