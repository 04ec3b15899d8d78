package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	logFilesKept   = 5
	logFileMaxSize = 8 << 20
)

// rollingLog is where a server's own log goes: DIR/logs/NAME-TIME.log. It
// begins a new file at every start and every 8 MiB and keeps the last five, so
// that a server repeating one warning for a month cannot fill the disk.
type rollingLog struct {
	dir, name string

	mu   sync.Mutex
	file *os.File
	size int
}

func openLog(d dataDir, name string) (*rollingLog, error) {
	l := &rollingLog{dir: d.logs(), name: name}
	return l, l.roll()
}

// Write implements io.Writer.
func (l *rollingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+len(p) > logFileMaxSize {
		if err := l.roll(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += n
	return n, err
}

// Sync implements what zap wants of a log file. A log may lose its end to a
// power cut, so there is nothing to do.
func (l *rollingLog) Sync() error { return nil }

// Close ends the log.
func (l *rollingLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// path is the file being written to now.
func (l *rollingLog) path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Name()
}

func (l *rollingLog) roll() error {
	if l.file != nil {
		_ = l.file.Close()
	}
	// The time sorts as text; nanoseconds keep two starts apart.
	stamp := time.Now().UTC().Format("20060102T150405.000000000")
	path := filepath.Join(l.dir, fmt.Sprintf("%s-%s.log", l.name, stamp))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600) // #nosec G304 -- our own folder
	if err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	l.file, l.size = f, 0
	return l.prune()
}

func (l *rollingLog) prune() error {
	entries, err := os.ReadDir(l.dir) // sorted by name, and so by time
	if err != nil {
		return fmt.Errorf("old log files: %w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), l.name+"-") {
			files = append(files, e.Name())
		}
	}
	for _, old := range files[:max(0, len(files)-logFilesKept)] {
		if err := os.Remove(filepath.Join(l.dir, old)); err != nil {
			return fmt.Errorf("old log file: %w", err)
		}
	}
	return nil
}
