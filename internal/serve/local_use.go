package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/pause"
)

var errNotStarted = errors.New("the server has not been started here")

// started is the way to a server that Start has found.
func (s *local) started() (admin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.url == "" {
		return admin{}, fmt.Errorf("server %s: %w", s.settings.Name, errNotStarted)
	}
	return s.admin(), nil
}

// Health implements Server.
func (s *local) Health(ctx context.Context) error {
	a, err := s.started()
	if err != nil {
		return err
	}
	if err := a.call(ctx, quickCall, http.MethodGet, s.dialect.health, nil, nil); err != nil {
		return err
	}
	return s.dialect.verify(ctx, a, s.settings)
}

// WarmUp implements Server.
func (s *local) WarmUp(ctx context.Context, model string) error {
	a, err := s.started()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watchEnd(ctx, cancel)
	}()
	err = WarmUp(ctx, s.at(a, model))
	cancel(nil)
	<-done
	return err
}

// watchEnd cancels what waits for a server once the server has ended: the first
// question is what brings many down, and nobody answers the next.
func (s *local) watchEnd(ctx context.Context, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	name := job.Name(s.job(), s.attempt)
	s.mu.Unlock()
	for pause.For(ctx, watchEvery) == nil {
		if st, err := s.Jobs.Status(ctx, name); err == nil && st.State.Final() {
			cancel(fmt.Errorf("%w: %s; the end of its log:\n%s", errEnded, st, s.tail(ctx, name)))
		}
	}
}

// Base implements Server.
func (s *local) Base() Served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(s.admin(), s.settings.served())
}

// at is a model of the server.
func (s *local) at(a admin, model string) Served { return Served{Endpoint: a.at, Model: model} }

// Describe implements Server.
func (s *local) Describe(ctx context.Context) string {
	a, err := s.started()
	if err != nil {
		return s.settings.Kind + ", not started"
	}
	return described(s.settings.Kind, a.version(ctx, s.dialect.version), strings.TrimSuffix(s.settings.Model+"@"+s.settings.Revision, "@"))
}

// Loaded implements Server.
func (s *local) Loaded(ctx context.Context) ([]string, error) {
	if s.settings.MaxAdapters == 0 {
		return nil, nil
	}
	a, err := s.started()
	if err != nil {
		return nil, err
	}
	return a.adapters(ctx, s.settings.served())
}

// Load implements Server.
func (s *local) Load(ctx context.Context, c Checkpoint) (Served, error) {
	if err := c.validate(); err != nil {
		return Served{}, err
	}
	if s.settings.MaxAdapters == 0 {
		return Served{}, ErrCannotLoad
	}
	a, err := s.started()
	if err != nil {
		return Served{}, err
	}
	if err := s.dialect.load(ctx, a, c.Name(), c.Dir); err != nil {
		return Served{}, err
	}
	name := c.Name()
	if s.dialect.asked != nil {
		name = s.dialect.asked(s.settings.served(), name)
	}
	return s.at(a, name), nil
}

// Unload implements Server.
func (s *local) Unload(ctx context.Context, name string) error {
	if s.settings.MaxAdapters == 0 {
		return ErrCannotLoad
	}
	a, err := s.started()
	if err != nil {
		return err
	}
	if _, ok, err := a.find(ctx, name); err != nil || !ok {
		return err
	}
	return s.dialect.unload(ctx, a, name)
}

// Sleep implements Server.
func (s *local) Sleep(ctx context.Context) error { return s.doze(ctx, s.dialect.sleep) }

// Wake implements Server.
func (s *local) Wake(ctx context.Context) error { return s.doze(ctx, s.dialect.wake) }

func (s *local) doze(ctx context.Context, do func(context.Context, admin) error) error {
	if !s.settings.Sleep {
		return ErrCannotSleep
	}
	a, err := s.started()
	if err != nil {
		return err
	}
	return do(ctx, a)
}

// Release implements Server.
func (s *local) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release()
}

func (s *local) release() error {
	err := s.lease.release()
	s.lease, s.attempt, s.url = nil, 0, ""
	return err
}

// Leave implements Server.
func (s *local) Leave(ctx context.Context, grace time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.release(); err != nil {
		return err
	}
	n, live, err := s.last(ctx)
	if err != nil || !live {
		return err
	}
	l, err := seizeLease(ctx, s.dir(n))
	if err != nil || l == nil {
		return err
	}
	return errors.Join(s.end(ctx, s.settings.Name, grace), l.release())
}

// Stop implements Server. It stops every attempt that can still be at work, also
// one that another worker has started.
func (s *local) Stop(ctx context.Context, grace time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(ctx, s.settings.Name, grace); err != nil {
		return err
	}
	return s.release()
}
