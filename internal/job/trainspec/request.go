package trainspec

import (
	"math"
	"strings"
	"time"

	"floe/internal/experiment"
	"floe/internal/job"
)

// FileSpec is the file of a job's directory that is written before its first attempt.
const FileSpec = "spec.json"

const gigabyte = 1e9

// Request is the part of a request that the job section says.
func Request(j experiment.JobSpec) job.Request {
	r := job.Request{
		Command: j.Command,
		Resources: job.Resources{
			GPUs: j.GPUs, CPUs: j.CPUs, MemoryBytes: int64(math.Round(j.Memory * gigabyte)), Wall: time.Duration(j.Wall) * time.Minute,
		},
		Grace: time.Duration(j.Grace) * time.Second,
	}
	for _, v := range j.Env {
		name, value, _ := strings.Cut(v, "=")
		r.Env = append(r.Env, job.Var{Name: name, Value: value})
	}
	return r
}
