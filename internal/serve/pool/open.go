package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"floe/internal/endpoint"
	"floe/internal/serve"
)

// own takes the server of ours that a want comes to, when its turn has come.
func (p *Pool) own(ctx context.Context, w Want, report func(string)) (*server, *endpoint.Prices, error) {
	settings, err := p.serverOf(w)
	if err != nil {
		return nil, nil, &SettingsError{err}
	}
	opened, err := p.settings.Local.Server(settings)
	if err != nil {
		return nil, nil, &SettingsError{err}
	}
	var s *server
	leave, err := p.turn(ctx, func() (bool, string) {
		if there := p.servers[settings.Name]; p.settings.Exclusive {
			if ok, why := p.unused(there); !ok {
				return false, why
			}
		}
		s = p.taken(settings.Name, settings.Name, settings.Model, true)
		if s.Server == nil {
			s.Server, s.places, s.sleeps = opened, settings.MaxAdapters, settings.Sleep
		}
		s.idleFor = time.Duration(w.Serve.Idle) * time.Minute
		return true, ""
	}, report)
	if err != nil {
		return nil, nil, err
	}
	leave()
	return s, nil, nil
}

// taken is a server with one more use. The caller has the lock.
func (p *Pool) taken(key, name, what string, own bool) *server {
	s := p.servers[key]
	if s == nil {
		s = newServer(name, what, own)
		p.servers[key] = s
	}
	s.stay()
	s.users++
	return s
}

// longestStart is the server's own bound on its start; that of the use is shorter.
const longestStart = 48 * time.Hour

// serverOf are the settings of the server that has a wanted model, named by what
// they come to.
func (p *Pool) serverOf(w Want) (serve.Settings, error) {
	t := w.Trainer
	if t.Model == nil || t.Recipe == nil {
		return serve.Settings{}, errors.New("no language model to serve: want trainer.model and trainer.recipe")
	}
	s := serve.Settings{
		Name: "unnamed", Kind: w.Serve.Kind, Model: t.Model.URI, Revision: t.Model.Revision,
		Command: w.Serve.Program, Args: w.Serve.Args, GPUs: p.settings.GPUs,
		Context: cmp.Or(w.Serve.Context, w.Tokens), Parallel: w.Serve.Parallel, MemoryShare: w.Serve.Memory,
		Reasoning: w.Serve.Reasoning, Sleep: w.Serve.Sleep, StartWithin: longestStart,
	}
	switch {
	case w.Checkpoint != nil && w.Full:
		s.Model, s.Revision, s.Served = w.Checkpoint.Dir, "", w.Checkpoint.Name()
	case t.Recipe.Tuning == "lora":
		s.MaxAdapters, s.MaxRank = w.Serve.Adapters, t.Recipe.LoraRank
	case w.Checkpoint != nil:
		return serve.Settings{}, fmt.Errorf("checkpoint %s is an adapter; with tuning %s, want a whole model", w.Checkpoint.Name(), t.Recipe.Tuning)
	}
	sum, err := s.Digest()
	if err != nil {
		return serve.Settings{}, err
	}
	s.Name = s.Kind + "-" + sum[:12]
	return s, nil
}

// untrained is what others' servers call the base model where nothing is said.
const untrained = "base"

// external opens a server that somebody else runs. Its key is read anew each time.
func (p *Pool) external(_ context.Context, w Want, _ func(string)) (*server, *endpoint.Prices, error) {
	at, err := p.settings.Directory.Open(w.Serve.Endpoint)
	if err != nil {
		return nil, nil, &SettingsError{fmt.Errorf("serve.endpoint: %w", err)}
	}
	if c := w.Checkpoint; c != nil && w.Serve.Load {
		if inside, err := filepath.Rel(w.Serve.Folder, c.Dir); err != nil || strings.HasPrefix(inside, "..") {
			return nil, nil, &SettingsError{fmt.Errorf("checkpoint %s is in %s; the server finds only what is below serve.folder, %s", c.Name(), c.Dir, w.Serve.Folder)}
		}
	}
	model := cmp.Or(w.Serve.Model, untrained)
	opened, err := serve.External{Endpoint: at.Endpoint, Model: model, Loads: w.Serve.Load}.Server()
	if err != nil {
		return nil, nil, &SettingsError{err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	s := p.taken(fmt.Sprintf("%q of %q, load %t", model, w.Serve.Endpoint, w.Serve.Load), at.Endpoint.Host(), model, false)
	if s.users == 1 { // nobody else asks over it just now
		s.Server, s.places = opened, 0
		if w.Serve.Load {
			s.places = w.Serve.Adapters
		}
	}
	return s, at.Prices, nil
}
