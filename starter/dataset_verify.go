package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"floe/internal/env/all"
)

// verified is the outcome of a check that found nothing.
type verified struct {
	File   string `json:"file"`
	Tasks  int    `json:"tasks"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// datasetVerify draws a set again and compares.
func (a *app) datasetVerify(ctx context.Context, file string) error {
	r, err := readRecord(file)
	if err != nil {
		return err
	}
	found, err := os.Open(file) //nolint:gosec // the person named it
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	defer func() { _ = found.Close() }() // it was only read
	e, err := all.Open(r.Environment)
	if err != nil {
		return fail(exitUsage, "%s: %w", recordName(file), err)
	}
	if r.Version != e.Version() {
		return fail(exitFailed, "%s was drawn by %s, and this program has %s, which may draw otherwise; want the program that drew it", file, r.Version, e.Version())
	}
	name := "dataset.jsonl" // the file may have been renamed since
	if r.Packed {
		name += ".zst"
	}
	drawn, err := a.draw(ctx, e, r.Orders, name)
	if err != nil {
		return fmt.Errorf("draw %s again: %w", file, err)
	}
	if err := drawn.sameFile(file, found); err != nil {
		return err
	}
	if err := drawn.sameRecord(file); err != nil {
		return err
	}
	v := verified{file, drawn.record.Conformance.Realised, drawn.record.Bytes, drawn.record.SHA256}
	return a.emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: the same, byte for byte: %d tasks, sha256 %s\n", v.File, v.Tasks, v.SHA256)
		return err
	})
}

// sameFile finds the first difference to the file on disk. If it is packed, that
// is looked for in its lines.
func (d drawnSet) sameFile(file string, found io.ReadSeeker) error {
	same, err := equal(found, d.data)
	if same || err != nil {
		return err
	}
	if _, err := found.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !d.record.Packed {
		return firstDifference(file, found, bytes.NewReader(d.data))
	}
	a, errA := zstd.NewReader(found, zstd.WithDecoderConcurrency(1))
	b, errB := zstd.NewReader(bytes.NewReader(d.data), zstd.WithDecoderConcurrency(1))
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	defer a.Close()
	defer b.Close()
	if err := firstDifference(file, a, b); err != nil {
		return err
	}
	return fail(exitFailed, "%s: all lines are right, but they are packed otherwise", file)
}

func (d drawnSet) sameRecord(file string) error {
	want, err := d.record.encode()
	if err != nil {
		return err
	}
	found, err := os.ReadFile(recordName(file))
	if err != nil {
		return err
	}
	return firstDifference(recordName(file), bytes.NewReader(found), bytes.NewReader(want))
}

func equal(r io.Reader, want []byte) (bool, error) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := r.Read(buffer)
		if !bytes.HasPrefix(want, buffer[:n]) {
			return false, nil
		}
		want = want[n:]
		if errors.Is(err, io.EOF) {
			return len(want) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// firstDifference compares line by line.
func firstDifference(file string, found, want io.Reader) error {
	f, w := newRowReader(found), newRowReader(want)
	for line := 1; ; line++ {
		a, tooLong, errA := f.raw()
		b, _, errB := w.raw()
		if errB != nil && !errors.Is(errB, io.EOF) {
			return errB
		}
		switch {
		case errA != nil && !errors.Is(errA, io.EOF):
			return fail(exitFailed, "%s:%d: cannot be read: %w", file, line, errA)
		case tooLong || !bytes.Equal(a, b):
			return fail(exitFailed, "%s:%d: %s", file, line, difference(string(a), string(b)))
		case errA != nil:
			return nil
		}
	}
}

// difference shows where two lines part.
func difference(found, want string) string {
	switch {
	case found == "":
		return "found the end; want more lines"
	case want == "":
		return "found a line; want the end"
	}
	at := 0
	for at < len(found) && at < len(want) && found[at] == want[at] {
		at++
	}
	return fmt.Sprintf("column %d: found %s; want %s", at+1, around(found, at), around(want, at))
}

// around is a piece of a text at a place, for people.
func around(text string, at int) string {
	const before, after = 16, 24
	from, to := max(0, at-before), min(len(text), at+after)
	return fmt.Sprintf("%q", strings.ToValidUTF8(text[min(from, to):to], "?"))
}
