package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"floe/internal/env"
	"floe/internal/experiment"
)

// scoreWriter rewards verdicts in the order of their lines and writes them.
type scoreWriter struct {
	*scorer
	out     *bufio.Writer
	state   env.RewardState
	weights []byte // in force, as JSON
	tally   *scoreTally
	buf     []byte
}

func newScoreWriter(s *scorer, out io.Writer) *scoreWriter {
	w := &scoreWriter{scorer: s, out: bufio.NewWriterSize(out, lineBuffer), tally: &scoreTally{}}
	w.setState(s.state)
	return w
}

// setState changes the reward state, and with it the weights.
func (w *scoreWriter) setState(s env.RewardState) {
	w.state = s
	accuracy, length := env.Weights(w.reward, s)
	b := appendFloat(append(w.weights[:0], `{"accuracy":`...), accuracy)
	w.weights = append(appendFloat(append(b, `,"length":`...), length), '}')
}

// write writes what became of some lines, and flushes when no others are under
// way.
func (w *scoreWriter) write(results []scored, idle bool) error {
	for i := range results {
		w.buf = w.one(w.buf[:0], &results[i])
		if _, err := w.out.Write(w.buf); err != nil {
			return err
		}
	}
	if idle {
		return w.out.Flush()
	}
	return nil
}

// one appends the reply to a line.
func (w *scoreWriter) one(b []byte, r *scored) []byte {
	switch r.kind {
	case scoredFault:
		w.tally.fault(w.name, r.line, r.fault)
		return appendFault(b, r)
	case scoredState:
		if r.state != nil {
			w.setState(*r.state)
		}
		return w.appendState(b)
	case scoredVerdict:
		w.tally.add(&r.verdict)
		return w.appendVerdict(b, r)
	}
	return b
}

func appendFault(b []byte, r *scored) []byte {
	b = strconv.AppendInt(append(b, `{"line":`...), int64(r.line), 10)
	if r.id != "" {
		b = appendString(append(b, `,"id":`...), r.id)
	}
	b = appendString(append(b, `,"error":`...), r.fault.Error())
	return append(b, "}\n"...)
}

func (w *scoreWriter) appendState(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"reward_state":{"answers":`...), w.state.Answers, 10)
	b = strconv.AppendInt(append(b, `,"within":`...), w.state.Within, 10)
	b = append(append(b, `},"weights":`...), w.weights...)
	return append(b, "}\n"...)
}

// appendVerdict appends a verdict with its reward. An answer is weighed by those
// before it, and counted after that.
func (w *scoreWriter) appendVerdict(b []byte, r *scored) []byte {
	v := &r.verdict
	b = appendString(append(b, `{"id":`...), r.id)
	b = strconv.AppendBool(append(b, `,"valid":`...), v.Valid)
	b = strconv.AppendBool(append(b, `,"optimal":`...), v.Optimal)
	b = strconv.AppendBool(append(b, `,"truncated":`...), v.Truncated)
	b = appendStrings(append(b, `,"failed":`...), v.Failed)
	b = appendStrings(append(b, `,"faults":`...), v.Faults)
	b = strconv.AppendInt(append(b, `,"cost":`...), int64(v.Cost), 10)
	b = strconv.AppendInt(append(b, `,"optimum":`...), int64(v.Optimum), 10)
	b = strconv.AppendInt(append(b, `,"tokens":`...), int64(v.Tokens), 10)
	reward := env.Score(w.reward, w.state, *v)
	b = appendFloat(append(b, `,"reward":{"total":`...), reward.Total)
	b = appendFloat(append(b, `,"accuracy":`...), reward.Accuracy)
	b = appendFloat(append(b, `,"length":`...), reward.Length)
	b = append(append(b, `},"weights":`...), w.weights...)
	if w.dynamic {
		within := int64(0)
		if v.Tokens <= w.reward.FreeTokens {
			within = 1
		}
		w.setState(w.state.Seen(1, within))
	}
	return append(b, "}\n"...)
}

func appendFloat(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }

func appendStrings(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// appendString appends a JSON string, plain ones without the way around.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			must(err) // every string has a JSON form
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// scoreTally is what is said in the end.
type scoreTally struct {
	answers, valid, optimal int
	faults                  faultList
}

func (t *scoreTally) add(v *env.Verdict) {
	t.answers++
	if v.Valid {
		t.valid++
	}
	if v.Optimal {
		t.optimal++
	}
}

func (t *scoreTally) fault(file string, line int, err error) {
	t.faults.add("%s:%d: %v", inputName(file), line, err)
}

func (t *scoreTally) String() string {
	r := experiment.Rates{N: t.answers, Valid: t.valid, Optimal: t.optimal}
	return fmt.Sprintf("%d answers: %s valid, %s optimal; lines that could not be scored: %d",
		t.answers, experiment.Percent(r.ValidRate()), experiment.Percent(r.OptimalRate()), t.faults.count)
}
