package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Sizes of reading rows.
const (
	longestRow = 1 << 20 // bytes
	batchRows  = 64
)

// numbered is one line of a file of rows.
type numbered struct {
	line int
	text []byte
	err  error // the line cannot be read as one
}

// batch is some lines on their way through the workers.
type batch[T any] struct {
	lines []numbered
	done  chan []T
}

// eachRow works on the lines of a file on all cores and hands the results on in
// the lines' order. It reads no further ahead than keeps the cores busy, so files
// of any length need the same memory. Each worker has a state of its own, such as
// a solver. Empty lines are passed over.
func eachRow[S, T any](ctx context.Context, r io.Reader, state func() S, work func(S, numbered) T, take func([]T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan batch[T]), make(chan batch[T], 2*workers)
	for range workers {
		go func() {
			s := state()
			for b := range todo {
				b.done <- worked(s, b.lines, work)
			}
		}()
	}
	var failed error // to be looked at once order is closed
	// A read from a terminal or a pipe cannot be interrupted: this one is not waited for.
	go func() {
		defer close(order)
		defer close(todo)
		failed = readBatches(ctx, r, todo, order)
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b, more := <-order:
			if !more {
				return failed
			}
			if err := takeBatch(ctx, b, take); err != nil {
				return err
			}
		}
	}
}

// rowProgress shows how much of a file has been read, in bytes. Nothing is shown
// for what has no length to go by, nor while rows are written to the same terminal.
func (a *app) rowProgress(file, what string) (progress func(int64), done func()) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, ".zst") || terminal(a.out) {
		return func(int64) {}, func() {}
	}
	m := a.meter(what)
	return func(read int64) { m.show(int(read), int(info.Size())) }, m.close
}

// withProgress shows progress as a file is read.
func (a *app) withProgress(r io.Reader, file, what string) (with io.Reader, done func()) {
	progress, done := a.rowProgress(file, what)
	return &meteredReader{r: r, progress: progress}, done
}

type meteredReader struct {
	r        io.Reader
	read     int64
	progress func(int64)
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += int64(n)
	m.progress(m.read)
	return n, err
}

func worked[S, T any](s S, lines []numbered, work func(S, numbered) T) []T {
	results := make([]T, len(lines))
	for i, l := range lines {
		results[i] = work(s, l)
	}
	return results
}

func takeBatch[T any](ctx context.Context, b batch[T], take func([]T) error) error {
	select {
	case results := <-b.done:
		return take(results)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readBatches gives each batch to those who take results in order, then to those
// who work.
func readBatches[T any](ctx context.Context, r io.Reader, todo, order chan<- batch[T]) error {
	rows := newRowReader(r)
	for {
		lines, err := rows.some()
		if len(lines) > 0 {
			b := batch[T]{lines, make(chan []T, 1)}
			for _, to := range []chan<- batch[T]{order, todo} {
				select {
				case to <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// rowReader reads lines and counts them.
type rowReader struct {
	buffered *bufio.Reader
	line     int // of the last one read
}

func newRowReader(r io.Reader) *rowReader { return &rowReader{buffered: bufio.NewReaderSize(r, 1<<16)} }

// some reads as many lines as are there without waiting, at least one and at most
// a batch: whoever feeds a pipe line by line gets an answer to each.
func (r *rowReader) some() (lines []numbered, err error) {
	for len(lines) == 0 || len(lines) < batchRows && r.buffered.Buffered() > 0 {
		var next numbered
		if next, err = r.next(); err != nil {
			return lines, err
		}
		lines = append(lines, next)
	}
	return lines, nil
}

// next reads the next line that is not empty.
func (r *rowReader) next() (numbered, error) {
	for {
		text, tooLong, err := r.raw()
		if err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)) {
			return numbered{}, readError(r.line, err)
		}
		r.line++
		switch text = bytes.TrimSpace(text); {
		case tooLong:
			return numbered{line: r.line, err: fmt.Errorf("found a line longer than %d bytes; want one JSON object", longestRow)}, nil
		case len(text) > 0:
			return numbered{line: r.line, text: text}, nil
		}
	}
}

// raw reads up to a line's end. Of a line that is too long it keeps no more than
// its beginning.
func (r *rowReader) raw() (text []byte, tooLong bool, err error) {
	for {
		part, err := r.buffered.ReadSlice('\n')
		if len(text)+len(part) > longestRow {
			tooLong = true
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, tooLong, err
		}
	}
}

// readError says behind which line reading ended.
func readError(line int, err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return &lineError{line + 1, fmt.Errorf("cannot be read: %w", err)}
}

// lineError is what is wrong at a line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }
