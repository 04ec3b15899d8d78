package runner

import (
	"fmt"
	"strings"
	"time"

	"floe/internal/cleantext"
	"floe/internal/job"
)

// tell reports where an attempt is, and how far it has saved.
func (r *runner) tell(a *Attempt, seen sight) {
	if p := seen.progress; p != nil && p.Attempt == a.Number {
		if p.Step != r.done || p.Phase != r.phase { // otherwise there is none that was not seen
			if step, err := r.checkpoint(); err == nil {
				r.keepSaved(step)
			}
		}
		r.done, r.total, r.phase = p.Step, p.TotalSteps, p.Phase
	}
	note := words(a, seen)
	if r.saved > 0 {
		note += fmt.Sprintf(", saved up to step %d", r.saved)
	}
	r.say(note)
}

// keepSaved takes in the step of a checkpoint.
func (r *runner) keepSaved(step int) {
	if step > r.saved {
		r.saved = step
		r.Saved(step)
	}
}

// words say what an attempt does, as a person would.
func words(a *Attempt, seen sight) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch p := seen.progress; {
	case seen.status.State == job.Pending:
		add("waits for a machine")
		if seen.status.Reason != "" {
			parts[0] += ": " + seen.status.Reason
		}
	case seen.unread != nil:
		add("runs, but its progress cannot be read: %s", brief(seen.unread.Error()))
	case p == nil || p.Attempt != a.Number:
		add("starts")
	default:
		parts = progress(*p)
	}
	if a.Number > 1 {
		add("attempt %d", a.Number)
	}
	if n := seen.status.Restarts; n > 0 {
		add("restarted %s by the back end", times(n))
	}
	return strings.Join(parts, ", ")
}

var phases = map[string]string{
	job.PhaseStarting: "starts",
	job.PhaseLoading:  "loads the model",
	job.PhaseSaving:   "saves a checkpoint",
	job.PhaseDone:     "ends",
	job.PhaseStopped:  "was stopped and ends",
	job.PhaseFailed:   "failed and ends",
}

func progress(p job.Progress) []string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if phase := phases[p.Phase]; phase != "" {
		add("%s", phase)
	}
	for _, m := range []struct {
		key, format string
		scale       float64
	}{{"epoch", "epoch %.2f", 1}, {"reward", "reward %.2f", 1}, {"valid_rate", "%.0f %% valid", 100}} {
		if x := p.Metrics[m.key]; x != nil {
			add(m.format, *x*m.scale)
		}
	}
	if s := p.StepSeconds; s != nil {
		add("%.3g s a step", *s)
	}
	if s := p.RemainingSeconds; s != nil && *s >= 0 && *s < (1000*24*time.Hour).Seconds() {
		add("about %s left", span(time.Duration(*s*float64(time.Second))))
	}
	if len(parts) == 0 {
		add("trains")
	}
	return parts
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

// brief keeps what trainers and back ends say within what a person reads, and free of
// what steers a terminal.
func brief(text string) string {
	const most = 600
	text = cleantext.Line(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}
