// Package pause waits: once, unless a context cuts it short, or between calls until stopped.
package pause

import (
	"context"
	"time"
)

// For waits, unless the context ends first; then it returns the context's error.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Every calls do at intervals, one call at a time. When stop returns, no call runs and
// none follows.
func Every(d time.Duration, do func(now time.Time)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case now := <-t.C:
				do(now)
			}
		}
	}()
	return func() { close(quit); <-done }
}
