package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"floe/internal/env"
)

// Sizes of the stream. A batch is what a worker takes at a time; longestLine is
// more than any model writes, and keeps a file without line ends from filling
// the memory.
const (
	scoreBuffer = 256 << 10
	batchBytes  = 128 << 10
	longestLine = 16 << 20
)

// scoreStream carries batches of lines from the reader to the workers, and in
// the order of the input on to whoever writes.
type scoreStream struct {
	order chan *scoreBatch // every batch, for the writer; closed behind the last
	work  chan *scoreBatch // every batch, for the workers
	spare chan *scoreBatch // batches to be used again
	err   error            // of the reader; set before order is closed
}

// scoreBatch is some lines and what became of them.
type scoreBatch struct {
	first   int // number of the first line, from 1
	text    []byte
	lines   []span
	results []scored
	done    chan struct{} // gets a value when the results are there
}

// span is a line in a batch's text.
type span struct {
	from, to int
	long     bool // it was longer than can be held, and is left out
}

// scored is what became of a line: nothing (it was blank), a fault, a verdict,
// or a wish about the reward state.
type scored struct {
	kind    scoredKind
	fault   error
	id      string
	verdict env.Verdict
	state   *env.RewardState
}

type scoredKind byte

const (
	scoredBlank scoredKind = iota
	scoredFault
	scoredVerdict
	scoredState
)

// run scores all lines of in. It ends when in does, when out cannot be written
// to, or with ctx; a reader that is blocked then is left behind.
func (s *scorer) run(ctx context.Context, in io.Reader, out io.Writer) (*scoreTally, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	stream := &scoreStream{
		order: make(chan *scoreBatch, 2*workers), work: make(chan *scoreBatch, 2*workers), spare: make(chan *scoreBatch, 4*workers),
	}
	go stream.read(ctx, in)
	for range workers {
		go s.workOn(stream)
	}
	w := newScoreWriter(s, out)
	for {
		select {
		case <-ctx.Done():
			return w.tally, errors.Join(ctx.Err(), w.out.Flush())
		case b, more := <-stream.order:
			if !more {
				return w.tally, s.readError(w, stream.err)
			}
			<-b.done
			if err := w.write(b, len(stream.order) == 0); err != nil {
				return w.tally, fmt.Errorf("write verdicts: %w", err)
			}
			stream.recycle(b)
		}
	}
}

func (s *scorer) readError(w *scoreWriter, err error) error {
	if err == nil {
		return nil
	}
	return fail(exitUsage, "%s: after line %d: %w", s.name, w.tally.lines, err)
}

// read cuts the input into batches. It sends a batch on as soon as no whole line
// is waiting any more: whoever writes one line and waits gets the answer.
func (t *scoreStream) read(ctx context.Context, in io.Reader) {
	defer close(t.order)
	defer close(t.work)
	r := bufio.NewReaderSize(in, scoreBuffer)
	for next := 1; ; {
		b := t.fresh(next)
		err := b.fill(r)
		next += len(b.lines)
		select {
		case t.order <- b:
		case <-ctx.Done():
			return
		}
		t.work <- b
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.err = err
			}
			return
		}
	}
}

func (t *scoreStream) fresh(first int) *scoreBatch {
	select {
	case b := <-t.spare:
		b.first, b.text, b.lines, b.results = first, b.text[:0], b.lines[:0], b.results[:0]
		return b
	default:
		return &scoreBatch{first: first, done: make(chan struct{}, 1)}
	}
}

// recycle keeps a batch for later, unless a long line has blown it up.
func (t *scoreStream) recycle(b *scoreBatch) {
	if cap(b.text) > 4*batchBytes {
		return
	}
	select {
	case t.spare <- b:
	default:
	}
}

func (b *scoreBatch) fill(r *bufio.Reader) error {
	for {
		from := len(b.text)
		text, long, err := appendLine(b.text, r)
		b.text = text
		if len(text) > from || long {
			b.lines = append(b.lines, span{from, len(text), long})
		}
		if err != nil || len(b.text) >= batchBytes || !lineWaits(r) {
			return err
		}
	}
}

// lineWaits says whether a whole line can be read without waiting for the input.
func lineWaits(r *bufio.Reader) bool {
	waiting, err := r.Peek(r.Buffered())
	return err == nil && bytes.IndexByte(waiting, '\n') >= 0
}

// appendLine appends the next line, its end included. A line that is too long is
// passed over.
func appendLine(dst []byte, r *bufio.Reader) (_ []byte, long bool, err error) {
	from := len(dst)
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(dst)-from+len(piece) > longestLine; !long {
			dst = append(dst, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			dst = dst[:from]
		}
		return dst, long, err
	}
}

// workOn scores batches until there are no more.
func (s *scorer) workOn(t *scoreStream) {
	shelf := taskShelf{book: &s.tasks, opened: map[string]env.Problem{}}
	for b := range t.work {
		for _, at := range b.lines {
			b.results = append(b.results, scoreOne(&shelf, b.text[at.from:at.to], at.long))
		}
		b.done <- struct{}{}
	}
}

// scoreOne judges one line.
func scoreOne(shelf *taskShelf, line []byte, long bool) scored {
	if long {
		return scored{kind: scoredFault, fault: fmt.Errorf("found a line of more than %d MiB", longestLine>>20)}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return scored{}
	}
	l, err := readScoreLine(line)
	if err == nil && l.state != nil {
		var r scored
		r.kind = scoredState
		if r.state, err = l.rewardState(); err == nil {
			return r
		}
	}
	r := scored{kind: scoredFault, fault: err}
	if l.id != nil {
		r.id = *l.id
	}
	if err != nil {
		return r
	}
	p, err := shelf.find(&l)
	if err != nil {
		r.fault = err
		return r
	}
	r.kind, r.verdict = scoredVerdict, judge(p, &l)
	if l.id == nil {
		r.id = p.Task().ID
	}
	return r
}

// judge referees an answer. What the caller knows better than the referee, it
// says: the length in its own tokens, and that its limit cut the answer off.
func judge(p env.Problem, l *scoreLine) env.Verdict {
	v := p.Judge(*l.answer)
	if l.tokens != nil {
		v.Tokens = *l.tokens
	}
	if l.truncated != nil && *l.truncated {
		v.Truncated = true
	}
	return v
}
