package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

var fetched = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Prune removes the checkpoints in a folder that nobody has fetched for so long: a
// disk must not fill up with what the artifact store holds anyway. One that somebody
// fetches just now stays.
func Prune(ctx context.Context, folder string, unused time.Duration) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && fetched.MatchString(e.Name()) {
			errs = append(errs, pruneOne(ctx, filepath.Join(folder, e.Name()), time.Now().Add(-unused)))
		}
	}
	return errors.Join(errs...)
}

func pruneOne(ctx context.Context, dir string, before time.Time) error {
	old := func() bool {
		info, err := os.Stat(dir)
		return err == nil && info.ModTime().Before(before)
	}
	if !old() {
		return nil
	}
	// Its lock stays: a file that is removed while somebody waits for it locks nothing.
	release, err := lock(ctx, dir+".lock", func(string) {})
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	defer release()
	if !old() { // fetched meanwhile
		return nil
	}
	// The manifest first: what is left after a crash is torn, and fetched anew.
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
