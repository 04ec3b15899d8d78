package job

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"floe/internal/experiment"
)

// Request is all that a back end needs to start an attempt.
type Request struct {
	Job        string        `json:"job"`     // name of the job, from ForStep
	Attempt    int           `json:"attempt"` // from 1
	Command    []string      `json:"command"` // argument vector of the trainer, passed on as it is
	Spec       string        `json:"spec"`    // path or s3:// address of spec.json
	SpecSHA256 string        `json:"spec_sha256"`
	Dir        string        `json:"dir"`              // directory of the job on the machine where it runs
	Output     string        `json:"output,omitempty"` // s3:// prefix for the job's files; empty if the worker sees Dir
	Env        []Var         `json:"env,omitempty"`    // more variables; back ends show them, so no secrets
	Resources  Resources     `json:"resources"`
	Grace      time.Duration `json:"grace"` // between a request to stop and the kill
}

// Var is one variable of the program's environment.
type Var struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Resources are what an attempt needs of a machine. Zero leaves it to the back
// end's own settings.
type Resources struct {
	GPUs        int           `json:"gpus,omitempty"`
	CPUs        int           `json:"cpus,omitempty"`
	MemoryBytes int64         `json:"memory_bytes,omitempty"`
	Wall        time.Duration `json:"wall,omitempty"` // longest time that an attempt may run
}

// ForStep names the job of a step. Equal steps are equal work, so they share it.
func ForStep(id experiment.StepID) string {
	const digits = 20 // 80 bits of the key tell jobs apart and leave the name short
	return fmt.Sprintf("%s-%.*s", id.Kind, digits, id.Key)
}

// Name names an attempt of a job: what back ends know it by.
func Name(job string, attempt int) string { return fmt.Sprintf("%s-a%d", job, attempt) }

// Name is the name of this attempt.
func (r Request) Name() string { return Name(r.Job, r.Attempt) }

// Environ is what the contract and the request put into the program's environment.
func (r Request) Environ() []Var {
	vars := []Var{
		{"FLOE_JOB_SPEC", r.Spec},
		{"FLOE_JOB_DIR", r.Dir},
		{"FLOE_JOB_ID", r.Name()},
		{"FLOE_ATTEMPT", strconv.Itoa(r.Attempt)},
	}
	if r.Output != "" {
		vars = append(vars, Var{"FLOE_OUTPUT_URI", r.Output})
	}
	return append(vars, r.Env...)
}

// Names must suit every back end: a label of DNS, as Kubernetes wants it, with
// room for what it appends to the names of pods.
const longestName = 52

var (
	nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	varForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	sumForm  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// CheckName says what is wrong with the name of an attempt.
func CheckName(name string) error {
	if len(name) > longestName || !nameForm.MatchString(name) {
		return fmt.Errorf("job name %q; want at most %d of a-z, 0-9 and -, a letter first and no - last", name, longestName)
	}
	return nil
}

// Validate returns everything that is wrong with the request.
func (r Request) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := CheckName(r.Name()); err != nil {
		errs = append(errs, err)
	}
	if r.Attempt < 1 {
		wrong("attempt %d; want 1 or more", r.Attempt)
	}
	if len(r.Command) == 0 || r.Command[0] == "" {
		wrong("no command; want the trainer's argument vector")
	}
	for _, f := range []struct{ name, value string }{{"spec", r.Spec}, {"dir", r.Dir}} {
		if f.value == "" {
			wrong("no %s; want a path", f.name)
		}
	}
	if !sumForm.MatchString(r.SpecSHA256) {
		wrong("spec_sha256 %q; want 64 lower-case hex digits", r.SpecSHA256)
	}
	if r.Grace < 0 || r.Resources.GPUs < 0 || r.Resources.CPUs < 0 || r.Resources.MemoryBytes < 0 || r.Resources.Wall < 0 {
		wrong("negative resources or grace in %+v, %s; want 0 or more", r.Resources, r.Grace)
	}
	for _, text := range append([]string{r.Spec, r.Dir, r.Output}, r.Command...) {
		if strings.ContainsRune(text, 0) {
			wrong("%q holds a NUL, which no program can be given", text)
		}
	}
	return errors.Join(append(errs, r.checkEnv())...)
}

func (r Request) checkEnv() error {
	var errs []error
	for _, v := range r.Env {
		switch {
		case !varForm.MatchString(v.Name):
			errs = append(errs, fmt.Errorf("variable %q; want a letter or _, then letters, digits and _", v.Name))
		case strings.HasPrefix(v.Name, "FLOE_"):
			errs = append(errs, fmt.Errorf("variable %s; names that begin with FLOE_ are the contract's", v.Name))
		case strings.ContainsRune(v.Value, 0):
			errs = append(errs, fmt.Errorf("variable %s holds a NUL, which no program can be given", v.Name))
		}
	}
	return errors.Join(errs...)
}
