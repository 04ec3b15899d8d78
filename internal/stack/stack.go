// Package stack finds a development stack: the Temporal and S3 servers that
// devstack runs on this machine.
package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"floe/internal/filelock"
)

const (
	schema    = "floe.devstack/v1"
	stateFile = "stack.json"
	lockFile  = "lock"
)

// Info says where a stack listens. It is what devstack writes to stack.json in
// its data folder, while it is up.
type Info struct {
	Schema      string `json:"schema"`
	PID         int    `json:"pid"`
	Temporal    string `json:"temporal"` // host:port
	Namespace   string `json:"namespace"`
	UI          string `json:"ui"` // URL
	S3          string `json:"s3"` // URL
	Region      string `json:"region"`
	Bucket      string `json:"bucket"`
	Credentials string `json:"credentials"` // AWS shared-credentials file, profile default
	Version     string `json:"version"`

	dir string
}

// Read reads what the stack in a data folder left there. It may be dead by now,
// see Alive. Without one the error is os.ErrNotExist.
func Read(dataDir string) (Info, error) {
	file := filepath.Join(dataDir, stateFile)
	body, err := os.ReadFile(file) //nolint:gosec // the person's own folder
	if err != nil {
		return Info{}, fmt.Errorf("read development stack: %w", err)
	}
	info := Info{dir: dataDir}
	if err := json.Unmarshal(body, &info); err != nil {
		return Info{}, fmt.Errorf("read development stack: %s: %w", file, err)
	}
	if err := info.check(); err != nil {
		return Info{}, fmt.Errorf("read development stack: %s: %w", file, err)
	}
	return info, nil
}

func (i Info) check() error {
	if i.Schema != schema {
		return fmt.Errorf("schema %q; want %q (is devstack of another version?)", i.Schema, schema)
	}
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"temporal", i.Temporal},
		{"namespace", i.Namespace},
		{"ui", i.UI},
		{"s3", i.S3},
		{"region", i.Region},
		{"bucket", i.Bucket},
		{"credentials", i.Credentials},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("no %s", f.name))
		}
	}
	if i.PID <= 0 {
		errs = append(errs, fmt.Errorf("pid %d", i.PID))
	}
	return errors.Join(errs...)
}

// Alive says whether the stack still runs. A running devstack holds a lock on
// its folder, which the kernel gives back however it dies; the pid counts only
// where there is no lock to ask.
func (i Info) Alive() bool {
	f, err := os.Open(filepath.Join(i.dir, lockFile))
	if err != nil {
		return pidAlive(i.PID)
	}
	defer func() { _ = f.Close() }() // gives the lock back too
	return errors.Is(filelock.Shared(f), filelock.ErrHeld)
}

func pidAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// DefaultDir is the data folder of devstack where none is named:
// $XDG_STATE_HOME/floe, or ~/.local/state/floe.
func DefaultDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) { // others are to be ignored, says XDG
		return filepath.Join(base, "floe"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no data folder: %w; set HOME or XDG_STATE_HOME, or name a folder with --data", err)
	}
	return filepath.Join(home, ".local", "state", "floe"), nil
}
