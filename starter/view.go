package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

// view shows a status as it changes: redrawn in place on a terminal, as plain
// lines where each says something new otherwise.
type view struct {
	mu      sync.Mutex
	w       io.Writer
	color   bool
	live    bool
	columns int
	started time.Time
	drawn   int // lines on the terminal that the next frame replaces
	last    workflows.Status
	tenth   int // progress at the last plain line, in tenths
	quiet   string
	decide  []string // what to type while a person is waited for
}

// newView redraws in place where the terminal is wide enough for a frame.
func newView(w io.Writer, color bool) *view {
	columns := width(w, 0)
	return &view{w: w, color: color, live: columns >= barColumns, columns: columns, started: time.Now(), tenth: -1}
}

// show draws a status.
func (v *view) show(s workflows.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.quiet = ""
	switch {
	case v.live && s.Waits():
		v.draw(append(v.history(s), v.gate(s)...))
	case v.live:
		v.draw(append(v.history(s), v.bar(s)))
	default:
		v.lines(s)
	}
	v.last = s
}

// waiting says once why nothing moves.
func (v *view) waiting(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.quiet != "" {
		return
	}
	v.quiet = err.Error()
	text := "waiting for the server or a worker: " + firstLine(v.quiet)
	if v.live {
		v.draw(append(v.history(v.last), v.paint("33", text)))
		return
	}
	fmt.Fprintln(v.w, text)
}

// close leaves the last frame on the screen.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drawn = 0
}

func (v *view) draw(lines []string) {
	if v.drawn > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA\x1b[J", v.drawn)
	}
	v.drawn = 0
	for _, l := range lines {
		fmt.Fprintln(v.w, l)
		v.drawn += 1 + max(0, utf8.RuneCountInString(escapes.ReplaceAllString(l, ""))-1)/max(1, v.columns)
	}
}

// escapes are the codes of colours, which take no room.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// history is one line per thing that is known already.
func (v *view) history(s workflows.Status) []string {
	var lines []string
	if s.Base != nil {
		lines = append(lines, fmt.Sprintf("  untrained   %s", figures(*s.Base)))
	}
	for _, r := range s.Done {
		lines = append(lines, fmt.Sprintf("  round %-2d    %s   next design: %s", r.Round, figures(r.Rates), v.outcome(r.Outcome)))
	}
	return lines
}

// outcome names a design's outcome, one of which nothing was used loudly.
func (v *view) outcome(outcome string) string {
	if outcome == workflows.Fallback {
		return v.paint("1;31", activities.StateFallback+", the last curriculum stays")
	}
	return outcome
}

// gate says that a person is waited for, and what they can type.
func (v *view) gate(s workflows.Status) []string {
	lines := []string{v.paint("1;33", fmt.Sprintf("%s: %s: %s", s.Position(), s.State, s.Waiting.Reason))}
	for _, l := range v.decide {
		lines = append(lines, "  "+l)
	}
	return lines
}

func figures(r experiment.Rates) string {
	return fmt.Sprintf("%7s valid %7s optimal  (n = %d)", experiment.Percent(r.ValidRate()), experiment.Percent(r.OptimalRate()), r.N)
}

// The bar's width, and that of its line without the note.
const (
	barWidth    = 28
	barColumns  = 83
	waitColumns = 12
)

// bar is the line of what goes on now.
func (v *view) bar(s workflows.Status) string {
	if s.State == workflows.StateDone {
		return v.paint("32", "  done") + v.elapsed()
	}
	if s.State == workflows.StatePaused || s.State == workflows.StateCancelling {
		return v.paint("33", "  "+cut(s.Line(), v.columns-waitColumns)) + v.elapsed()
	}
	p := s.Progress
	share := 0.0
	if p.Total > 0 {
		share = min(1, float64(p.Done)/float64(p.Total))
	}
	full := int(share * barWidth)
	bar := v.paint("36", strings.Repeat("█", full)) + strings.Repeat("░", barWidth-full)
	return fmt.Sprintf("  %-16s %-14s %s %3.0f %%  %s%s", s.Position(), p.Step, bar, 100*share, cut(p.Note, v.columns-barColumns), v.elapsed())
}

func (v *view) elapsed() string {
	return v.paint("2", fmt.Sprintf("  %s", time.Since(v.started).Round(time.Second)))
}

func (v *view) paint(code, text string) string {
	if !v.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// lines writes what is new since the last status, for logs.
func (v *view) lines(s workflows.Status) {
	if s.Base != nil && v.last.Base == nil {
		fmt.Fprintf(v.w, "untrained: %s\n", figures(*s.Base))
	}
	for _, r := range s.Done[min(len(v.last.Done), len(s.Done)):] {
		fmt.Fprintf(v.w, "round %d: %s; next design: %s\n", r.Round, figures(r.Rates), v.outcome(r.Outcome))
	}
	if s.Waits() {
		if !v.last.Waits() || v.last.Waiting.Round != s.Waiting.Round {
			fmt.Fprintln(v.w, strings.Join(v.gate(s), "\n"))
		}
		return
	}
	if s.State != v.last.State && (s.State == workflows.StatePaused || s.State == workflows.StateCancelling) {
		fmt.Fprintln(v.w, s.Line())
		return
	}
	p, before := s.Progress, v.last.Progress
	if p.Round != before.Round || p.Step != before.Step {
		v.tenth = -1
	}
	tenth := 0
	if p.Total > 0 {
		tenth = 10 * p.Done / p.Total
	}
	if tenth > v.tenth && p.Step != "" && s.State != workflows.StateDone {
		fmt.Fprintf(v.w, "%s: %s %d %% %s\n", s.Position(), p.Step, 10*tenth, p.Note)
		v.tenth = tenth
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
