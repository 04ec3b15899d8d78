package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// Files is a job's directory as the worker sees it: on a disk that it shares
// with the job, or in the store that the job keeps its files in. Package
// job/files has both.
type Files interface {
	fs.FS
	// Put writes a file whole or not at all, making folders as needed.
	Put(ctx context.Context, name string, body []byte) error
}

const fileStop = "stop.requested"

// RequestStop asks an attempt to save and end, by the file that the contract
// names. An attempt with a later number passes over it.
func RequestStop(ctx context.Context, files Files, attempt int) error {
	if err := files.Put(ctx, fileStop, []byte(strconv.Itoa(attempt)+"\n")); err != nil {
		return fmt.Errorf("write %s: %w", fileStop, err)
	}
	return nil
}

// Stop ends an attempt: it asks by file, then lets the back end ask, wait, kill
// and wait until the program is gone. Files may be nil where the worker cannot
// write them; then only the back end asks.
func Stop(ctx context.Context, b Backend, files Files, r Request) error {
	s, err := b.Status(ctx, r.Name())
	if errors.Is(err, ErrUnknown) || (err == nil && s.State.Final()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", r.Name(), err)
	}
	if files != nil {
		if err := RequestStop(ctx, files, r.Attempt); err != nil {
			return err
		}
	}
	if err := b.Stop(ctx, r.Name(), r.Grace); err != nil {
		return fmt.Errorf("stop %s: %w", r.Name(), err)
	}
	return nil
}

// readFile reads a file of at most so many bytes; ErrAbsent if there is none.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrAbsent)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("%s: found more than %d bytes; want less", name, most)
	}
	return body, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
