package openai

import (
	"context"
	"sync"
	"time"
)

// Waits makes a designer's clock stand still but for its waits, which pass at
// once, and returns the waits.
func (d *Designer) Waits() func() []time.Duration {
	var mu sync.Mutex
	var waits []time.Duration
	now := time.Unix(1_000_000, 0)
	d.endpoint.Clock.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	d.endpoint.Clock.Sleep = func(ctx context.Context, wait time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits, now = append(waits, wait), now.Add(wait)
		return ctx.Err()
	}
	return func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return waits
	}
}

// SetTimeout bounds one call.
func (d *Designer) SetTimeout(t time.Duration) { d.endpoint.Clock.Call = t }

// SetBeat sets the time between signs of life.
func (d *Designer) SetBeat(t time.Duration) { d.beat = t }
