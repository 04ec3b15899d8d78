package pool

import (
	"context"
	"fmt"
	"sync"

	"floe/internal/endpoint"
	"floe/internal/outage"
	"floe/internal/serve"
)

// mostLoads is how often a checkpoint is loaded again without one answer in between: a
// server that forgets it each time cannot hold it.
const mostLoads = 3

// keeper loads a checkpoint again that its server has forgotten. It implements
// endpoint.Keeper.
type keeper struct {
	server *server
	c      serve.Checkpoint

	mu    sync.Mutex // held while it loads: all who miss the model wait for that
	loads int
	vain  int // loads since it last answered
	over  bool
}

func newKeeper(s *server, name string, c serve.Checkpoint) *keeper {
	if s.own {
		c = relabelled(c, []string{name}) // it may have been loaded for another experiment
	}
	return &keeper{server: s, c: c}
}

// Loads implements endpoint.Keeper.
func (k *keeper) Loads() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loads
}

// Served implements endpoint.Keeper.
func (k *keeper) Served() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.vain = 0
}

// end has nothing loaded any more: the use is over, and its place another's.
func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
}

// Restore implements endpoint.Keeper.
func (k *keeper) Restore(ctx context.Context, loads int) *endpoint.Trouble {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return &endpoint.Trouble{Final: true, Reason: fmt.Sprintf("server %s has no model %s, which was let go", k.server.name, k.c.Name())}
	}
	if k.loads != loads {
		return nil // another question had it loaded since
	}
	if k.vain == mostLoads {
		return &endpoint.Trouble{Final: true, Reason: fmt.Sprintf(
			"server %s has no model %s: floe loaded the adapter %d times, and the server forgot it each time before it answered once. See its log: it may restart, lack room for adapters, or be several servers behind one address",
			k.server.name, k.c.Name(), mostLoads+1)}
	}
	if _, err := k.server.Load(ctx, k.c); err != nil {
		_, away := outage.As(err)
		return &endpoint.Trouble{Final: !away && !k.server.own, Reason: fmt.Sprintf("server %s has forgotten the model %s, which cannot be loaded again: %v", k.server.name, k.c.Name(), err)}
	}
	k.loads++
	k.vain++
	return nil
}
