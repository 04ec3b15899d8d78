package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/experiment"
)

// kindStep is the kind of error with which a round tells its experiment that a
// step failed for good; its details are a Failure.
const kindStep = "StepFailed"

// KindAborted is the kind of error of an experiment that somebody gave up.
const KindAborted = "Aborted"

// Failure is a step that failed for good.
type Failure struct {
	Round    int      `json:"round"` // -1 before the first, the number of rounds for the benchmarks
	Step     string   `json:"step"`
	Kind     string   `json:"kind"`              // one of the activities' kinds, Timeout, or Workflow
	Message  string   `json:"message"`           // the deepest cause
	Attempt  int      `json:"attempt,omitempty"` // the last one; 0 where it is not known
	Attempts int      `json:"attempts"`          // that the spec allows
	Worker   string   `json:"worker,omitempty"`  // that made the last attempt
	Log      []string `json:"log,omitempty"`     // how that attempt's log ended
	// Damaged is the step that is not what its manifest says, where that is the cause.
	Damaged *experiment.StepID `json:"damaged,omitempty"`
	// Skippable says whether the experiment can go on without this step.
	Skippable bool `json:"skippable,omitempty"`
	// Job is the training's job, where it goes on although its step has failed.
	Job *LeftJob `json:"job,omitempty"`
}

// failureOf finds the deepest cause of an error.
func failureOf(err error, round int, step string, limits experiment.LimitsSpec) Failure {
	f := Failure{Round: round, Step: step, Kind: "Workflow", Message: activities.DeepestMessage(err), Attempts: limits.Attempts}
	var app *temporal.ApplicationError
	var late *temporal.TimeoutError
	switch {
	case temporal.IsCanceledError(err):
		f.Message = "it was cancelled alone, without the experiment"
	case errors.As(err, &app) && app.Type() == kindStep:
		if told := (Failure{}); app.Details(&told) == nil {
			return told
		}
	case errors.As(err, &late):
		f.Kind, f.Message, f.Attempt = activities.KindTimeout, timeoutWords(late), limits.Attempts
		f.last(late)
	case errors.As(err, &app):
		f.Kind, f.Message = app.Type(), app.Message()
		if !app.NonRetryable() {
			f.Attempt = limits.Attempts // or it would be tried again
		}
		var last activities.Attempted
		if app.HasDetails() && app.Details(&last) == nil {
			f.Attempt, f.Worker, f.Log, f.Damaged = last.Attempt, last.Worker, last.Log, last.Damaged
		}
	}
	return f
}

// last takes in the last signs of life of an attempt that timed out.
func (f *Failure) last(late *temporal.TimeoutError) {
	var p activities.Progress
	if late.HasLastHeartbeatDetails() && late.LastHeartbeatDetails(&p) == nil {
		f.Worker = p.Worker
		if p.Total > 0 {
			f.Message += fmt.Sprintf("; it was last seen at %d of %d", p.Done, p.Total)
		}
	}
}

func timeoutWords(late *temporal.TimeoutError) string {
	switch late.TimeoutType() {
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return fmt.Sprintf("its worker gave no sign of life for %s", heartbeat)
	case enumspb.TIMEOUT_TYPE_START_TO_CLOSE:
		return "it took longer than limits.step_minutes allows"
	default:
		return "it was not done in time"
	}
}

// err is how a round tells this failure to its experiment. Trying the round
// again is for somebody to decide.
func (f Failure) err(rounds int, cause error) error {
	return temporal.NewApplicationErrorWithOptions(f.place(rounds)+": "+f.Message, kindStep,
		temporal.ApplicationErrorOptions{NonRetryable: true, Cause: cause, Details: []any{f}})
}

// place names the step and its last attempt.
func (f Failure) place(rounds int) string {
	where := f.Step
	switch {
	case f.Round < 0:
		where = "preparing, " + where
	case f.Round >= rounds:
		where = "benchmarks, " + where
	default:
		where = fmt.Sprintf("round %d, %s", f.Round, where)
	}
	if f.Attempt > 0 {
		where += fmt.Sprintf(", attempt %d of %d", f.Attempt, f.Attempts)
	}
	return where
}

// logLines is how much of the end of a log goes into a sentence.
const logLines = 3

// Sentence says in plain words what failed, why, and what to do.
func (f Failure) Sentence(name string, rounds int) string {
	text := name + " needs attention: " + f.place(rounds) + ": " + strings.TrimRight(oneLine(f.Message), ". ")
	if tail := f.tail(); len(tail) > 0 {
		text += " (log: " + strings.Join(tail, " | ") + ")"
	}
	if f.Job != nil {
		text += "; its job keeps running, and a retry resumes watching it"
	}
	text += "; " + f.remedy(name) + ", then starter retry " + name
	if f.Skippable {
		text += ", or starter skip " + name
	}
	return text + ", or starter abort " + name
}

// tail is the end of the log as far as it says more than the message does.
func (f Failure) tail() []string {
	log := slices.DeleteFunc(slices.Clone(f.Log), func(line string) bool {
		return f.says(line) || strings.Contains(line, " begins on worker ")
	})
	return log[max(0, len(log)-logLines):]
}

// says whether the message has all that a line of the log says, which is on one line
// and may be cut off there.
func (f Failure) says(line string) bool {
	message := oneLine(f.Message)
	if parts := strings.SplitN(line, " ", 3); len(parts) == 3 { // time, level, text
		line = strings.TrimSuffix(parts[2], "…")
	}
	return strings.Contains(line, message) || strings.HasPrefix(message, line)
}

// oneLine has every run of spaces and line ends as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// remedies are what to do about each kind of failure; %[1]s is the experiment.
var remedies = map[string]string{
	activities.KindBadInput: "change the request with starter retry %[1]s --set FIELD=VALUE, or fix what it needs",
	activities.KindCorrupt:  "set the damaged artifact aside with starter artifacts verify %[1]s --repair",
	activities.KindMissing:  "restore what is lost, or have it made again",
	activities.KindModel:    "fix the model's endpoint, its name or the worker's key for it",
	activities.KindJob:      "fix the cause that it names: see the log with starter logs %[1]s --step train; change settings with starter retry %[1]s --set FIELD=VALUE",
	activities.KindServe:    "change how the model is served, in the section serve or on the worker",
	activities.KindOutage:   "bring the service back, or change where it is",
	activities.KindStopping: "start a worker that stays",
	activities.KindTimeout:  "look at the worker with starter logs %[1]s",
}

func (f Failure) remedy(name string) string {
	if r, ok := remedies[f.Kind]; ok {
		if strings.Contains(r, "%") {
			return fmt.Sprintf(r, name)
		}
		return r
	}
	return "fix the cause"
}
