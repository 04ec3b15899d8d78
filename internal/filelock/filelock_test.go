package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"floe/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := filelock.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestALockIsForOneOrForThoseWhoShareIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	one, other := open(t, path), open(t, path)
	for i, err := range []error{filelock.Shared(one), filelock.Shared(other)} {
		if err != nil {
			t.Errorf("share %d: %v", i, err)
		}
	}
	if err := filelock.Exclusive(one); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("exclusive while another shares: %v; want ErrHeld", err)
	}
	if err := filelock.Release(other); err != nil {
		t.Error(err)
	}
	if err := filelock.Exclusive(one); err != nil {
		t.Errorf("exclusive once the other let go: %v", err)
	}
	if err := filelock.Shared(other); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("shared while another has it alone: %v; want ErrHeld", err)
	}
	if _, err := filelock.Take(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("take while another has it: %v; want ErrHeld", err)
	}
}

func TestWaitTakesALockOnceItsHolderClosesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error)
	go func() {
		f, err := filelock.Wait(path)
		if err == nil {
			err = f.Close()
		}
		taken <- err
	}()
	select {
	case err := <-taken:
		t.Fatalf("taken from its holder: %v", err)
	default:
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
}
