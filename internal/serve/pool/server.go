package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/internal/pause"
	"floe/internal/serve"
)

// server is one server of a pool. Its counts are guarded by the pool's lock; work on
// it is done by one at a time, who holds its token.
type server struct {
	serve.Server

	name    string
	what    string // its base model, for people
	own     bool   // the pool starts and ends it
	places  int    // for checkpoints; 0: none is loaded
	sleeps  bool   // can sleep
	idleFor time.Duration
	token   chan struct{}

	asleep bool // guarded by the token

	users  int
	loaded map[string]*place // by served name
	idle   *time.Timer       // nil: not waiting for its end
}

// place is a checkpoint that is loaded, as far as this pool knows.
type place struct {
	users int
	last  int64 // use
}

// stopGrace is how long a server may take to end before it is killed.
const stopGrace = 30 * time.Second

// stopWithin bounds the stop of a server that nobody waits for.
const stopWithin = 5 * time.Minute

func newServer(name, what string, own bool) *server {
	return &server{name: name, what: what, own: own, token: make(chan struct{}, 1), loaded: map[string]*place{}}
}

// hold takes the right to change a server.
func (s *server) hold(ctx context.Context) error {
	select {
	case s.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) free() { <-s.token }

// stay takes back that a server is about to end; the caller has the pool's lock.
func (s *server) stay() {
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// letGo ends one use of a server, and of a loaded checkpoint if one is named.
func (p *Pool) letGo(s *server, name string, stop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	if at := s.loaded[name]; at != nil {
		at.users--
	}
	p.broadcast()
	if s.users > 0 || !s.own || p.closed {
		return
	}
	if stop || s.idleFor == 0 {
		p.endUnused(s)
		return
	}
	s.stay()
	s.idle = time.AfterFunc(s.idleFor, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.idle != nil && !p.closed {
			p.endUnused(s)
		}
	})
}

// endUnused stops a server in the background unless somebody uses it by then. The
// caller has the lock.
func (p *Pool) endUnused(s *server) {
	s.stay()
	p.ending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		if err := p.stop(ctx, s); err != nil {
			p.settings.Log.Error("cannot stop an idle server", "server", s.name, "error", err)
		}
	})
}

// stop ends a server that nobody uses; one that somebody uses stays.
func (p *Pool) stop(ctx context.Context, s *server) error {
	return p.unlessUsed(ctx, s, func() error {
		s.asleep = false
		if p.settings.Guest {
			return s.Leave(ctx, stopGrace)
		}
		return s.Stop(ctx, stopGrace)
	})
}

// rest takes a server that nobody uses off the device: asleep where it can, and
// ended where not.
func (p *Pool) rest(ctx context.Context, s *server) error {
	slept := false
	err := p.unlessUsed(ctx, s, func() error {
		if s.sleeps && !s.asleep && s.Health(ctx) == nil {
			s.asleep = s.Sleep(ctx) == nil
		}
		slept = s.asleep
		return nil
	})
	if err != nil || slept {
		return err
	}
	return p.stop(ctx, s)
}

func (p *Pool) unlessUsed(ctx context.Context, s *server, do func() error) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.free()
	p.mu.Lock()
	used := s.users > 0
	p.mu.Unlock()
	if used {
		return nil
	}
	return do()
}

// others are the servers of ours but one.
func (p *Pool) others(but *server) []*server {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*server
	for _, s := range p.servers {
		if s != but && s.own {
			all = append(all, s)
		}
	}
	return all
}

// clear takes every server of this worker off the device but one, whoever has
// started it. Those that this pool has put to sleep may stay.
func (p *Pool) clear(ctx context.Context, but *server) error {
	stays := map[string]bool{but.name: true}
	var errs []error
	for _, s := range p.others(but) {
		errs = append(errs, p.rest(ctx, s))
		stays[s.name] = s.sleeps
	}
	sweep := p.settings.Local.Sweep(ctx, "", func(name string) bool { return stays[name] }, stopGrace)
	return errors.Join(append(errs, sweep)...)
}

// stopAll ends every server of this worker, whoever has started it.
func (p *Pool) stopAll(ctx context.Context) error {
	var errs []error
	for _, s := range p.others(nil) {
		errs = append(errs, p.stop(ctx, s))
	}
	sweep := p.settings.Local.Sweep(ctx, "", func(string) bool { return false }, stopGrace)
	return errors.Join(append(errs, sweep)...)
}

// startError is a server that could not be brought to answer.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

// start has a server of ours answer. The caller holds it.
func (p *Pool) start(ctx context.Context, s *server, within time.Duration, report func(string)) error {
	if !s.asleep && s.Health(ctx) == nil {
		return nil
	}
	if p.settings.Exclusive {
		if err := telling(report, "clearing the device for server "+s.name, func() error { return p.clear(ctx, s) }); err != nil {
			return err
		}
	}
	if s.asleep {
		if err := telling(report, "waking server "+s.name, func() error { return p.wake(ctx, s) }); err != nil {
			return &startError{err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("server %s was not ready within %s", s.name, within))
	defer cancel()
	err := telling(report, "starting server "+s.name+" of "+s.what, func() error { return s.Start(ctx) })
	if err != nil {
		return &startError{err}
	}
	return nil
}

// wake ends a server that it cannot wake, so that it is started anew.
func (p *Pool) wake(ctx context.Context, s *server) error {
	err := s.Wake(ctx)
	if err != nil && ctx.Err() == nil {
		p.settings.Log.Warn("a server could not be woken, and is started again", "server", s.name, "error", err)
		err = s.Stop(ctx, stopGrace)
	}
	if err == nil {
		s.asleep = false
	}
	return err
}

const tellEvery = 10 * time.Second

// telling says what is being done, and again and again how long it takes.
func telling(report func(string), note string, do func() error) error {
	report(note)
	begun := time.Now()
	defer pause.Every(tellEvery, func(now time.Time) {
		report(fmt.Sprintf("%s, for %s", note, now.Sub(begun).Round(time.Second)))
	})()
	return do()
}
