package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// screen is the part of a terminal that a live view redraws in place. The
// terminal may be resized at any time, so its width is asked for at each frame.
type screen struct {
	w       io.Writer
	color   bool
	live    bool // redraws in place; otherwise the view writes plain lines
	width   func() int
	started time.Time
	drawn   []int // lengths of the lines that the next frame replaces
}

func newScreen(w io.Writer, color bool) screen {
	columns := func() int { return width(w, 0) }
	return screen{w: w, color: color, live: columns() >= leastColumns, width: columns, started: time.Now()}
}

// leastColumns is the width below which nothing is redrawn.
const leastColumns = 40

// columns is the terminal's width now.
func (s *screen) columns() int { return max(leastColumns, s.width()) }

// draw writes lines to stay, once, and below them a frame that the next one
// replaces. Lines of the last frame that a narrower terminal has wrapped since
// take as many rows as they do now.
func (s *screen) draw(stay, frame []string) {
	up := 0
	for _, n := range s.drawn {
		up += 1 + max(0, n-1)/s.columns()
	}
	if up > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", up)
	}
	s.drawn = s.drawn[:0]
	for _, l := range stay {
		fmt.Fprintln(s.w, l)
	}
	for _, l := range frame {
		fmt.Fprintln(s.w, l)
		s.drawn = append(s.drawn, utf8.RuneCountInString(escapes.ReplaceAllString(l, "")))
	}
}

// keep leaves the last frame on the terminal.
func (s *screen) keep() { s.drawn = nil }

// escapes are the codes of colours, which take no room.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (s *screen) elapsed() string { return time.Since(s.started).Round(time.Second).String() }

func (s *screen) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The bar at its widest, the least that still says something, and the terminal
// that has room for a label and a whole bar.
const (
	barWidth   = 28
	barLeast   = 8
	barColumns = 83
)

// progressBar is a share of so many cells.
func (s *screen) progressBar(share float64, cells int) string {
	full := int(share * float64(cells))
	return s.paint("36", strings.Repeat("█", full)) + strings.Repeat("░", cells-full)
}
