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

func TestNoCallFollowsTheStopOfCallsAtIntervals(t *testing.T) {
	called := make(chan struct{}, 1)
	calls := 0 // read only after stop, which the race detector checks
	stop := pause.Every(time.Millisecond, func(time.Time) {
		calls++
		select {
		case called <- struct{}{}:
		default:
		}
	})
	<-called
	<-called
	stop()
	if calls < 2 {
		t.Errorf("%d calls; want two at least", calls)
	}
}
