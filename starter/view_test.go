package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// fakeTerminal understands what a screen writes, and wraps lines as terminals do.
type fakeTerminal struct {
	lines   []string // unwrapped; the cursor is below the last one
	columns int
	torn    bool
}

var upAndClear = regexp.MustCompile("^\x1b\\[(\\d+)A\x1b\\[J")

func (f *fakeTerminal) Write(b []byte) (int, error) {
	s := string(b)
	if m := upAndClear.FindStringSubmatch(s); m != nil {
		up, err := strconv.Atoi(m[1])
		for up > 0 && err == nil {
			last := len(f.lines) - 1
			up -= f.rows(f.lines[last])
			f.lines = f.lines[:last]
		}
		if up < 0 {
			f.torn = true // the cursor went into the middle of a line
		}
		s = s[len(m[0]):]
	}
	if s != "" {
		f.lines = append(f.lines, strings.Split(strings.TrimSuffix(s, "\n"), "\n")...)
	}
	return len(b), nil
}

func (f *fakeTerminal) rows(line string) int {
	return 1 + max(0, utf8.RuneCountInString(line)-1)/f.columns
}

func liveView(columns int) (*view, *fakeTerminal) {
	term := &fakeTerminal{columns: columns}
	v := newView(term, false)
	v.live, v.width = true, func() int { return term.columns }
	return v, term
}

func atStep(round int, step string, done int) workflows.Status {
	s := workflows.Status{
		Name: "x", State: workflows.StateRunning, Rounds: 3, Base: &experiment.Rates{N: 800, Valid: 100, Optimal: 50},
		Progress: activities.Progress{Round: round, Step: step, Done: done, Total: 100, Note: "epoch 1.5 of 2, reward 0.83, 72.4 % valid"},
	}
	for i := range round {
		s.Done = append(s.Done, workflows.RoundFigures{Round: i, Rates: experiment.Rates{N: 800, Valid: 378}, Outcome: "ok"})
	}
	return s
}

func TestAResizedTerminalRepeatsNoLine(t *testing.T) {
	v, term := liveView(120)
	for i, columns := range []int{120, 60, 45, 130, 41, 200} {
		term.columns = columns
		v.show(atStep(2, "train", 10*i))
		v.show(atStep(2, "train", 10*i+5))
		if got := strings.Join(term.lines, "\n"); len(term.lines) != 4 || strings.Count(got, "untrained") != 1 || strings.Count(got, "round 1 ") != 1 || term.torn {
			t.Fatalf("at %d columns:\n%s\nwant the untrained line, two rounds and a bar", columns, got)
		}
		if last := term.lines[3]; utf8.RuneCountInString(last) >= columns {
			t.Errorf("at %d columns the bar's line has %d: %s", columns, utf8.RuneCountInString(last), last)
		}
	}
}

func TestTheBarGivesWayToRewardAndValidRate(t *testing.T) {
	for _, c := range []struct {
		columns  int
		has, not []string
	}{
		{130, []string{"reward 0.83, 72.4 % valid", " 40 %", strings.Repeat("░", 16), "0s"}, nil},
		{100, []string{"reward 0.83, 72.4 % valid", " 40 %", "0s"}, []string{"…"}},
		{80, []string{"reward 0.83, 72.4 % valid", " 40 %"}, []string{"…", "░"}},
		{60, []string{"round 2 (3 of 3)", "train 40 %", "…"}, []string{"░"}},
	} {
		v, term := liveView(c.columns)
		v.show(atStep(2, "train", 40))
		line := term.lines[len(term.lines)-1]
		for _, s := range c.has {
			if !strings.Contains(line, s) {
				t.Errorf("at %d columns: %q lacks %q", c.columns, line, s)
			}
		}
		for _, s := range c.not {
			if strings.Contains(line, s) {
				t.Errorf("at %d columns: %q has %q", c.columns, line, s)
			}
		}
	}
}

// TestLogsOfAWatchedRunNeverGoBack shows statuses in an order in which they came:
// the answer to a query is older than the heartbeat before it.
func TestLogsOfAWatchedRunNeverGoBack(t *testing.T) {
	var out bytes.Buffer
	v := newView(&out, false)
	benchmarks := atStep(3, "benchmark-set", 0)
	benchmarks.State = workflows.StateBenchmarking
	stale := atStep(2, "train", 90)
	stale.Done = benchmarks.Done
	for _, s := range []workflows.Status{
		atStep(2, "train", 90), atStep(2, "evaluate", 10), atStep(2, "train", 90), stale, benchmarks, stale,
	} {
		v.show(s)
	}
	var said []string
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		said = append(said, strings.SplitN(line, " %", 2)[0])
	}
	want := []string{
		"untrained: 12.5", "round 0: 47.3", "round 1: 47.3", "round 2 (3 of 3): train 90",
		"round 2 (3 of 3): evaluate 10", "round 2: 47.3", "benchmarks: benchmark-set 0",
	}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
}

func TestAWatchedRunCannotSteerTheTerminal(t *testing.T) {
	var out bytes.Buffer
	v := newView(&out, false)
	s := atStep(0, "train", 10)
	s.Progress.Note = hostile
	v.show(s)
	s.State, s.Reason = workflows.StatePaused, hostile
	v.show(s)
	s.State, s.Waiting = workflows.StateWaiting, &workflows.Waiting{Reason: hostile}
	v.show(s)
	v.waiting(errors.New(hostile))
	sweeps := &sweepScreen{view: v, states: map[string]string{}}
	sweeps.show(sweepView{Reason: hostile, Cells: []cellView{{Name: "a", State: "failed", Cause: hostile}}})
	v.live, v.width = true, func() int { return 100 }
	frame := sweeps.frame(sweepView{Reason: hostile, Cells: []cellView{{Name: "a", State: "failed", Cause: hostile}}})
	if said := out.String() + strings.Join(frame, ""); steers(said) || strings.Count(said, "mz") != 8 {
		t.Errorf("wrote %q", said)
	}
}
