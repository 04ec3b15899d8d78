package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"floe/internal/disk"
)

// file is a record on a disk, which survives its worker.
type file string

// Load implements runner.Record.
func (f file) Load(context.Context) ([]byte, error) {
	body, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return body, err
}

// Save implements runner.Record.
func (f file) Save(_ context.Context, body []byte) error {
	return disk.WriteAtomic(string(f), body)
}

// notes are what was reported.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) hear(done, total int, note string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf("%d/%d %s", done, total, note))
}

func (n *notes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = nil
}

// heard reports whether a note holds a text.
func (n *notes) heard(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		if strings.Contains(l, text) {
			return true
		}
	}
	return false
}

func (n *notes) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}
