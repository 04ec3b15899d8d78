package process_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"floe/internal/job/backend/process"
)

func TestASupervisorWaitsForAFullDiskAndNotForAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first error
		calls int
		fails bool
	}{
		"a full disk":           {&fs.PathError{Op: "write", Path: "exit.json", Err: syscall.ENOSPC}, 2, false},
		"a folder that is gone": {&fs.PathError{Op: "open", Path: "exit.json", Err: syscall.ENOENT}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := process.Persist(func() error {
				if calls++; calls == 1 {
					return c.first
				}
				return nil
			})
			if calls != c.calls || (err != nil) != c.fails || c.fails && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d writes, %v; want %d", calls, err, c.calls)
			}
		})
	}
}
