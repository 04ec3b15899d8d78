package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"floe/internal/env"
)

// scored is what became of a line: a fault, a verdict, or a wish about the reward
// state.
type scored struct {
	line    int
	kind    scoredKind
	fault   error
	id      string
	verdict env.Verdict
	state   *env.RewardState
}

type scoredKind byte

const (
	scoredFault scoredKind = iota
	scoredVerdict
	scoredState
)

// run scores all lines of in. It ends when in does, when out cannot be written
// to, or with ctx.
func (s *scorer) run(ctx context.Context, in io.Reader, out io.Writer) (*scoreTally, error) {
	w := newScoreWriter(s, out)
	err := eachLine(ctx, in, s.worker, func(results []scored, idle bool) error {
		if err := w.write(results, idle); err != nil {
			return fmt.Errorf("write verdicts: %w", err)
		}
		return nil
	})
	return w.tally, errors.Join(inFile(s.name, err), w.out.Flush())
}

// worker scores lines in one goroutine.
func (s *scorer) worker() func(numbered) scored {
	shelf := taskShelf{book: &s.tasks, opened: map[string]env.Problem{}}
	reader := &plainReader{}
	return func(l numbered) scored {
		r := scoreOne(&shelf, reader, l)
		r.line = l.line
		return r
	}
}

// scoreOne judges one line.
func scoreOne(shelf *taskShelf, reader *plainReader, n numbered) (r scored) {
	if n.err != nil {
		return scored{fault: n.err}
	}
	l, err := readScoreLine(reader, n.text)
	if err == nil && l.state != nil {
		if r.state, err = l.rewardState(); err == nil {
			r.kind = scoredState
			return r
		}
	}
	if l.id != nil {
		r.id = *l.id
	}
	var p env.Problem
	if err == nil {
		p, err = shelf.find(&l)
	}
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
