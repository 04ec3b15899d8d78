package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Open streams a file of a step. Instead of io.EOF the reader returns a
// *CorruptError when what it read is not what was recorded, so nothing may be
// believed before the end is reached.
func (s Steps) Open(ctx context.Context, m Manifest, name string) (io.ReadCloser, error) {
	f, ok := m.File(name)
	if !ok {
		return nil, fmt.Errorf("step %s has no file %q: %w", m.ID, name, ErrNotFound)
	}
	r, err := s.Store.Get(ctx, f.Object)
	if errors.Is(err, ErrNotFound) {
		return nil, corruptFile(m, f, describe(f.Size, f.SHA256), "no object")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, m.ID, err)
	}
	return &checked{r: interruptible{ctx, r}, close: r.Close, hash: sha256.New(), file: f, manifest: m}, nil
}

// Read reads a whole file of a step, checked. What looks damaged is read once
// more, since a flipped bit on the way is no damage in the store.
func (s Steps) Read(ctx context.Context, m Manifest, name string) ([]byte, error) {
	content, err := s.read(ctx, m, name)
	if _, ok := errors.AsType[*CorruptError](err); ok {
		s.log().Warn("read once more", "error", err)
		return s.read(ctx, m, name)
	}
	return content, err
}

func (s Steps) read(ctx context.Context, m Manifest, name string) (content []byte, err error) {
	r, err := s.Open(ctx, m, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	content, err = io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, m.ID, err)
	}
	return content, nil
}

// ReadJSON reads a JSON file of a step into v, checked.
func (s Steps) ReadJSON(ctx context.Context, m Manifest, name string, v any) error {
	content, err := s.Read(ctx, m, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, v); err != nil {
		return fmt.Errorf("read %s of %s: %w", name, m.ID, err)
	}
	return nil
}

// checked turns the end of a damaged object into an error.
type checked struct {
	r        interruptible
	close    func() error
	hash     hash.Hash
	size     int64
	file     File
	manifest Manifest
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	_, _ = c.hash.Write(p[:n]) // a hash never fails to write
	c.size += int64(n)
	if errors.Is(err, io.EOF) {
		if bad := c.verify(); bad != nil {
			return n, bad
		}
	}
	return n, err
}

func (c *checked) Close() error { return c.close() }

func (c *checked) verify() error {
	sum := hex.EncodeToString(c.hash.Sum(nil))
	if c.size == c.file.Size && sum == c.file.SHA256 {
		return nil
	}
	return corruptFile(c.manifest, c.file, describe(c.file.Size, c.file.SHA256), describe(c.size, sum))
}

func describe(size int64, sum string) string {
	return fmt.Sprintf("%d bytes with sha256 %s", size, sum)
}
