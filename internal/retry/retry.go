// Package retry decides whether a piece of work is tried again. What counts is
// attempts that brought nothing: an attempt that left a newer checkpoint, another
// answer or another optimizer step starts the count anew. A worker that is stopped is
// no failure of the work. A service that does not answer is waited out by time.
//
// The package is pure: a Tally travels from attempt to attempt, and its methods say
// what becomes of the work.
package retry

import (
	"fmt"
	"time"
)

// Limits bound the attempts at one piece of work.
type Limits struct {
	Attempts int           // failures in a row without progress
	Outage   time.Duration // without an answer from a service
	Step     time.Duration // of one attempt
	// Lost attempts in a row are counted apart: rolling out a release, or a spot
	// market, ends many workers in a few minutes. Work that itself kills its worker must
	// end nevertheless, once both Lost and LostFor are reached.
	Lost    int
	LostFor time.Duration
}

// Tally is what the attempts at one piece of work have come to so far.
type Tally struct {
	Attempt int       `json:"attempt"` // that wrote this
	Began   time.Time `json:"began"`   // when that attempt did
	Seen    time.Time `json:"seen"`    // its last sign of life
	Ended   bool      `json:"ended"`   // it ended by itself; without it, it was lost

	Kept   int `json:"kept,omitempty"`   // progress that outlives an attempt, at its highest
	Failed int `json:"failed,omitempty"` // failures since then
	Slow   int `json:"slow,omitempty"`   // of those, attempts that ran into the limit of time
	Lost   int `json:"lost,omitempty"`   // attempts lost since then

	LostSince time.Time `json:"lost_since,omitzero"`
	Outage    *Outage   `json:"outage,omitempty"` // that is being waited out
}

// Outage is a service that does not answer.
type Outage struct {
	Service string    `json:"service"`
	Reason  string    `json:"reason"`
	Since   time.Time `json:"since"`
	Last    time.Time `json:"last"`  // when it was last asked in vain
	Asked   int       `json:"asked"` // how often it was
}

// String says what is waited for, since when and why.
func (o Outage) String() string {
	return fmt.Sprintf("waiting for %s since %s: %s", o.Service, o.Since.UTC().Format("15:04 UTC"), o.Reason)
}

// Begin starts the count of an attempt. Before is what the last attempts left, nil
// before the first. What was lost in between is added up.
func Begin(before *Tally, attempt int, now time.Time, l Limits) Tally {
	var t Tally
	if before != nil {
		t = *before
	}
	if lost := attempt - t.Attempt - 1; before != nil && lost > 0 { // they ended before they could say anything
		t.lose(lost, now)
	}
	if before != nil && !t.Ended && t.Attempt < attempt {
		if l.Step > 0 && t.Seen.Sub(t.Began) >= l.Step-slack(l.Step) {
			t.Failed++
			t.Slow++
		} else {
			t.lose(1, t.Seen)
		}
	}
	t.Attempt, t.Began, t.Seen, t.Ended = attempt, now, now, false
	return t
}

// slack is how much earlier than its limit an attempt may have been heard of last.
func slack(limit time.Duration) time.Duration { return min(limit/10, 30*time.Second) }

func (t *Tally) lose(n int, at time.Time) {
	if t.Lost == 0 {
		t.LostSince = at
	}
	t.Lost += n
}

// Keep takes in progress that outlives the attempt: the number of a checkpoint, of
// answers, of steps. Only more than before counts.
func (t *Tally) Keep(n int) {
	if n <= t.Kept {
		return
	}
	t.Kept, t.Failed, t.Slow, t.Lost, t.LostSince, t.Outage = n, 0, 0, 0, time.Time{}, nil
}

// Exhausted says why no further attempt may begin; "" if one may.
func (t *Tally) Exhausted(now time.Time, l Limits) string {
	switch {
	case l.Attempts > 0 && t.Failed >= l.Attempts && t.Slow > 0:
		return fmt.Sprintf("%d attempts without progress, %d of which took longer than limits.step_minutes allows (%s)", t.Failed, t.Slow, l.Step)
	case l.Attempts > 0 && t.Failed >= l.Attempts:
		return fmt.Sprintf("%d attempts without progress", t.Failed)
	case l.Lost > 0 && t.Lost >= l.Lost && now.Sub(t.LostSince) >= l.LostFor:
		return fmt.Sprintf("%d attempts in a row were lost without progress since %s: their workers gave no sign of life (killed, or out of memory?)",
			t.Lost, t.LostSince.UTC().Format("15:04 UTC"))
	}
	return ""
}

// Fail counts an attempt that failed.
func (t *Tally) Fail(now time.Time) { t.end(now); t.Failed++; t.Outage = nil }

// Stop ends an attempt that its worker gave up because it is going down.
func (t *Tally) Stop(now time.Time) { t.end(now) }

func (t *Tally) end(now time.Time) { t.Ended, t.Seen = true, now }

// An outage is another one after work has gone on for so long.
const another = 10 * time.Minute

// Pauses between two attempts at reaching a service double up to the longest. A
// service that has been away for an hour or so is asked less often.
const (
	pauseFirst = time.Second
	pauseMost  = time.Minute
	pauseLong  = 5 * time.Minute
	longAfter  = 60 // attempts
)

// Miss ends an attempt at which a service did not answer. It says how long to wait
// before the next; over is true once the service has been away for too long.
func (t *Tally) Miss(service, reason string, after time.Duration, now time.Time, l Limits) (pause time.Duration, over bool) {
	if t.Outage == nil || now.Sub(t.Began) >= another {
		t.Outage = &Outage{Since: now}
	}
	t.end(now)
	o := t.Outage
	o.Service, o.Reason, o.Last = service, reason, now
	pause = o.pause()
	o.Asked++
	return max(pause, min(after, pauseLong)), l.Outage > 0 && now.Sub(o.Since) >= l.Outage
}

func (o *Outage) pause() time.Duration {
	switch {
	case o.Asked >= longAfter:
		return pauseLong
	case o.Asked >= 6:
		return pauseMost
	}
	return pauseFirst << o.Asked
}
