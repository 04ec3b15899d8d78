// Package ray is the back end for a Ray cluster, by the REST interface of its
// Jobs. Ray knows a job by the name that we choose, and keeps the digest of its
// spec as metadata; so nothing is kept elsewhere.
//
// Ray kills soon after it was asked to stop (three seconds, unless the cluster is
// set otherwise), and forgets its jobs when its head goes down. So Stop first
// waits for the program to follow stop.requested, and a job that is unknown after
// it was seen is lost.
//
// Ray shows a job's variables to everyone who can see its dashboard. What is
// secret belongs into the environment that the cluster was started with.
package ray

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
)

// Settings of the back end.
type Settings struct {
	Address string // of the dashboard: http://head:8265
	// Token is sent as a bearer's; empty: none. Ray takes it from RAY_AUTH_TOKEN.
	Token string
	// EntrypointGPUs are reserved for the process that is started; nil: what the
	// request wants. It is 0 for trainers that reserve GPUs themselves, as verl.
	EntrypointGPUs *int
	// Resources are Ray's custom resources that the process needs.
	Resources map[string]float64
	// WorkingDir is an archive that Ray unpacks for the job, by its address.
	WorkingDir string
	// Timeout bounds one call; 0: half a minute.
	Timeout time.Duration
}

const (
	defaultTimeout = 30 * time.Second
	// goneWithin is how long Ray may take to end a job. One that has not started
	// it cannot withdraw: it ends as soon as it starts, or when it has waited for
	// RAY_JOB_START_TIMEOUT_SECONDS, 15 minutes by default.
	goneWithin = 20 * time.Minute
	digestKey  = "floe_spec_sha256"
	jobKey     = "floe_job"
)

// New checks settings and returns the back end.
func New(s Settings) (*Backend, error) {
	u, err := url.Parse(s.Address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("ray back end: address %q; want one such as http://head:8265", s.Address)
	}
	if s.EntrypointGPUs != nil && *s.EntrypointGPUs < 0 {
		return nil, fmt.Errorf("ray back end: %d GPUs for the entrypoint; want 0 or more", *s.EntrypointGPUs)
	}
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	s.Address = strings.TrimSuffix(s.Address, "/")
	return &Backend{settings: s, client: &http.Client{}}, nil
}

// Backend implements job.Backend.
type Backend struct {
	settings Settings
	client   *http.Client
}

var _ job.Backend = (*Backend)(nil)

// Check implements job.Backend.
func (b *Backend) Check(ctx context.Context) error {
	var v struct {
		Ray string `json:"ray_version"`
	}
	if err := b.call(ctx, http.MethodGet, "/api/version", nil, &v); err != nil {
		return fmt.Errorf("ray back end: %w", err)
	}
	if v.Ray == "" {
		return fmt.Errorf("ray back end: what answers at %s is no Ray", b.settings.Address)
	}
	return nil
}

// submission is what Ray takes.
type submission struct {
	Entrypoint   string             `json:"entrypoint"`
	SubmissionID string             `json:"submission_id"`
	RuntimeEnv   runtimeEnv         `json:"runtime_env"`
	Metadata     map[string]string  `json:"metadata"`
	CPUs         int                `json:"entrypoint_num_cpus,omitempty"`
	GPUs         int                `json:"entrypoint_num_gpus,omitempty"`
	Memory       int64              `json:"entrypoint_memory,omitempty"` // bytes
	Resources    map[string]float64 `json:"entrypoint_resources,omitempty"`
}

type runtimeEnv struct {
	WorkingDir string `json:"working_dir,omitempty"`
}

// Submit implements job.Backend. Ray refuses a second job of a name, in one of
// several ways; so after any trouble it is asked what it has.
func (b *Backend) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	if err := r.Validate(); err != nil {
		return job.Status{}, err
	}
	if s, err := b.adopt(ctx, r); !errors.Is(err, job.ErrUnknown) {
		return s, err
	}
	if err := b.call(ctx, http.MethodPost, "/api/jobs/", b.submission(r), nil); err != nil {
		s, again := b.adopt(ctx, r)
		if errors.Is(again, job.ErrUnknown) {
			return job.Status{}, err
		}
		return s, again
	}
	return b.adopt(ctx, r)
}

func (b *Backend) submission(r job.Request) submission {
	s := submission{
		Entrypoint: entrypoint(r), SubmissionID: r.Name(), RuntimeEnv: runtimeEnv{WorkingDir: b.settings.WorkingDir},
		Metadata: map[string]string{digestKey: r.SpecSHA256, jobKey: r.Job},
		CPUs:     r.Resources.CPUs, GPUs: r.Resources.GPUs, Memory: r.Resources.MemoryBytes, Resources: b.settings.Resources,
	}
	if n := b.settings.EntrypointGPUs; n != nil {
		s.GPUs = *n
	}
	return s
}

