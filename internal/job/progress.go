package job

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Phases of an attempt.
const (
	PhaseStarting = "starting"
	PhaseLoading  = "loading"
	PhaseTraining = "training"
	PhaseSaving   = "saving"
	PhaseDone     = "done"
	PhaseStopped  = "stopped"
	PhaseFailed   = "failed"
)

// Progress is progress.json: where an attempt is.
type Progress struct {
	Schema           string              `json:"schema"`
	JobID            string              `json:"job_id"`
	Attempt          int                 `json:"attempt"`
	Phase            string              `json:"phase"`
	Step             int                 `json:"step"`
	TotalSteps       int                 `json:"total_steps"`
	Updated          time.Time           `json:"updated"` // moves with real progress alone
	StepSeconds      *float64            `json:"step_seconds"`
	RemainingSeconds *float64            `json:"remaining_seconds"`
	Metrics          map[string]*float64 `json:"metrics"` // of the latest step
}

const (
	fileProgress   = "progress.json"
	largestRecord  = 1 << 20 // of progress, result, failure
	hangsAfter     = 3       // steps without progress
	defaultPatient = 10 * time.Minute
)

// Patience says how long a running attempt may show no progress.
type Patience struct {
	Steps float64       // multiples of the time of a step; 0: 3
	Least time.Duration // however short the steps are; 0: 10 minutes
}

// ReadProgress reads progress.json; ErrAbsent if no attempt has written one.
func ReadProgress(files fs.FS) (Progress, error) {
	body, err := readFile(files, fileProgress, largestRecord)
	if err != nil {
		return Progress{}, err
	}
	var p Progress
	if err := decode(fileProgress, body, &p, unknownPassed); err != nil {
		return Progress{}, err
	}
	f := faults{name: fileProgress}
	f.want(p.Schema == ProgressSchema, "schema", p.Schema, ProgressSchema)
	f.want(p.Attempt >= 1, "attempt", p.Attempt, "1 or more")
	f.want(p.Step >= 0 && p.Step <= p.TotalSteps, "step", p.Step, fmt.Sprintf("0 to total_steps = %d", p.TotalSteps))
	f.want(p.StepSeconds == nil || *p.StepSeconds >= 0, "step_seconds", p.StepSeconds, "0 or more, or null")
	switch p.Phase {
	case PhaseStarting, PhaseLoading, PhaseTraining, PhaseSaving, PhaseDone, PhaseStopped, PhaseFailed:
	default:
		f.want(false, "phase", p.Phase, "starting, loading, training, saving, done, stopped or failed")
	}
	return p, f.err()
}

// Hung reports whether an attempt that is said to run has stood still for too
// long, and since when. Latest is the progress found, or nil; what an earlier
// attempt left does not count. Started is when the attempt began to run.
func Hung(attempt int, started time.Time, latest *Progress, now time.Time, p Patience) (since time.Time, hung bool) {
	since = started
	allowed := p.least()
	if latest != nil && latest.Attempt == attempt {
		if latest.Updated.After(since) {
			since = latest.Updated
		}
		if latest.StepSeconds != nil {
			allowed = max(allowed, p.steps(*latest.StepSeconds))
		}
	}
	return since, !since.IsZero() && now.Sub(since) > allowed
}

// Half is half the patience.
func (p Patience) Half() Patience {
	return Patience{Steps: p.steps(1).Seconds() / 2, Least: p.least() / 2}
}

func (p Patience) least() time.Duration {
	if p.Least > 0 {
		return p.Least
	}
	return defaultPatient
}

func (p Patience) steps(seconds float64) time.Duration {
	n := p.Steps
	if n <= 0 {
		n = hangsAfter
	}
	const most = 365 * 24 * time.Hour // beyond it a duration would overflow
	if n*seconds > most.Seconds() {
		return most
	}
	return time.Duration(n * seconds * float64(time.Second))
}

// ErrAbsent is returned for files of a job that are not there, or not yet.
var ErrAbsent = errors.New("not there")

// Failure is the one line that the latest attempt left about why it ended
// without a result; empty if there is none.
func Failure(files fs.FS) string {
	body, err := readFile(files, "failure", largestRecord)
	if err != nil {
		return ""
	}
	return firstLine(string(body))
}
