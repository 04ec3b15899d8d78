// Package pause waits for a time that a context can cut short.
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
