package endpoint

import (
	"context"
	"net/http"
)

// Keeper loads a model into its server again. Servers forget adapters that were loaded
// while they ran: after a restart, behind a balancer, or to make room.
type Keeper interface {
	// Loads counts how often the model was loaded again.
	Loads() int
	// Restore loads the model again, unless that was done since there were so many loads.
	// An error is trouble of the call that found it missing.
	Restore(ctx context.Context, loads int) *Trouble
	// Served hears that the model answered.
	Served()
}

// kept has a model that its server does not know loaded again, and the call made anew.
func (e Endpoint) kept(ctx context.Context, r Request, loads, status int, reply Reply, trouble *Trouble) (Reply, *Trouble) {
	switch {
	case e.Keeper == nil:
	case trouble == nil:
		e.Keeper.Served()
	case status == http.StatusNotFound:
		if trouble := e.Keeper.Restore(ctx, loads); trouble != nil {
			return reply, trouble
		}
		return e.Call(ctx, r)
	}
	return reply, trouble
}

func (e Endpoint) loads() int {
	if e.Keeper == nil {
		return 0
	}
	return e.Keeper.Loads()
}
