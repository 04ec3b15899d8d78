package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"floe/internal/env"
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
	m, err := checkOrders(e, r.Orders)
	if err != nil {
		return fmt.Errorf("%s: %w", recordName(file), err)
	}
	if err := r.packedAsSaid(file, found); err != nil {
		return err
	}
	drawn, err := a.drawAgain(ctx, m, r, file, found)
	if err != nil {
		return err
	}
	if err := drawn.sameAs(recordName(file)); err != nil {
		return err
	}
	v := verified{file, drawn.Conformance.Realised, drawn.Bytes, drawn.SHA256}
	return a.emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: the same, byte for byte: %d tasks, sha256 %s\n", v.File, v.Tasks, v.SHA256)
		return err
	})
}

// packedAsSaid refuses a file that somebody has packed or unpacked since: bytes are
// compared, not what they say.
func (r datasetRecord) packedAsSaid(file string, found io.ReaderAt) error {
	const zstdMagic = "\x28\xb5\x2f\xfd"
	var head [len(zstdMagic)]byte
	if _, err := found.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return fail(exitUsage, "%w", err)
	}
	words := map[bool]string{true: "packed with zstd", false: "not packed with zstd"}
	if packed := string(head[:]) == zstdMagic; packed != r.Packed {
		return fail(exitFailed, "%s is %s; want it %s, as its record says: every byte is compared", file, words[packed], words[r.Packed])
	}
	return nil
}

// drawAgain draws a set again and compares each line with the file's as it comes.
func (a *app) drawAgain(ctx context.Context, m env.Measuring, r datasetRecord, file string, found io.Reader) (datasetRecord, error) {
	sum := summed{hash: sha256.New()}
	raw := io.TeeReader(found, &sum)
	lines := raw
	if r.Packed {
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return r, err
		}
		defer z.Close()
		lines = z
	}
	check := lineCheck{name: file, found: newLineReader(lines)}
	drawn, err := a.draw(ctx, m, r.Orders, drawnSet{to: io.Discard, packed: r.Packed, line: check.next})
	if err != nil {
		return r, err
	}
	if err := check.end(); err != nil {
		return r, err
	}
	if _, err := io.Copy(io.Discard, raw); err != nil { // what may lie behind the packed lines
		return r, fmt.Errorf("read %s: %w", file, err)
	}
	if sum.sha256() != drawn.SHA256 {
		return r, fail(exitFailed, "%s: all lines are correct, but the compression differs", file)
	}
	return drawn, nil
}

// sameAs compares a record with the one on disk.
func (r datasetRecord) sameAs(name string) error {
	want, err := r.encode()
	if err != nil {
		return err
	}
	found, err := os.ReadFile(name) //nolint:gosec // beside the file that the person named
	if err != nil {
		return err
	}
	check := lineCheck{name: name, found: newLineReader(bytes.NewReader(found))}
	for line := range bytes.Lines(want) {
		if err := check.next(line); err != nil {
			return err
		}
	}
	return check.end()
}

// lineCheck compares the lines of a file with those that it ought to have.
type lineCheck struct {
	name  string
	found *lineReader
	text  []byte // of the last line found
}

func (c *lineCheck) next(want []byte) error {
	line := c.found.line + 1
	found, tooLong, err := c.found.append(c.text[:0])
	if at, ok := errors.AsType[*lineError](err); ok {
		return fail(exitFailed, "%s:%d: %w", c.name, at.line, at.err)
	}
	if c.text = found; tooLong || !bytes.Equal(found, want) {
		return fail(exitFailed, "%s:%d: %s", c.name, line, difference(string(found), string(want)))
	}
	return nil
}

func (c *lineCheck) end() error { return c.next(nil) }

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