// entrypoint is a line for Ray's shell, which makes way for the program: its
// exit code is the job's. The variables are part of the line, as Ray would expand
// what looks like other variables in the ones that it is given.
func entrypoint(r job.Request) string {
	words := []string{"exec", "env"}
	for _, v := range r.Environ() {
		words = append(words, v.Name+"="+v.Value)
	}
	return cli.QuoteAll(append(words, r.Command...))
}

// adopt finds the job of a request, if it has the same spec.
func (b *Backend) adopt(ctx context.Context, r job.Request) (job.Status, error) {
	found, err := b.get(ctx, r.Name())
	if err != nil {
		return job.Status{}, err
	}
	if digest := found.Metadata[digestKey]; digest != r.SpecSHA256 {
		return job.Status{}, &job.ConflictError{Name: r.Name(), Found: digest, Want: r.SpecSHA256}
	}
	return found.status(), nil
}

// Status implements job.Backend.
func (b *Backend) Status(ctx context.Context, name string) (job.Status, error) {
	found, err := b.get(ctx, name)
	if err != nil {
		return job.Status{}, err
	}
	if !strings.HasPrefix(name, found.Metadata[jobKey]+"-a") {
		return job.Status{}, fmt.Errorf("%s: what Ray has under that name was not submitted by floe: %w", name, job.ErrUnknown)
	}
	return found.status(), nil
}

// details is what Ray says of a job.
type details struct {
	Name     string            `json:"submission_id"`
	Status   string            `json:"status"`
	Message  string            `json:"message"`
	Error    string            `json:"error_type"`
	Start    int64             `json:"start_time"` // milliseconds since 1970
	End      int64             `json:"end_time"`
	Metadata map[string]string `json:"metadata"`
	Exit     *int              `json:"driver_exit_code"`
	Node     string            `json:"driver_node_id"`
}

func (b *Backend) get(ctx context.Context, name string) (details, error) {
	if err := job.CheckName(name); err != nil {
		return details{}, err
	}
	var d details
	err := b.call(ctx, http.MethodGet, "/api/jobs/"+name, nil, &d)
	if failed, ok := errors.AsType[*answerError](err); ok && failed.code == http.StatusNotFound {
		return details{}, fmt.Errorf("%s: %w", name, job.ErrUnknown)
	}
	return d, err
}

func (d details) status() job.Status {
	s := job.Status{Name: d.Name, State: d.state(), Where: "Ray job " + d.Name}
	if d.Node != "" {
		s.Where += " on node " + d.Node
	}
	if s.State != job.Running && d.Status != "SUCCEEDED" {
		s.Reason = brief(d.Message)
	}
	if s.State != job.Pending && d.Start > 0 {
		s.Started = time.UnixMilli(d.Start).UTC()
	}
	if !s.State.Final() {
		return s
	}
	if d.End > 0 {
		s.Ended = time.UnixMilli(d.End).UTC()
	}
	s.ExitCode = d.exitCode()
	return s
}

// state maps Ray's. A failure without an exit code is none of the program: Ray
// could not start it, or lost its machine.
func (d details) state() job.State {
	switch {
	case d.Status == "PENDING":
		return job.Pending
	case d.Status == "RUNNING":
		return job.Running
	case d.Status == "FAILED" && d.Exit == nil:
		return job.Lost
	default: // SUCCEEDED, FAILED, STOPPED
		return job.Ended
	}
}

func (d details) exitCode() *int {
	code := d.Exit
	switch {
	case d.Status == "SUCCEEDED":
		code = new(int)
	case d.Status == "STOPPED" && code != nil && *code == 0:
		return nil // it was killed; Ray's zero is none
	case code != nil && *code < 0: // how Python tells of a signal
		n := 128 - *code
		code = &n
	}
	return code
}

// Stop implements job.Backend.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	s, err := b.Status(ctx, name)
	if errors.Is(err, job.ErrUnknown) {
		return nil
	}
	if err != nil || s.State.Final() {
		return err
	}
	gone := attempt.Gone(b, name)
	if s.State == job.Running {
		if done, err := attempt.Until(ctx, grace, gone); done || err != nil {
			return err
		}
	}
	if err := b.call(ctx, http.MethodPost, "/api/jobs/"+name+"/stop", nil, nil); err != nil {
		return err
	}
	done, err := attempt.Until(ctx, goneWithin, gone)
	if err == nil && !done {
		err = fmt.Errorf("%s is still there %s after Ray was told to kill it", name, goneWithin)
	}
	return err
}
