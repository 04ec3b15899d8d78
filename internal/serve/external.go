package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"floe/internal/endpoint"
)

// External is a server that somebody else runs. Floe neither starts nor stops it: it
// asks, looks whether what it is to ask is served, and loads checkpoints where it is
// told to.
type External struct {
	Endpoint endpoint.Endpoint
	Model    string // the base model, as requests name it
	Root     string // what the server must say the base model is; empty: not checked
	// Loads says that floe loads checkpoints into it, over vLLM's interface for
	// adapters, from where the server finds them under the same path; without it,
	// whoever runs the server has loaded them under their names.
	Loads bool
}

// Server is the external server.
func (x External) Server() (Server, error) {
	if x.Endpoint.Host() == "" {
		return nil, errors.New("external server: no address")
	}
	if x.Model == "" {
		return nil, errors.New("external server: no model to ask")
	}
	return &external{x, admin{name: "server " + x.Endpoint.Host(), at: x.Endpoint, theirs: true}}, nil
}

type external struct {
	External

	admin admin
}

// Start implements Server: there is nothing to start.
func (s *external) Start(ctx context.Context) error {
	if err := s.Health(ctx); err != nil {
		return err
	}
	return s.WarmUp(ctx, s.Model)
}

// Health implements Server. Some servers list no models, or not to everybody: then
// only a question shows whether one is served, and that is for WarmUp.
func (s *external) Health(ctx context.Context) error {
	m, ok, err := s.admin.find(ctx, s.Model)
	switch {
	case mute(err) && s.Root == "":
		return nil
	case err != nil:
		return err
	case !ok:
		return &WrongModelError{s.admin.name, s.Model, "nothing", s.wanted()}
	case s.Root != "" && m.Root != s.Root:
		return &WrongModelError{s.admin.name, s.Model, m.Root, s.Root}
	}
	return nil
}

func (s *external) wanted() string {
	if s.Root != "" {
		return s.Root
	}
	return "a model of that name"
}

// mute is a server that is there and does not list its models to us.
func mute(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	switch status.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// WarmUp implements Server.
func (s *external) WarmUp(ctx context.Context, model string) error {
	return WarmUp(ctx, Served{s.Endpoint, model})
}

// Base implements Server.
func (s *external) Base() Served { return Served{s.Endpoint, s.Model} }

// Load implements Server.
func (s *external) Load(ctx context.Context, c Checkpoint) (Served, error) {
	if err := c.validate(); err != nil {
		return Served{}, err
	}
	served := Served{s.Endpoint, c.Name()}
	if s.Loads {
		return served, vllmLoad(ctx, s.admin, c.Name(), c.Dir)
	}
	_, ok, err := s.admin.find(ctx, c.Name())
	if err == nil && !ok {
		err = errors.Join(ErrCannotLoad, &WrongModelError{s.admin.name, c.Name(), "nothing", "the checkpoint " + c.Dir + ", loaded by the server's operator"})
	}
	return served, err
}

// Loaded implements Server: what is served beside the base model.
func (s *external) Loaded(ctx context.Context) ([]string, error) {
	return s.admin.adapters(ctx, s.Model)
}

// Unload implements Server: what floe does not load it leaves.
func (s *external) Unload(ctx context.Context, name string) error {
	if !s.Loads {
		return nil
	}
	if _, ok, err := s.admin.find(ctx, name); err != nil || !ok {
		return err
	}
	return vllmUnload(ctx, s.admin, name)
}

// Describe implements Server. What the server does not say is left out.
func (s *external) Describe(ctx context.Context) string {
	m, ok, err := s.admin.find(ctx, s.Model)
	root := s.Model
	if err == nil && ok && m.Root != "" {
		root = m.Root
	}
	version := s.admin.version(ctx, dialects["vllm"].version)
	if version != "" {
		version = "vllm " + version
	}
	return described("external", version, root)
}

// Sleep implements Server.
func (s *external) Sleep(context.Context) error { return ErrCannotSleep }

// Wake implements Server.
func (s *external) Wake(context.Context) error { return ErrCannotSleep }

// Release implements Server.
func (s *external) Release() error { return nil }

// Leave implements Server.
func (s *external) Leave(context.Context, time.Duration) error { return nil }

// Stop implements Server: it is not ours to stop.
func (s *external) Stop(context.Context, time.Duration) error { return nil }
