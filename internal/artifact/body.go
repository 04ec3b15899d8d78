package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Body is a file to be committed. It is opened when it is written, and streamed,
// so that checkpoints of many gigabytes need no memory.
type Body struct {
	Name string // relative to the step, such as "policy.bin"
	open func() (io.ReadSeekCloser, error)
}

// Open opens the content from its start.
func (b Body) Open() (io.ReadSeekCloser, error) {
	if b.open == nil {
		return nil, fmt.Errorf("file %q has no content; make it with Bytes, JSON, JSONLines or Stream", b.Name)
	}
	return b.open()
}

// Bytes is a file with this content.
func Bytes(name string, content []byte) Body {
	return Body{name, func() (io.ReadSeekCloser, error) {
		return inMemory{bytes.NewReader(content)}, nil
	}}
}

// JSON is a file with v as indented JSON.
func JSON(name string, v any) (Body, error) {
	content, err := encodeJSON(v)
	if err != nil {
		return Body{}, fmt.Errorf("write %s: %w", name, err)
	}
	return Bytes(name, content), nil
}

// encodeJSON leaves <, > and & as they are: people read these files.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// digest streams r to its end and says how long it was and its sha256 in hex.
func digest(ctx context.Context, r io.Reader) (int64, string, error) {
	h := sha256.New()
	n, err := io.Copy(h, &interruptible{ctx, r})
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// interruptible ends reading when its context ends.
type interruptible struct {
	ctx context.Context //nolint:containedctx // lives for one read loop
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}
