package endpoint

import (
	"context"
	"net/http"
	"time"
)

// reachWithin is long enough for a hosted gateway and short for a person who waits.
const reachWithin = 10 * time.Second

// Reach makes one cheap request, so that a wrong address or key shows before work that
// would be for nothing. It lists the models; an endpoint that keeps its list to itself
// is asked for one token. Any answer but a refusal will do, also that of a server that
// is busy: asking waits for it. The error is a *Trouble, marked as an outage where there
// was no answer.
func (e Endpoint) Reach(ctx context.Context, model string) error {
	listing, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	x := &exchange{}
	r, err := http.NewRequestWithContext(listing, http.MethodGet, e.base+"/models", http.NoBody)
	if err != nil {
		return errURL
	}
	e.authorize(r)
	x.do(r)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case x.status == 0:
		return e.marked(e.broken(x))
	case x.status == http.StatusOK, x.status == http.StatusTooManyRequests, x.status >= http.StatusInternalServerError && x.status != http.StatusNotImplemented:
		return nil
	}
	_, trouble := e.Call(ctx, Request{Model: model, MaxTokens: 1, Messages: []Message{{RoleUser, "1"}}})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case trouble == nil || trouble.Filtered || trouble.TooLong || trouble.Served:
		return nil
	case trouble.Final:
		return trouble
	}
	return nil // busy
}
