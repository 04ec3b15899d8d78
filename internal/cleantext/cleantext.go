// Package cleantext makes text of other programs and people safe to print. A job's
// log, a model's reply or a server's message can hold escape sequences that retitle,
// clear or recolour a terminal, and characters that reverse the order of what is read.
package cleantext

import (
	"regexp"
	"strings"
	"unicode"
)

// Line is text on one line: escape sequences are removed, line breaks and tabs become
// spaces, and other control and format characters become U+FFFD.
func Line(s string) string {
	return clean(s, func(r rune) bool { return false })
}

// Text is Line for text of several lines: it keeps line breaks and tabs. A carriage
// return breaks a line, too.
func Text(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return clean(s, func(r rune) bool { return r == '\n' || r == '\t' })
}

// escape matches whole escape sequences: CSI (colours, cursor, clearing), the strings
// OSC, DCS, SOS, PM and APC with their terminator, and those of two or three bytes.
// Sequences that are cut off do not match, so no text vanishes behind them. The 8-bit
// forms are plain control characters here.
var escape = regexp.MustCompile("\x1b(?:" +
	`\[[0-?]*[ -/]*[@-~]` + "|" +
	"[\\]PX^_][^\x07\x1b\n\r]*(?:\x07|\x1b\\\\)" + "|" +
	`[ -/]+[0-~]` + "|" +
	`[0-OQ-WYZ\\` + "`-~])")

// clean keeps what keep says, and a printable form of everything else. The narrow
// no-break space of percentages is missing in many terminals' fonts.
func clean(s string, keep func(rune) bool) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	if strings.Contains(s, "\x1b") {
		s = escape.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case keep(r):
			return r
		case r == '\u202f':
			return '\u00a0'
		case unicode.IsSpace(r) && r != '\u00a0':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, s)
}
