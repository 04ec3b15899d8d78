// Package serve makes a checkpoint an OpenAI-compatible endpoint: it starts a model
// server on this machine, or uses one that somebody else runs, and proves that what
// answers is the model that was meant.
//
// A server of ours is known by name. It outlives the worker that started it, so that
// the next one adopts it instead of loading a model for minutes; and it never stays:
// a guard beside it ends it when no worker has held its lease for a while.
package serve

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"floe/internal/endpoint"
)

// Server is a model server. Its methods may be called again after an error, and by
// a worker that has not started it.
type Server interface {
	// Start starts the server, or adopts the one of its name that runs with the same
	// settings. It returns when the server is healthy and serves the base model that
	// it was told to, and keeps the server's lease until Stop or Release.
	Start(ctx context.Context) error
	// Health fails when the server does not answer, or serves another base model.
	Health(ctx context.Context) error
	// WarmUp has a model answer one token, so that the first question need not wait
	// for what a server puts off, and a model that cannot answer is found out.
	WarmUp(ctx context.Context, model string) error
	// Base is the untrained model, ready to be asked.
	Base() Served
	// Load makes a checkpoint's adapter answer beside the base model. Its name is of
	// the checkpoint alone and never given to another: servers keep what they have
	// computed by name. Loading again is fine. ErrCannotLoad where a server has to be
	// started with it instead.
	Load(ctx context.Context, c Checkpoint) (Served, error)
	// Loaded lists the names of the checkpoints that are loaded, whoever has done it.
	Loaded(ctx context.Context) ([]string, error)
	// Unload frees the place of a checkpoint, by its name; no error if it is not
	// loaded.
	Unload(ctx context.Context, name string) error
	// Describe says what answers, for the record: kind, version and base model.
	Describe(ctx context.Context) string
	// Sleep gives the GPU's memory to others until Wake. ErrCannotSleep where a server
	// has to be stopped instead.
	Sleep(ctx context.Context) error
	Wake(ctx context.Context) error
	// Release lets the server go without stopping it: somebody else may adopt it
	// before its guard ends it.
	Release() error
	// Leave is Release, and Stop where no other worker holds the server's lease.
	Leave(ctx context.Context, grace time.Duration) error
	// Stop ends the server, killing it after a time, and returns when it is gone.
	Stop(ctx context.Context, grace time.Duration) error
}

// Served is a model that can be asked.
type Served struct {
	Endpoint endpoint.Endpoint
	Model    string // as requests name it
}

// Checkpoint is what a training has left, on the disk of the server.
type Checkpoint struct {
	Label  string // for people: "exp-round-2"
	Dir    string // absolute; for llama.cpp a GGUF file
	SHA256 string // of its manifest: what tells it from all others
}

// ErrCannotLoad says that a server takes no adapters while it runs.
var ErrCannotLoad = errors.New("this server takes no adapter while it runs; start one with the checkpoint")

// ErrCannotSleep says that a server cannot give back memory while it runs.
var ErrCannotSleep = errors.New("this server cannot sleep; stop it")

const (
	digestDigits = 12 // 48 bits tell the checkpoints of one server apart
	longestLabel = 40
)

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// Name is what the checkpoint is served as: its label, and the start of its digest.
func (c Checkpoint) Name() string {
	label := strings.Trim(unfit.ReplaceAllString(strings.ToLower(c.Label), "-"), "-")
	if len(label) > longestLabel {
		label = strings.TrimRight(label[:longestLabel], "-")
	}
	return strings.TrimLeft(label+"-"+c.SHA256[:min(len(c.SHA256), digestDigits)], "-")
}

var sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (c Checkpoint) validate() error {
	var errs []error
	if !strings.HasPrefix(c.Dir, "/") {
		errs = append(errs, fmt.Errorf("checkpoint %s: directory %q; want an absolute path", c.Label, c.Dir))
	}
	if !sumForm.MatchString(c.SHA256) {
		errs = append(errs, fmt.Errorf("checkpoint %s: sha256 %q; want 64 lower-case hex digits", c.Label, c.SHA256))
	}
	return errors.Join(errs...)
}

// WrongModelError is a server that serves another model than it should.
type WrongModelError struct{ Server, Name, Found, Want string }

// Error implements error.
func (e *WrongModelError) Error() string {
	return fmt.Sprintf("%s serves %s as %s; want %s", e.Server, e.Found, e.Name, e.Want)
}

// WarmUp asks a model for one token.
func WarmUp(ctx context.Context, s Served) error {
	quiet := func(time.Duration, *endpoint.Trouble) {}
	err := s.Endpoint.Persist(ctx, "warm up "+s.Model, func() *endpoint.Trouble {
		_, trouble := s.Endpoint.Call(ctx, endpoint.Request{
			Model: s.Model, MaxTokens: 1, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "1"}},
		})
		return trouble
	}, quiet)
	if err != nil {
		return fmt.Errorf("warm up %s: %w", s.Model, err)
	}
	return nil
}

// described joins what is known of a server.
func described(kind, version, model string) string {
	text := strings.TrimSpace(kind + " " + version)
	if model != "" {
		text += ", model " + model
	}
	return text
}
