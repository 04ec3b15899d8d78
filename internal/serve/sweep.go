package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"floe/internal/job"
)

// Sweep stops every server on this machine whose name begins with a prefix, whoever
// has started it, but those to keep. A worker that is about to fill the GPU does so
// first: what another one left would be ended by its guard, but not at once.
func (l Local) Sweep(ctx context.Context, prefix string, keep func(name string) bool, grace time.Duration) error {
	folders, err := os.ReadDir(l.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range folders {
		if strings.HasPrefix(d.Name(), prefix) && !keep(d.Name()) {
			errs = append(errs, l.end(ctx, d.Name(), grace))
		}
	}
	return errors.Join(errs...)
}

// end stops every attempt at a server that can still be at work.
func (l Local) end(ctx context.Context, name string, grace time.Duration) error {
	for n := 1; ; n++ {
		attempt := job.Name("serve-"+name, n)
		st, err := l.Jobs.Status(ctx, attempt)
		if errors.Is(err, job.ErrUnknown) {
			return nil
		}
		if err == nil && !st.State.Final() {
			err = l.Jobs.Stop(ctx, attempt, grace)
		}
		if err != nil {
			return fmt.Errorf("stop server %s: %w", name, err)
		}
	}
}
