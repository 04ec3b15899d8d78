package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
)

// Sizes of a batch: what a worker takes at a time.
const (
	batchLines = 64
	batchBytes = 128 << 10
)

// eachLine works on the lines of a file on all cores and hands the results on in
// the lines' order, some at a time; idle says that no others are under way. Lines
// and results last as long as the call they are given to. It reads no further
// ahead than keeps the cores busy, so files of any length need the same memory.
// Each core has a worker of its own, which may have a state. Blank lines are
// passed over.
//
// It ends when the input does, with an error of take, or with ctx; a reader that
// is blocked then is left behind, as reading from a terminal or a pipe cannot be
// interrupted. An error of reading is a lineError.
func eachLine[T any](ctx context.Context, in io.Reader, worker func() func(numbered) T, take func(results []T, idle bool) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cores := runtime.GOMAXPROCS(0)
	s := &lineStream[T]{
		order: make(chan *lineBatch[T], 2*cores), work: make(chan *lineBatch[T], 2*cores), spare: make(chan *lineBatch[T], 4*cores),
	}
	go s.read(ctx, in)
	for range cores {
		go s.workOn(worker)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b, more := <-s.order:
			if !more {
				return s.err
			}
			if err := s.take(ctx, b, take); err != nil {
				return err
			}
		}
	}
}

// lineStream carries batches of lines from the reader to the workers, and in the
// order of the input on to whoever takes the results.
type lineStream[T any] struct {
	order chan *lineBatch[T] // every batch, to be taken; closed behind the last
	work  chan *lineBatch[T] // every batch, for the workers
	spare chan *lineBatch[T] // batches to be used again
	err   error              // of the reader; set before order is closed
}

// lineBatch is some lines and what became of them.
type lineBatch[T any] struct {
	text    []byte
	lines   []span
	results []T
	done    chan struct{} // gets a value when the results are there
}

// span is a line in a batch's text.
type span struct {
	line, from, to int
	tooLong        bool // it is left out
}

func (s *lineStream[T]) read(ctx context.Context, in io.Reader) {
	defer close(s.order)
	defer close(s.work)
	for r := newRowReader(in); ; {
		b := s.fresh()
		err := b.fill(r)
		if len(b.lines) > 0 {
			for _, to := range []chan<- *lineBatch[T]{s.order, s.work} {
				select {
				case to <- b:
				case <-ctx.Done():
					return
				}
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return
		}
	}
}

// fill reads as many lines as are there without waiting, at least one, blank or
// not, and at most a batch: whoever writes one line and waits gets the answer.
func (b *lineBatch[T]) fill(r *rowReader) error {
	for {
		from := len(b.text)
		text, tooLong, err := r.append(b.text)
		if b.text = text; len(bytes.TrimSpace(text[from:])) > 0 || tooLong {
			b.lines = append(b.lines, span{r.line, from, len(text), tooLong})
		}
		if err != nil || len(b.lines) == batchLines || len(b.text) >= batchBytes || !r.waits() {
			return err
		}
	}
}

func (s *lineStream[T]) fresh() *lineBatch[T] {
	select {
	case b := <-s.spare:
		b.text, b.lines, b.results = b.text[:0], b.lines[:0], b.results[:0]
		return b
	default:
		return &lineBatch[T]{done: make(chan struct{}, 1)}
	}
}

func (s *lineStream[T]) workOn(worker func() func(numbered) T) {
	work := worker()
	for b := range s.work {
		for _, l := range b.lines {
			b.results = append(b.results, work(numbered{l.line, bytes.TrimSpace(b.text[l.from:l.to]), lengthError(l.tooLong)}))
		}
		b.done <- struct{}{}
	}
}

func (s *lineStream[T]) take(ctx context.Context, b *lineBatch[T], take func([]T, bool) error) error {
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := take(b.results, len(s.order) == 0); err != nil {
		return err
	}
	if cap(b.text) <= 4*batchBytes { // one that a long line has blown up is let go
		select {
		case s.spare <- b:
		default:
		}
	}
	return nil
}
