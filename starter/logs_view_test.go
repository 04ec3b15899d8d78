package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"floe/activities"
)

// longLog is an attempt of so many lines, of which its document has the first two and the
// last three.
func longLog(total int) activities.Attempt {
	at := activities.Attempt{Step: "train", Round: 1, Left: total - 5, LeftAfter: 2}
	for i := range total {
		if i < 2 || i >= total-3 {
			at.Log = append(at.Log, fmt.Sprintf("2026-12-01T10:00:00.%03dZ INFO line %d", i%1000, i))
		}
	}
	return at
}

func TestALogSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	texts := func(total, seen int) string {
		var list []string
		for _, l := range unseen("demo", longLog(total), seen) {
			list = append(list, l.Text)
		}
		return strings.Join(list, "\n")
	}
	const how = " lines left out; starter logs demo --round 1 --step train --full shows them all"
	for _, c := range []struct {
		total, seen int
		want        string
	}{
		{4817, 0, "line 0\nline 1\n… 4,812" + how + "\nline 4814\nline 4815\nline 4816"},
		{4817, 4000, "… 814" + how + "\nline 4814\nline 4815\nline 4816"}, // followed
		{4817, 4814, "line 4814\nline 4815\nline 4816"},
		{4817, 4817, ""},
		{5, 0, "line 0\nline 1\nline 2\nline 3\nline 4"},
	} {
		if got := texts(c.total, c.seen); got != c.want {
			t.Errorf("%d lines, %d seen:\n%s\nwant\n%s", c.total, c.seen, got, c.want)
		}
	}
}

func TestALogCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out, output: "table"}
	hostile := "a\x1b]0;T\ab\x1b[2Jc\x00d\u202ee"
	if err := a.emitLog([]logLine{{At: "2026-12-01T10:00:00Z", Level: "INFO", Step: "train" + hostile, Text: hostile}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a\x00\u202e") || !strings.Contains(out.String(), "abc\ufffdd\ufffde") {
		t.Errorf("printed %q", out.String())
	}
}
