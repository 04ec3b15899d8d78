package job

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Result is result.json, which is written last of all, only if every step was
// made.
type Result struct {
	Schema          string            `json:"schema"`
	JobID           string            `json:"job_id"`
	Attempt         int               `json:"attempt"`
	Status          string            `json:"status"` // "done"
	SpecSHA256      string            `json:"spec_sha256"`
	StepsDone       int               `json:"steps_done"`
	ExpectedSteps   int               `json:"expected_steps"`
	Padded          int               `json:"padded"`           // tasks that filled the last step
	FinalCheckpoint string            `json:"final_checkpoint"` // directory below the job's
	ManifestSHA256  string            `json:"manifest_sha256"`
	RewardState     RewardState       `json:"reward_state"`
	Metrics         Summary           `json:"metrics"`
	Settings        json.RawMessage   `json:"settings"` // complete, defaults filled in
	Versions        map[string]string `json:"versions"`
	PackagesSHA256  string            `json:"packages_sha256"`
	Device          string            `json:"device"`
	PeakMemoryBytes *int64            `json:"peak_memory_bytes"`
	Started         time.Time         `json:"started"` // of the attempt that wrote it
	Ended           time.Time         `json:"ended"`
}

// Summary is data of the first and the last step, and the mean of the last
// tenth of the steps.
type Summary struct {
	First map[string]*float64 `json:"first"`
	Last  map[string]*float64 `json:"last"`
	Mean  map[string]*float64 `json:"mean"`
}

const fileResult = "result.json"

// ReadResult reads result.json by itself; ErrAbsent if there is none. Whether
// the job succeeded, Judge says.
func ReadResult(files fs.FS) (Result, error) {
	body, err := readFile(files, fileResult, largestRecord)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if err := decode(fileResult, body, &r, unknownPassed); err != nil {
		return Result{}, err
	}
	f := faults{name: fileResult}
	f.want(r.Schema == ResultSchema, "schema", r.Schema, ResultSchema)
	f.want(r.Status == "done", "status", r.Status, "done")
	f.want(r.Attempt >= 1, "attempt", r.Attempt, "1 or more")
	f.want(r.Padded >= 0, "padded", r.Padded, "0 or more")
	f.want(fs.ValidPath(r.FinalCheckpoint) && strings.HasPrefix(r.FinalCheckpoint, "checkpoints/"), "final_checkpoint", r.FinalCheckpoint, "a directory such as checkpoints/step-000250")
	f.digest("spec_sha256", &r.SpecSHA256)
	f.digest("manifest_sha256", &r.ManifestSHA256)
	return r, f.err()
}

// against returns all that keeps a result from being that of a spec.
func (r Result) against(spec Spec, digest string) error {
	f := faults{name: fileResult}
	f.want(r.SpecSHA256 == digest, "spec_sha256", r.SpecSHA256, digest)
	// Trainers have been seen to end well after no step at all.
	f.want(r.StepsDone > 0, "steps_done", r.StepsDone, "more than 0")
	f.want(r.StepsDone == spec.ExpectedSteps, "steps_done", r.StepsDone, fmt.Sprintf("expected_steps = %d of the spec", spec.ExpectedSteps))
	f.want(r.ExpectedSteps == spec.ExpectedSteps, "expected_steps", r.ExpectedSteps, fmt.Sprintf("%d as in the spec", spec.ExpectedSteps))
	return f.err()
}
