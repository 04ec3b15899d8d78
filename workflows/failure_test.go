package workflows_test

import (
	"strings"
	"testing"

	"floe/workflows"
)

func TestAFailureIsOneLineAndItsLogSaysWhatTheMessageDoesNot(t *testing.T) {
	long := strings.Repeat("why ", 200)
	f := workflows.Failure{
		Step: "train", Message: "it ended: the end of its log:\n  no device\n" + long,
		Log: []string{
			"2026-11-29T20:00:00Z INFO attempt 1 begins on worker 7@box",
			"2026-11-29T20:00:01Z WARN the driver is old",
			"2026-11-29T20:00:02Z ERROR it ended: the end of its log: no device why why…",
		},
	}
	said := f.Sentence("demo", 2)
	if strings.Contains(said, "\n") || strings.Count(said, "no device") != 1 || !strings.Contains(said, "the driver is old") || strings.Contains(said, "begins on") {
		t.Errorf("got %q", said)
	}
}
