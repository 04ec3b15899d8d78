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
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return Body{}, fmt.Errorf("write %s: %w", name, err)
	}
	e := json.NewEncoder(z)
	e.SetEscapeHTML(false)
	for i, row := range rows {
		if err := e.Encode(row); err != nil {
			return Body{}, errors.Join(fmt.Errorf("write %s, row %d: %w", name, i+1, err), z.Close())
		}
	}
	if err := z.Close(); err != nil {
		return Body{}, fmt.Errorf("write %s: %w", name, err)
	}
	return Bytes(name, b.Bytes()), nil
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
