// Package pool is what a worker serves models with. It has one server for all that
// want the same base model with the same settings, starts it for the first of them
// and ends it some time after the last; it loads checkpoints beside the base model
// and makes room for others; and where there is one device, it has one thing on it at
// a time.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/serve"
)

// Settings of a worker.
type Settings struct {
	Local     serve.Local        // starts servers; its folder is of this worker alone
	Directory endpoint.Directory // knows servers that others run
	// Exclusive says that there is one device: before a server starts, all others of
	// this worker are stopped or put to sleep, and one in use is waited for.
	Exclusive bool
	// Guest says that the servers are those of a worker beside us: its are used too, and
	// only what it does not hold is ever stopped. It excludes Exclusive.
	Guest bool
	GPUs  string       // CUDA_VISIBLE_DEVICES of servers; empty leaves it
	Log   *slog.Logger // told what could not be ended; nil: nobody
}

// Want is the model that is wanted.
type Want struct {
	Trainer experiment.TrainerSpec
	Serve   experiment.ServeSpec
	// Tokens are the most of prompt and answer together. It is the server's context
	// where the experiment sets none; so who wants to share a server, says the same.
	Tokens     int
	Checkpoint *serve.Checkpoint // nil: the base model
	Full       bool              // the checkpoint is a whole model, not an adapter
}

// Use is a model that can be asked until Done.
type Use struct {
	Endpoint endpoint.Endpoint
	Model    string           // as requests name it
	Prices   *endpoint.Prices // nil: not known, or none
	Server   string           // what answers, for the record: kind, version, base model

	once sync.Once
	done func(stop bool)
}

// Done lets the model go; more than once is fine. Nobody else uses its server? Then
// that ends at once with stop, and otherwise when it has been idle for the time that
// its experiment gives it.
func (u *Use) Done(stop bool) { u.once.Do(func() { u.done(stop) }) }

// SettingsError is a want that cannot be had, however often it is tried.
type SettingsError struct{ Err error }

// Error implements error.
func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *SettingsError) Unwrap() error { return e.Err }

// Final says of an error of Use that no retry mends it: a server that serves another
// model, settings or an endpoint's name that are wrong. What an *endpoint.Trouble
// means it says itself.
func Final(err error) bool {
	_, settings := errors.AsType[*SettingsError](err)
	_, wrong := errors.AsType[*serve.WrongModelError](err)
	_, conflict := errors.AsType[*job.ConflictError](err)
	return settings || wrong || conflict
}

// ErrClosed is a pool that serves no more.
var ErrClosed = errors.New("this worker is ending and serves no more models")

// Folders are where a worker's servers are known below its folder: the records of
// their processes, and of what they are.
func Folders(folder string) (jobs, servers string) {
	return filepath.Join(folder, "servers", "jobs"), filepath.Join(folder, "servers", "known")
}

// Pool has the servers of a worker. It is safe for concurrent use.
type Pool struct {
	settings Settings

	mu      sync.Mutex // guards all below, and the counts of servers
	changed chan struct{}
	servers map[string]*server
	line    []*ticket
	uses    int64 // so far: when something was used last
	closed  bool
	ending  sync.WaitGroup // of servers that are being stopped
}

// New is a pool without servers. Those that an earlier worker has left are adopted
// when they are wanted.
func New(s Settings) *Pool {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{settings: s, changed: make(chan struct{}), servers: map[string]*server{}}
}

// ownPatience is how long trouble with a server of ours is waited out before its user
// hears of it: one that has died comes back only when it is wanted anew.
const ownPatience = 15 * time.Second

// Use has a model answer: it starts or adopts the server, loads the checkpoint and
// asks for one token. Report gets sentences about what is waited for; it may be nil.
// A start that is broken off, by the context or by trouble, ends the server if
// nobody else uses it.
func (p *Pool) Use(ctx context.Context, w Want, report func(note string)) (*Use, error) {
	if report == nil {
		report = func(string) {}
	}
	open := p.own
	if w.Serve.Kind == experiment.ServeExternal {
		open = p.external
	}
	s, prices, err := open(ctx, w, report)
	if err != nil {
		return nil, err
	}
	served, place, err := p.ready(ctx, s, w, report)
	if err != nil {
		_, broken := errors.AsType[*startError](err)
		p.letGo(s, "", broken || ctx.Err() != nil) //nolint:contextcheck // a stop outlives the use that causes it
		return nil, err
	}
	if s.own {
		served.Endpoint.Clock.Patience = ownPatience
	}
	return &Use{
		Endpoint: served.Endpoint, Model: served.Model, Prices: prices, Server: s.Describe(ctx),
		done: func(stop bool) { //nolint:contextcheck // as above
			if k, ok := served.Endpoint.Keeper.(*keeper); ok {
				k.end()
			}
			p.letGo(s, place, stop)
		},
	}, nil
}

// Clear frees the device for a training: it waits for servers in use and stops all,
// also those that an earlier worker has left. Meanwhile no other starts.
func (p *Pool) Clear(ctx context.Context) error {
	leave, err := p.turn(ctx, func() (bool, string) { return p.unused(nil) }, func(string) {})
	if err != nil {
		return err
	}
	defer leave()
	return p.stopAll(ctx)
}

// Close lets all servers go without stopping them, for the next worker to adopt; a
// server that nobody adopts is ended by its guard. A guest stops what nobody else
// holds. It waits for servers that are being stopped.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.broadcast()
	var servers []*server
	for _, s := range p.servers {
		s.stay()
		servers = append(servers, s)
	}
	p.mu.Unlock()
	p.ending.Wait()
	for _, s := range servers {
		if err := p.leave(s); err != nil {
			p.settings.Log.Warn("a server was not let go", "server", s.name, "error", err)
		}
	}
}

func (p *Pool) leave(s *server) error {
	if !p.settings.Guest {
		return s.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return s.Leave(ctx, stopGrace)
}

// broadcast wakes all who wait for a change; the caller holds the lock.
func (p *Pool) broadcast() {
	close(p.changed)
	p.changed = make(chan struct{})
}
