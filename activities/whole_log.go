package activities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"floe/internal/artifact"
)

// wholeLog is all that an attempt logs, in parts that are documents of their own. Each
// is written again while it grows, up to partSize; so a crash costs what was logged since
// the last writing, and no part is ever large. A log that fits into its attempt's
// document has none.
type wholeLog struct {
	file    string // of the parts, without number and ending
	needed  bool
	first   int      // number of parts[0]
	parts   [][]byte // not written yet, or growing: the last one
	changed bool
}

const (
	partPrefix = "log-"
	partSize   = 256 << 10 // of text; compressed it is a tenth
)

// add takes in a line. A part begins with a line, and ends with one.
func (w *wholeLog) add(line string) {
	if n := len(w.parts); n == 0 || len(w.parts[n-1]) >= partSize {
		w.parts = append(w.parts, nil)
	}
	last := &w.parts[len(w.parts)-1]
	*last = append(append(*last, line...), '\n')
	w.changed = true
}

// due are the parts that are to be written, by their file.
func (w *wholeLog) due() (files []string, texts [][]byte) {
	if !w.needed || !w.changed {
		return nil, nil
	}
	for i, p := range w.parts {
		files, texts = append(files, partFile(w.file, w.first+i)), append(texts, slices.Clone(p))
	}
	return files, texts
}

// written forgets parts that are stored and grow no more.
func (w *wholeLog) written(parts int) {
	if full := parts - 1; full > 0 {
		w.first += full
		w.parts = slices.Delete(w.parts, 0, full)
	}
}

func partFile(whole string, n int) string { return fmt.Sprintf("%s.%05d.zst", whole, n) }

// pack compresses a part.
func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// WholeLog gives the lines of an attempt's whole log to each, one by one. That of an
// attempt without parts is in its document.
func WholeLog(ctx context.Context, steps artifact.Steps, experiment string, a Attempt, each func(line string) error) error {
	if a.Parts == 0 {
		for _, line := range a.Log {
			if err := each(line); err != nil {
				return err
			}
		}
		return nil
	}
	for n := range a.Parts {
		body, err := steps.GetDoc(ctx, experiment, partFile(a.Whole, n))
		if err != nil {
			return err
		}
		if err := unpack(body, each); err != nil {
			return fmt.Errorf("%s of experiment %s: %w", partFile(a.Whole, n), experiment, err)
		}
	}
	return nil
}

func unpack(body []byte, each func(line string) error) error {
	z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if err := each(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}
