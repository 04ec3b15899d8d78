package ask

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// File is a journal on this machine: one answer a line, each written through to
// the disk. It is for asking that a person started; a worker uses Objects, so that
// another worker can go on.
type File struct {
	path string
	f    *os.File

	mu sync.Mutex
}

var _ Journal = (*File)(nil)

// OpenFile opens a journal to add to, making it where there is none. One process
// at a time has it; the system frees it when the process ends, however it does.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the file that the caller named
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s is in use by another process", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{path: path, f: f}, nil
}

// Load implements Journal. A last line without an end is torn: its writer was
// killed while it wrote, and it is cut off.
func (j *File) Load(ctx context.Context, take func(Answer) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	whole, err := readAnswers(ctx, j.path, j.f, take)
	if err != nil {
		return err
	}
	if err := j.f.Truncate(whole); err != nil {
		return err
	}
	_, err = j.f.Seek(whole, io.SeekStart)
	return err
}

// Add implements Journal.
func (j *File) Add(_ context.Context, a Answer) error {
	line, err := encodeLine(a)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.f.Write(line); err != nil {
		return err
	}
	return j.f.Sync()
}

// Close lets others have the journal.
func (j *File) Close() error { return j.f.Close() }

// ReadFile reads a journal's answers without touching it, also while somebody adds
// to it. No journal has no answers.
func ReadFile(ctx context.Context, path string, take func(Answer) error) (err error) {
	f, err := os.Open(path) //nolint:gosec // the file that the caller named
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = readAnswers(ctx, path, f, take)
	return err
}

// readAnswers reads whole lines and says where they end. An ID that comes twice is
// a fault: nothing here writes such a file. Answers that were broken off, which earlier
// versions kept, are passed over, so that their items are asked again.
func readAnswers(ctx context.Context, name string, in io.Reader, take func(Answer) error) (whole int64, err error) {
	seen := map[string]bool{}
	r := bufio.NewReaderSize(in, 1<<16)
	for line := 1; ; line++ {
		if err := ctx.Err(); err != nil {
			return whole, err
		}
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
		a, err := decodeLine(text)
		if err == nil && a.Class() == ClassBroken {
			whole += int64(len(text))
			continue
		}
		if err == nil && seen[a.ID] {
			err = fmt.Errorf("%q is answered already", a.ID)
		}
		if err == nil {
			err = take(a)
		}
		if err != nil {
			return whole, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		seen[a.ID] = true
		whole += int64(len(text))
	}
}

// decodeLine reads one answer strictly.
func decodeLine(line []byte) (Answer, error) {
	var a Answer
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("there is something behind the answer")
	}
	if a.ID == "" {
		return a, errors.New("an answer without an ID")
	}
	return a, nil
}

func encodeLine(a Answer) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(a)
	return b.Bytes(), err
}
