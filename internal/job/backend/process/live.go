package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"floe/internal/job"
)

// Live names the attempts of this folder that may still be at work, whoever has
// started them: what holds the machine's devices.
func (b *Backend) Live(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(b.settings.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var live []string
	for _, e := range entries {
		if !e.IsDir() || job.CheckName(e.Name()) != nil {
			continue
		}
		s, err := b.Status(ctx, e.Name())
		switch {
		case errors.Is(err, job.ErrUnknown):
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", e.Name(), err)
		case !s.State.Final():
			live = append(live, e.Name())
		}
	}
	return live, nil
}
