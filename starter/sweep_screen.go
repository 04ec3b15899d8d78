package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"floe/internal/cleantext"
)

// sweepScreen shows a sweep as it changes: redrawn in place on a terminal, as a
// line for each change of a cell otherwise.
type sweepScreen struct {
	view   *view // for its terminal
	states map[string]string
	tally  string
}

func newSweepScreen(w io.Writer, color bool) *sweepScreen {
	return &sweepScreen{view: newView(w, color), states: map[string]string{}}
}

// armsOnScreen keeps a frame shorter than a terminal.
const armsOnScreen = 15

func (s *sweepScreen) show(v sweepView) {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	s.view.quiet = ""
	if s.view.live {
		s.view.draw(nil, s.frame(v))
		return
	}
	s.lines(v)
}

// waiting says once why nothing moves.
func (s *sweepScreen) waiting(err error) { s.view.waiting(err) }

func (s *sweepScreen) frame(v sweepView) []string {
	shown := v
	shown.Arms = v.Arms[:min(len(v.Arms), armsOnScreen)]
	var table bytes.Buffer
	_ = shown.armTable(&table) // a buffer takes all
	columns := s.view.columns()
	lines := []string{cut(cleantext.Line(v.line()), columns), s.bar(v)}
	for line := range strings.SplitSeq(strings.TrimRight(table.String(), "\n"), "\n") {
		lines = append(lines, cut(line, columns))
	}
	if more := len(v.Arms) - armsOnScreen; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more arms", more))
	}
	if c, bad := v.worst(); bad {
		lines = append(lines, s.view.paint("33", cut(cleantext.Line(c.Name+" "+c.State+": "+c.Cause), columns)))
	}
	return lines
}

// bar is the share of the cells that are done, and of those under way.
func (s *sweepScreen) bar(v sweepView) string {
	wanted := max(1, v.Tally.Wanted)
	done := barWidth * v.Tally.Done / wanted
	running := min(barWidth-done, (barWidth*v.Tally.Running+wanted-1)/wanted)
	bar := s.view.paint("32", strings.Repeat("█", done)) + s.view.paint("36", strings.Repeat("▒", running)) + strings.Repeat("░", barWidth-done-running)
	return fmt.Sprintf("%s %3d %%%s", bar, 100*v.Tally.Done/wanted, s.view.paint("2", "  "+s.view.elapsed()))
}

// lines writes what is new, for logs.
func (s *sweepScreen) lines(v sweepView) {
	for _, c := range v.Cells {
		before, known := s.states[c.Name]
		s.states[c.Name] = c.State
		if before == c.State || (!known && c.State == "waiting") {
			continue
		}
		line := c.Name + ": " + c.State
		if c.Valid != nil {
			line += ", " + share(c.Valid) + " valid"
		}
		if c.Cause != "" {
			line += ": " + cleantext.Line(c.Cause)
		}
		fmt.Fprintln(s.view.w, line)
	}
	if line := v.line(); line != s.tally {
		s.tally = line
		fmt.Fprintln(s.view.w, cleantext.Line(line))
	}
}
