package pool

import (
	"context"
	"slices"
	"strings"
	"time"

	"floe/internal/serve"
)

// ready has a wanted model answer on a server that is taken, and says which place it
// has there, if it is a checkpoint that was loaded.
func (p *Pool) ready(ctx context.Context, s *server, w Want, report func(string)) (m serve.Served, name string, err error) {
	for {
		var full <-chan struct{}
		m, name, full, err = p.once(ctx, s, w, report)
		if full == nil {
			return m, name, err
		}
		report("waiting for a place on server " + s.name + ": all checkpoints that are loaded are in use")
		select {
		case <-ctx.Done():
			return m, "", context.Cause(ctx)
		case <-full:
		}
	}
}

// once is ready, but for a server without a place: then full is what to wait for.
func (p *Pool) once(ctx context.Context, s *server, w Want, report func(string)) (m serve.Served, name string, full <-chan struct{}, err error) {
	if err := s.hold(ctx); err != nil {
		return m, "", nil, err
	}
	defer s.free()
	if s.own {
		if err := p.start(ctx, s, time.Duration(w.Serve.Start)*time.Minute, report); err != nil {
			return m, "", nil, err
		}
	}
	switch {
	case w.Checkpoint == nil || s.own && w.Full:
		m = s.Base()
		if !s.own {
			err = s.Health(ctx) // theirs was not proven by a start
		}
	case s.places == 0:
		m, err = s.Load(ctx, *w.Checkpoint) // it is there, or it is not
	default:
		m, name, full, err = p.load(ctx, s, *w.Checkpoint, report)
	}
	if full != nil || err != nil {
		return m, "", full, err
	}
	if name != "" {
		m.Endpoint.Keeper = newKeeper(s, m.Model, *w.Checkpoint)
	}
	err = telling(report, "warming up "+m.Model, func() error {
		if s.own {
			return s.WarmUp(ctx, m.Model)
		}
		return serve.WarmUp(ctx, m)
	})
	if err != nil {
		p.unmark(s, name)
		return m, "", nil, ended(ctx, s, err)
	}
	return m, name, nil, nil
}

// ended makes of trouble with the first question that of a server that cannot start,
// where it is ours and has not got over it: it is to hold no device. Of one that can
// sleep it is not known whether it woke.
func ended(ctx context.Context, s *server, err error) error {
	if s.own && (s.sleeps || s.Health(ctx) != nil) {
		return &startError{err}
	}
	return err
}

// load gives a checkpoint a place, the least recently used one that nobody uses if
// there is no free one. The place is marked as used.
func (p *Pool) load(ctx context.Context, s *server, c serve.Checkpoint, report func(string)) (m serve.Served, name string, full <-chan struct{}, err error) {
	for {
		names, err := s.Loaded(ctx)
		if err != nil {
			return m, "", nil, err
		}
		if s.own {
			c = relabelled(c, names)
		}
		oldest, full := p.claim(s, c.Name(), p.counted(s, names))
		if full != nil {
			return m, "", full, nil
		}
		if oldest == "" {
			break
		}
		report("unloading " + oldest + " from server " + s.name)
		if err := s.Unload(ctx, oldest); err != nil {
			return m, "", nil, err
		}
	}
	err = telling(report, "loading "+c.Name()+" into server "+s.name, func() (err error) {
		m, err = s.Load(ctx, c)
		return err
	})
	if err != nil {
		p.unmark(s, c.Name())
		return m, "", nil, err
	}
	return m, c.Name(), nil, nil
}

// counted are the names that take places: all on a server of ours, and where others
// load too, those that we have loaded.
func (p *Pool) counted(s *server, names []string) []string {
	if s.own && !p.settings.Guest {
		return names
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return s.loaded[n] == nil })
}

// claim marks a place as used if there is one. Where there is none, oldest is what
// can be unloaded, and without that full is closed when something has changed.
func (p *Pool) claim(s *server, name string, names []string) (oldest string, full <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(names, name) || len(names) < s.places {
		at := s.loaded[name]
		if at == nil {
			at = new(place)
			s.loaded[name] = at
		}
		p.uses++
		at.users, at.last = at.users+1, p.uses
		return "", nil
	}
	least := int64(-1)
	for _, n := range names {
		at := s.loaded[n]
		if at == nil { // left by an earlier worker
			return n, nil
		}
		if at.users == 0 && (least < 0 || at.last < least) {
			oldest, least = n, at.last
		}
	}
	if oldest == "" {
		return "", p.changed
	}
	delete(s.loaded, oldest)
	return oldest, nil
}

// unmark takes back the use of a place.
func (p *Pool) unmark(s *server, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := s.loaded[name]; at != nil {
		at.users--
		p.broadcast()
	}
}

// relabelled gives a checkpoint the label under which it is loaded already, by an
// experiment that shares it.
func relabelled(c serve.Checkpoint, names []string) serve.Checkpoint {
	bare := c
	bare.Label = ""
	for _, n := range names {
		if label, ok := strings.CutSuffix(n, "-"+bare.Name()); ok {
			c.Label = label
		}
	}
	return c
}
