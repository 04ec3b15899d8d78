package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// JSONLines is a file of rows, one JSON value a line, compressed with zstd. Equal
// rows give equal bytes on any machine, as digests of such files are part of
// later keys: one goroutine, a fixed level. A test pins the bytes, so that an
// update of the compressor that changes them is noticed.
func JSONLines[T any](name string, rows []T) (Body, error) {
	var b bytes.Buffer
	l, err := NewPackedLines(&b)
	if err != nil {
		return Body{}, fmt.Errorf("write %s: %w", name, err)
	}
	for _, row := range rows {
		if _, err := l.Add(row); err != nil {
			return Body{}, errors.Join(fmt.Errorf("write %s, %w", name, err), l.Close())
		}
	}
	if err := l.Close(); err != nil {
		return Body{}, fmt.Errorf("write %s: %w", name, err)
	}
	return Bytes(name, b.Bytes()), nil
}

// Lines writes rows one by one, one JSON value a line, and keeps none of them.
type Lines struct {
	to     io.Writer
	closer io.Closer // nil unless packed
	encode *json.Encoder
	line   bytes.Buffer
	rows   int
}

// NewLines writes rows to a file as they are.
func NewLines(to io.Writer) *Lines {
	l := &Lines{to: to}
	l.encode = json.NewEncoder(&l.line)
	l.encode.SetEscapeHTML(false)
	return l
}

// NewPackedLines writes the file that JSONLines makes of the same rows. It must
// be closed.
func NewPackedLines(to io.Writer) (*Lines, error) {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	l := NewLines(z)
	l.closer = z
	return l, nil
}

// Add writes a row. It returns its line, which the next Add overwrites.
func (l *Lines) Add(row any) (line []byte, err error) {
	l.rows++
	l.line.Reset()
	if err := l.encode.Encode(row); err != nil {
		return nil, fmt.Errorf("row %d: %w", l.rows, err)
	}
	if _, err := l.to.Write(l.line.Bytes()); err != nil {
		return nil, fmt.Errorf("row %d: %w", l.rows, err)
	}
	return l.line.Bytes(), nil
}

// Close ends the file, but does not close what it is written to.
func (l *Lines) Close() error {
	if l.closer == nil {
		return nil
	}
	return l.closer.Close()
}

// ReadJSONLines reads what JSONLines wrote, checked.
func ReadJSONLines[T any](ctx context.Context, s Steps, m Manifest, name string) ([]T, error) {
	content, err := s.Read(ctx, m, name)
	if err != nil {
		return nil, err
	}
	rows, err := decodeLines[T](content)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, m.ID, err)
	}
	return rows, nil
}

func decodeLines[T any](content []byte) ([]T, error) {
	z, err := zstd.NewReader(bytes.NewReader(content), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	d := json.NewDecoder(z)
	var rows []T
	for {
		var row T
		err := d.Decode(&row)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}
