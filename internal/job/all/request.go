package all

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"floe/internal/experiment"
	"floe/internal/job"
)

// Request is what a job section says of every attempt: command, variables,
// resources and grace. Job, attempt, spec and directories are the caller's.
func Request(j experiment.JobSpec) (job.Request, error) {
	env, err := Env(j)
	if err != nil {
		return job.Request{}, err
	}
	return job.Request{Command: j.Command, Env: env, Resources: Resources(j), Grace: Grace(j)}, nil
}

// Resources are what an attempt needs of a machine.
func Resources(j experiment.JobSpec) job.Resources {
	const gigabyte = 1e9
	return job.Resources{
		GPUs: j.GPUs, CPUs: j.CPUs, MemoryBytes: int64(math.Round(j.Memory * gigabyte)), Wall: time.Duration(j.Wall) * time.Minute,
	}
}

// Grace is the time that an attempt gets to save.
func Grace(j experiment.JobSpec) time.Duration { return time.Duration(j.Grace) * time.Second }

// Patience is how long an attempt may show no progress.
func Patience(j experiment.JobSpec) job.Patience {
	return job.Patience{Least: time.Duration(j.Hang) * time.Minute}
}

// Env are the variables that a job section adds; the error has every fault.
func Env(j experiment.JobSpec) ([]job.Var, error) {
	var vars []job.Var
	var errs []error
	seen := map[string]bool{}
	for i, text := range j.Env {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "": // not shown: it may be a value that belongs elsewhere
			errs = append(errs, fmt.Errorf("job.env[%d]: found no NAME=value; want one", i))
		case seen[name]:
			errs = append(errs, fmt.Errorf("job.env[%d]: found %s a second time; want each variable once", i, name))
		}
		seen[name] = true
		vars = append(vars, job.Var{Name: name, Value: value})
	}
	return vars, errors.Join(errs...)
}
