package serve

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"floe/internal/endpoint"
)

// External is a server that somebody else runs. Floe starts, stops and changes
// nothing there: it asks, and looks whether what it is to ask is served.
type External struct {
	URL      string            // with /v1, as OpenAI's clients have it
	Endpoint endpoint.Endpoint // of the same URL, with its key
	Model    string            // the base model, as requests name it
	Root     string            // what the server must say the base model is; empty: not checked
	// Key lists models where the server wants one for that too. It is not needed to
	// ask: the endpoint has it.
	Key string
}

var errExternalURL = errors.New("the external server is no URL like http://127.0.0.1:8000/v1") // not quoted: it may hold a secret

// Server is the external server.
func (x External) Server() (Server, error) {
	u, err := url.Parse(strings.TrimSpace(x.URL))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errExternalURL
	}
	if x.Model == "" {
		return nil, errors.New("external server: no model to ask")
	}
	root := &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), RawQuery: ""}
	return &external{x, admin{name: "server " + u.Host, root: root.String(), key: x.Key}}, nil
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
	return warmUp(ctx, Served{s.Endpoint, model})
}

// Base implements Server.
func (s *external) Base() Served { return Served{s.Endpoint, s.Model} }

// Load implements Server: whoever runs the server has loaded the checkpoint under
// its name, or has not.
func (s *external) Load(ctx context.Context, c Checkpoint) (Served, error) {
	if err := c.validate(); err != nil {
		return Served{}, err
	}
	_, ok, err := s.admin.find(ctx, c.Name())
	if err == nil && !ok {
		err = errors.Join(ErrCannotLoad, &WrongModelError{s.admin.name, c.Name(), "nothing", "the checkpoint " + c.Dir + ", loaded by whoever runs the server"})
	}
	return Served{s.Endpoint, c.Name()}, err
}

// Unload implements Server: what floe has not loaded it leaves.
func (s *external) Unload(context.Context, Checkpoint) error { return nil }

// Sleep implements Server.
func (s *external) Sleep(context.Context) error { return ErrCannotSleep }

// Wake implements Server.
func (s *external) Wake(context.Context) error { return ErrCannotSleep }

// Release implements Server.
func (s *external) Release() error { return nil }

// Stop implements Server: it is not ours to stop.
func (s *external) Stop(context.Context, time.Duration) error { return nil }
