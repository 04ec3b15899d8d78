package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// meter shows how far long work is: a bar on a terminal, a plain line each tenth
// otherwise. Work that is done soon shows nothing.
type meter struct {
	w       io.Writer
	what    string
	bar     bool
	started time.Time
	drawn   time.Time
	tenth   int
	mu      sync.Mutex
}

const (
	meterPatience = 2 * time.Second        // before the first plain line
	meterRedraw   = 100 * time.Millisecond // between two drawings of the bar
)

func (a *app) meter(what string) *meter {
	return &meter{w: a.err, what: what, bar: width(a.err, 0) >= barColumns, started: time.Now()}
}

// close takes the bar away.
func (m *meter) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar && !m.drawn.IsZero() {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

func (m *meter) show(done, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	share := min(1, float64(done)/float64(max(1, total)))
	if m.bar {
		if time.Since(m.drawn) >= meterRedraw {
			m.drawn = time.Now()
			full := int(share * barWidth)
			fmt.Fprintf(m.w, "\r\x1b[K  %s %s%s %3.0f %%", m.what, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*share)
		}
		return
	}
	if tenth := int(10 * share); tenth > m.tenth && time.Since(m.started) >= meterPatience {
		m.tenth = tenth
		fmt.Fprintf(m.w, "%s: %d %%\n", m.what, 10*tenth)
	}
}
