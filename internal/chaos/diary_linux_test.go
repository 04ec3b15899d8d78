package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// entry is a line of the log of what was done to the site and what came of it.
type entry struct {
	At    string `json:"at"` // UTC
	Event int    `json:"event"`
	Kind  kind   `json:"kind,omitempty"`
	What  string `json:"what"`
	PIDs  []int  `json:"pids,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// unscheduled is the event number of what was not on the schedule.
const unscheduled = -1

// diary is kept in a file and shown as the test goes on.
type diary struct {
	mu   sync.Mutex
	show *testing.T // the test that runs
	file *os.File
	err  error
	done map[kind]int // events that happened
	came map[string]int
}

func openDiary(t *testing.T, file string) *diary {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	d := &diary{show: t, file: f, done: map[kind]int{}, came: map[string]int{}}
	t.Cleanup(func() {
		if err := f.Close(); err != nil || d.err != nil {
			t.Errorf("the diary: %v, %v", err, d.err)
		}
	})
	return d
}

// note writes an entry.
func (d *diary) note(e entry) {
	now := time.Now()
	e.At = now.UTC().Format("2006-01-02T15:04:05.000Z")
	line, err := json.Marshal(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		_, err = d.file.Write(append(line, '\n'))
	}
	if err != nil {
		d.err = err
	}
	number := ""
	if e.Event != unscheduled {
		number = fmt.Sprintf("%d ", e.Event)
	}
	if e.Kind != "" {
		number += string(e.Kind) + ": "
	}
	d.show.Logf("%s %s%s %v", now.Format("15:04:05.000"), number, e.What, e.PIDs)
}

// under has entries shown under another test.
func (d *diary) under(t *testing.T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.show = t
}

// aside notes what was not on the schedule.
func (d *diary) aside(format string, args ...any) {
	d.note(entry{Event: unscheduled, What: fmt.Sprintf(format, args...)})
}

// happened counts an event that was carried out.
func (d *diary) happened(k kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done[k]++
}

// count adds to what came of the events.
func (d *diary) count(what string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.came[what] += n
}

// counts are how often each kind happened, in words.
func (d *diary) counts() (text string, all int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range slices.Concat(kinds, ofModels) {
		if n := d.done[k]; n > 0 {
			text += fmt.Sprintf(", %s x %d", k, n)
			all += n
		}
	}
	for _, what := range slices.Sorted(maps.Keys(d.came)) {
		text += fmt.Sprintf("; %s: %d", what, d.came[what])
	}
	return fmt.Sprintf("%d events%s", all, text), all
}
