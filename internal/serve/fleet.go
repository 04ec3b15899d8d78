package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Fleet serves a base model and the checkpoints trained from it, side by side: as
// adapters of one server where they are adapters and the server can, with a server
// for each checkpoint where not.
//
// On one GPU that holds one model only, an exclusive fleet has one server awake at a
// time. What it handed out before is asleep or stopped then: ask one after the other.
type Fleet struct {
	open      func(Settings) (Server, error)
	base      Settings
	exclusive bool

	mu      sync.Mutex
	order   []string // names of servers, as they were opened
	servers map[string]*member
}

// member is one server of a fleet.
type member struct {
	Server

	up     bool // started, as far as we know
	asleep bool
}

// NewFleet is a fleet by the settings of its base server. Open makes servers: it is
// Local.Server, or gives the external one, whose settings have no kind.
func NewFleet(base Settings, exclusive bool, open func(Settings) (Server, error)) *Fleet {
	return &Fleet{open: open, base: base, exclusive: exclusive, servers: map[string]*member{}}
}

// Base serves the untrained model.
func (f *Fleet) Base(ctx context.Context) (Served, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.up(ctx, f.base)
	if err != nil {
		return Served{}, err
	}
	return s.Base(), s.WarmUp(ctx, s.Base().Model)
}

// Adapter serves a checkpoint that is an adapter of the base model.
func (f *Fleet) Adapter(ctx context.Context, c Checkpoint) (Served, error) {
	if err := c.validate(); err != nil {
		return Served{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.base
	if dialects[own.Kind].adapter != nil { // started with it
		own.Name, own.Served, own.Adapter = f.nameOf(c), c.Name(), c.Dir
		return f.alone(ctx, own)
	}
	return f.loaded(ctx, c)
}

// loaded serves a checkpoint by the base model's server.
func (f *Fleet) loaded(ctx context.Context, c Checkpoint) (Served, error) {
	s, err := f.up(ctx, f.base)
	if err != nil {
		return Served{}, err
	}
	served, err := s.Load(ctx, c)
	if err != nil {
		return Served{}, fmt.Errorf("load checkpoint %s: %w", c.Label, err)
	}
	return served, s.WarmUp(ctx, served.Model)
}

// Full serves a checkpoint that is a whole model, by a server of its own. Where
// somebody else runs the server, they must have put it there under its name.
func (f *Fleet) Full(ctx context.Context, c Checkpoint) (Served, error) {
	if err := c.validate(); err != nil {
		return Served{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ours := dialects[f.base.Kind]; !ours {
		return f.loaded(ctx, c)
	}
	own := f.base
	own.Name, own.Served, own.Model = f.nameOf(c), c.Name(), c.Dir
	own.MaxAdapters, own.MaxRank = 0, 0
	return f.alone(ctx, own)
}

// alone serves a checkpoint by a server of its own.
func (f *Fleet) alone(ctx context.Context, own Settings) (Served, error) {
	s, err := f.up(ctx, own)
	if err != nil {
		return Served{}, err
	}
	return s.Base(), s.WarmUp(ctx, s.Base().Model)
}

const longestBase = 26 // leaves room for a dash, the digest and what jobs append

// nameOf names the server of a checkpoint.
func (f *Fleet) nameOf(c Checkpoint) string {
	base := f.base.Name
	return base[:min(len(base), longestBase)] + "-" + c.SHA256[:digestDigits]
}

// up has a server answer, the others resting if the GPU is for one.
func (f *Fleet) up(ctx context.Context, s Settings) (*member, error) {
	m, known := f.servers[s.Name]
	if !known {
		server, err := f.open(s)
		if err != nil {
			return nil, err
		}
		m = &member{Server: server}
		f.servers[s.Name] = m
		f.order = append(f.order, s.Name)
	}
	if err := f.rest(ctx, s.Name); err != nil {
		return nil, err
	}
	if m.asleep {
		if err := m.Wake(ctx); err != nil {
			return nil, err
		}
		m.asleep = false
	}
	if m.up && m.Health(ctx) == nil {
		return m, nil
	}
	m.up = true // also after an error: a server that is half started takes memory
	return m, m.Start(ctx)
}

// rest gives the GPU to one server alone, in an exclusive fleet.
func (f *Fleet) rest(ctx context.Context, but string) error {
	if !f.exclusive {
		return nil
	}
	for _, name := range f.order {
		m := f.servers[name]
		if name == but || !m.up || m.asleep {
			continue
		}
		err := m.Sleep(ctx)
		switch {
		case err == nil:
			m.asleep = true
			continue
		case !errors.Is(err, ErrCannotSleep):
			return err
		}
		if err := m.Stop(ctx, stopGrace); err != nil {
			return err
		}
		m.up = false
	}
	return nil
}

// Stop ends all servers of the fleet, and says which could not be.
func (f *Fleet) Stop(ctx context.Context, grace time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range f.order {
		m := f.servers[name]
		if err := m.Stop(ctx, grace); err != nil {
			errs = append(errs, err)
			continue
		}
		m.up, m.asleep = false, false
	}
	return errors.Join(errs...)
}

// Release lets all servers go without stopping them; a worker that ends in order
// does so, and the next adopts them.
func (f *Fleet) Release() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range f.order {
		errs = append(errs, f.servers[name].Release())
	}
	return errors.Join(errs...)
}
