package designer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// mostTrace bounds a trace: a reply of thousands of blocks needs no thousand lines.
const mostTrace = 30

// trace tells in order what was found in a reply and what was decided. A nil
// trace tells nothing.
type trace struct {
	lines []string
	more  int // not told
}

func (t *trace) say(format string, args ...any) {
	switch {
	case t == nil:
	case len(t.lines) < mostTrace:
		t.lines = append(t.lines, fmt.Sprintf(format, args...))
	default: // the end is worth more than the middle
		t.more++
		t.lines[mostTrace-2] = fmt.Sprintf("%d more lines are left out here.", t.more)
		t.lines[mostTrace-1] = fmt.Sprintf(format, args...)
	}
}

// opened tells what came, and what of it is looked at.
func (t *trace) opened(reply, text, finishReason string) {
	t.say("The reply has %s%s.", characters(reply), finished(finishReason))
	switch thinks := strings.Contains(reply, "</think>") || strings.HasPrefix(strings.TrimSpace(reply), "<think>"); {
	case thinks && text == "":
		t.say("Nothing stands after its thinking.")
	case thinks:
		t.say("What stands after the last </think> is read: %s.", characters(text))
	}
}

func finished(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(" and ended with %.40q", reason)
}

func characters(s string) string { return plural(utf8.RuneCountInString(s), "character") }
