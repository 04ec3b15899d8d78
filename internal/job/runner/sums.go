package runner

import (
	"fmt"
	"strconv"
	"time"

	"floe/internal/job"
)

// Ran is how long an attempt was on its machine, until now if it is there still.
// For one that was lost, that is until its loss was seen. Time between restarts
// by the back end counts.
func (a Attempt) Ran(now time.Time) time.Duration {
	if a.Status.Started.IsZero() {
		return 0
	}
	end := a.Status.Ended
	switch {
	case !end.IsZero():
	case !a.Ended.IsZero():
		end = a.Ended
	default:
		end = now
	}
	return max(0, end.Sub(a.Status.Started))
}

// GPUTime is the time that the attempts had their GPUs, times how many.
func (h History) GPUTime(now time.Time) time.Duration {
	var sum time.Duration
	for _, a := range h.Attempts {
		sum += a.Ran(now) * time.Duration(a.GPUs)
	}
	return sum
}

// since counts the attempts of a work with an outcome since the newest checkpoint of its
// job got newer, or since its checkpoints moved to another machine. An interruption that
// left a newer checkpoint is not counted itself; a failure is the first again.
func (h History) since(name, work string, outcome job.Outcome) int {
	n, newest, host := 0, 0, ""
	for _, a := range h.Attempts {
		if a.Job != name || a.Outcome == "" {
			continue
		}
		if a.Host != host {
			newest, host = 0, a.Host
		}
		newer := a.Steps > newest
		if newer {
			n, newest = 0, a.Steps
		}
		if a.Work == work && a.Outcome == outcome && (!newer || outcome == job.Failed) {
			n++
		}
	}
	return n
}

// busy is how many attempts of a work found the directory held, one after the
// other and last of all.
func (h History) busy(work string) int {
	n := 0
	for i := len(h.Attempts) - 1; i >= 0 && h.Attempts[i].Work == work && h.Attempts[i].Outcome == job.Busy; i-- {
		n++
	}
	return n
}

// TableHead names the columns of Table.
var TableHead = []string{"attempt", "state", "started", "ran", "gpu time", "steps", "how it ended"}

// Table has a line of text an attempt.
func (h History) Table(now time.Time) [][]string {
	lines := make([][]string, len(h.Attempts))
	for i, a := range h.Attempts {
		state := string(a.Status.State)
		if a.Outcome != "" {
			state = string(a.Outcome)
		}
		how := a.Reason
		if how == "" {
			how = a.Status.Reason
		}
		started := "-"
		if !a.Status.Started.IsZero() {
			started = a.Status.Started.UTC().Format(time.DateTime)
		}
		steps := "-" // known once it has ended
		if !a.AtWork() {
			steps = strconv.Itoa(a.Steps)
		}
		ran := a.Ran(now)
		lines[i] = []string{a.Name(), state, started, span(ran), span(ran * time.Duration(a.GPUs)), steps, how}
	}
	return lines
}

// span is a time as a person says it.
func span(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	if d = d.Round(time.Minute); d < time.Hour {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}
