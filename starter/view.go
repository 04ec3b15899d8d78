package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"floe/activities"
	"floe/internal/cleantext"
	"floe/internal/experiment"
	"floe/workflows"
)

// view shows a status as it changes: redrawn in place on a terminal, as plain
// lines where each says something new otherwise.
type view struct {
	mu sync.Mutex
	screen
	last   workflows.Status
	said   int // lines of the history that are written
	tenth  int // progress at the last plain line, in tenths
	quiet  string
	decide []string // what to type while a person is waited for
}

func newView(w io.Writer, color bool) *view {
	return &view{screen: newScreen(w, color), tenth: -1}
}

// show draws a status.
func (v *view) show(s workflows.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.quiet = ""
	s = printable(s)
	s.Progress = current(s, v.last)
	switch {
	case v.live && s.Waits():
		v.draw(v.news(s), v.gate(s))
	case v.live:
		v.draw(v.news(s), []string{v.bar(s)})
	default:
		v.lines(s)
	}
	v.last = s
}

// printable is a status whose sentences cannot steer the terminal.
func printable(s workflows.Status) workflows.Status {
	s.Cause, s.Reason = cleantext.Line(s.Cause), cleantext.Line(s.Reason)
	s.Progress.Note = cleantext.Line(s.Progress.Note)
	if s.Waiting != nil {
		w := *s.Waiting
		w.Reason = cleantext.Line(w.Reason)
		s.Waiting = &w
	}
	return s
}

// current is the freshest progress that is known. A round whose figures are there
// has no step under way.
func current(s, last workflows.Status) activities.Progress {
	p := s.Progress
	if last.Name != "" && workflows.Outdated(p, last.Progress) {
		p = last.Progress
	}
	if s.Reported(p.Round) {
		return activities.Progress{Round: p.Round}
	}
	return p
}

// waiting says once why nothing moves.
func (v *view) waiting(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.quiet != "" {
		return
	}
	v.quiet = err.Error()
	text := "waiting for Temporal or a worker since " + time.Now().Format("15:04") + ": " + cleantext.Line(firstLine(v.quiet))
	if v.live {
		v.draw(nil, []string{v.paint("33", text)})
		return
	}
	fmt.Fprintln(v.w, text)
}

// close leaves the last frame on the screen.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keep()
}

// news are the lines of the history that are not written yet.
func (v *view) news(s workflows.Status) []string {
	all := v.history(s)
	lines := all[min(v.said, len(all)):]
	v.said = max(v.said, len(all))
	return lines
}

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

// bar is the line of what goes on now.
func (v *view) bar(s workflows.Status) string {
	elapsed := "  " + v.elapsed()
	room := v.columns() - 1 - len(elapsed)
	switch s.State {
	case workflows.StateDone:
		return v.paint("32", "  done") + v.paint("2", elapsed)
	case workflows.StateUndesigned:
		return v.paint("31", cut("  "+s.State+": "+s.Line(), room)) + v.paint("2", elapsed)
	case workflows.StatePaused, workflows.StateCancelling, workflows.StateOutage:
		return v.paint("33", cut("  "+s.Line(), room)) + v.paint("2", elapsed)
	}
	p := s.Progress
	share := 0.0
	if p.Total > 0 {
		share = min(1, float64(p.Done)/float64(p.Total))
	}
	where := fmt.Sprintf("  %-16s %-14s ", s.Position(), p.Step)
	what := fmt.Sprintf("%3.0f %%", 100*share)
	if p.Note != "" {
		what += "  " + p.Note
	}
	// The figures come first, then the bar, then the time; columns are the last to go.
	need := utf8.RuneCountInString(where) + utf8.RuneCountInString(what)
	if need > v.columns()-1 {
		return cut(fmt.Sprintf("  %s %s %s", s.Position(), p.Step, strings.TrimSpace(what)), v.columns()-1)
	}
	if need > room {
		return where + what
	}
	bar := ""
	if cells := min(barWidth, room-need-1); cells >= barLeast {
		bar = v.progressBar(share, cells) + " "
	}
	return where + bar + what + v.paint("2", elapsed)
}

// lines writes what is new since the last status, for logs.
func (v *view) lines(s workflows.Status) {
	if s.Base != nil && v.last.Base == nil {
		fmt.Fprintf(v.w, "untrained: %s\n", strings.TrimSpace(figures(*s.Base)))
	}
	for _, r := range s.Done[min(len(v.last.Done), len(s.Done)):] {
		fmt.Fprintf(v.w, "round %d: %s; next design: %s\n", r.Round, strings.TrimSpace(figures(r.Rates)), v.outcome(r.Outcome))
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
	if tenth > v.tenth && p.Step != "" && !workflows.Finished(s.State) {
		fmt.Fprintf(v.w, "%s: %s %d %% %s\n", s.Position(), p.Step, 10*tenth, p.Note)
		v.tenth = tenth
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
