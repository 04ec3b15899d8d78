package binaries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// EnvBinary names a devstack that is built already; it is used as it is.
const EnvBinary = "FLOE_DEVSTACK"

// buildTimeout is for a cold cache: the Temporal server is large.
const buildTimeout = 20 * time.Minute

// Devstack returns the path of a devstack made from the sources beside this module.
// It compiles only if a source is newer than the program, and once however many
// test programs ask at the same time.
func (c *Checkout) Devstack() (string, error) {
	if binary := os.Getenv(EnvBinary); binary != "" {
		return binary, nil
	}
	bin := filepath.Join(c.root, "bin")
	if err := os.MkdirAll(bin, 0o750); err != nil {
		return "", fmt.Errorf("build devstack: %w", err)
	}
	unlock, err := lock(filepath.Join(bin, ".devstack.lock"))
	if err != nil {
		return "", fmt.Errorf("build devstack: %w", err)
	}
	defer unlock()
	binary, sources := filepath.Join(bin, "devstack"), filepath.Join(c.root, "devstack")
	if err := c.seen.tree(sources); err != nil {
		return "", fmt.Errorf("build devstack: %w", err)
	}
	if fresh, err := upToDate(binary, sources); fresh || err != nil {
		return binary, err
	}
	return binary, compileDevstack(sources, binary)
}

// lock waits for a lock that the kernel gives back however its holder ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // inside this repository
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing gives the lock back
}

// upToDate compares times as make does; tests of devstack are no part of it.
func upToDate(binary, sources string) (bool, error) {
	built, err := os.Stat(binary)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fresh := true
	err = filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // an editor's file of a moment
			return nil
		}
		if err == nil && info.ModTime().After(built.ModTime()) {
			fresh = false
		}
		return err
	})
	return fresh, err
}

// compileDevstack builds beside the program and renames, so that half a program is
// never started.
func compileDevstack(sources, binary string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	began := time.Now()
	temporary := binary + ".new"
	build := exec.CommandContext(ctx, "go", "build", "-C", sources, "-o", temporary, ".") //nolint:gosec // our own paths
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build devstack: %w\n%s", err, out)
	}
	// The program counts as old as the start of its build: a source that changed
	// meanwhile is newer.
	if err := os.Chtimes(temporary, began, began); err != nil {
		return fmt.Errorf("build devstack: %w", err)
	}
	return os.Rename(temporary, binary)
}
