package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"floe/internal/job"
)

// Schema of the history.
const Schema = "floe.attempts/v1"

// History is what became of all attempts at a step's job, in the order in which
// they were made.
type History struct {
	Schema    string    `json:"schema"`
	StopAsked time.Time `json:"stop_asked,omitzero"` // when Stop was last called
	Attempts  []Attempt `json:"attempts"`
}

// Attempt is one start of the trainer, or an attempt at that.
type Attempt struct {
	Job        string    `json:"job"`
	Number     int       `json:"number"` // from 1 in each job
	SpecSHA256 string    `json:"spec_sha256"`
	Work       string    `json:"work"`           // on whose behalf it was last watched
	Host       string    `json:"host,omitempty"` // machine that alone sees it; empty: all do
	GPUs       int       `json:"gpus"`
	Submitting time.Time `json:"submitting"`         // just before the back end was asked
	Submitted  time.Time `json:"submitted,omitzero"` // just after; zero: its answer was not heard
	Hung       time.Time `json:"hung,omitzero"`      // since when it had stood still as it was ended for that

	Status job.Status `json:"status"` // as last seen

	Ended   time.Time   `json:"ended,omitzero"`    // when the end was seen
	Outcome job.Outcome `json:"outcome,omitempty"` // empty: at work, or not judged yet
	Reason  string      `json:"reason,omitempty"`
	Steps   int         `json:"steps"` // of the newest whole checkpoint after its end
}

// Name is what back ends know it by.
func (a Attempt) Name() string { return job.Name(a.Job, a.Number) }

// AtWork reports whether it may still run, as far as is known.
func (a Attempt) AtWork() bool { return !a.Status.State.Final() }

// ReadHistory reads a history strictly; the error has every fault. Nothing at all
// is the history of a job without attempts.
func ReadHistory(body []byte) (History, error) {
	if len(body) == 0 {
		return History{Schema: Schema}, nil
	}
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return History{}, fmt.Errorf("history of attempts: %w", err)
	}
	if version.Schema != Schema {
		return History{}, fmt.Errorf("history of attempts: schema: found %q; want %s: another version of floe wrote it", version.Schema, Schema)
	}
	var h History
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return History{}, fmt.Errorf("history of attempts: %w", err)
	}
	return h, h.validate()
}

func (h History) validate() error {
	var errs []error
	seen := map[string]bool{}
	for i, a := range h.Attempts {
		wrong := func(key string, found any, want string) {
			errs = append(errs, fmt.Errorf("history of attempts: attempts[%d].%s: found %v; want %s", i, key, found, want))
		}
		if a.Number < 1 {
			wrong("number", a.Number, "1 or more")
		} else if err := job.CheckName(a.Name()); err != nil {
			wrong("job", a.Job, err.Error())
		}
		if seen[a.Name()] {
			wrong("number", a.Number, "each attempt of "+a.Job+" once")
		}
		seen[a.Name()] = true
		if a.Status.State == "" || !known(a.Status.State) {
			wrong("status.state", fmt.Sprintf("%q", a.Status.State), "pending, running, ended, preempted or lost")
		}
		if a.Steps < 0 || a.GPUs < 0 {
			wrong("steps", a.Steps, "steps and gpus of 0 or more")
		}
		switch a.Outcome {
		case "", job.Success, job.Interrupted, job.Failed, job.Hopeless, job.Busy:
		default:
			wrong("outcome", fmt.Sprintf("%q", a.Outcome), "success, interrupted, failed, hopeless, busy or nothing")
		}
		if a.Outcome != "" && a.AtWork() {
			wrong("outcome", a.Outcome, "none, as its state is "+string(a.Status.State))
		}
	}
	return errors.Join(errs...)
}

func known(s job.State) bool { return s == job.Pending || s == job.Running || s.Final() }

// Marshal writes the history.
func (h History) Marshal() ([]byte, error) {
	h.Schema = Schema
	if h.Attempts == nil {
		h.Attempts = []Attempt{}
	}
	body, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write history of attempts: %w", err)
	}
	return append(body, '\n'), nil
}
