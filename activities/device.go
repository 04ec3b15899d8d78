package activities

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
)

const (
	deviceLook = 2 * time.Second
	// deviceWait is how long a step waits for the device while it keeps one of the
	// worker's places. Then it makes room: whoever watches the job may need the place.
	deviceWait = 2 * time.Minute
	deviceBack = 30 * time.Second
)

// device waits until no training but its own holds this worker's device: one that a
// worker before this one has started may go on while nobody watches it yet.
func (a *Activities) device(ctx context.Context, own string, note func(string)) error {
	if a.Device == nil {
		return nil
	}
	for began := time.Now(); ; {
		held, err := a.Device(ctx)
		if err != nil {
			return fmt.Errorf("look who holds the device: %w", err)
		}
		held = slices.DeleteFunc(held, func(name string) bool { return own != "" && strings.HasPrefix(name, own+"-a") })
		if len(held) == 0 {
			return nil
		}
		says := fmt.Sprintf("the training %s holds this worker's device", held[0])
		if time.Since(began) > deviceWait {
			return temporal.NewApplicationErrorWithOptions(says, KindTrouble, temporal.ApplicationErrorOptions{NextRetryDelay: deviceBack})
		}
		note("waits: " + says)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(deviceLook):
		}
	}
}
