package pause_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"floe/internal/pause"
)

func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	if err := pause.For(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pause.For(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want context.Canceled", err)
	}
}
