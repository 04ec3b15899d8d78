package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/textfile"
)

// scoreLine is one line of input, decoded. Fields that are null count as absent.
type scoreLine struct {
	id        *string
	answer    *string
	tokens    *int   // nil: to be estimated
	truncated *bool  // the caller's limit cut the answer off
	task      []byte // the task itself, an object, or its id in the dataset, a string
	state     []byte // reward state to go on with, or null to ask for it
}

// Keys of a line. The verdict that a stored answer carries is not read: the line
// is scored anew.
var scoreKeys = []string{"id", "answer", "tokens", "truncated", "task", "reward_state", "verdict"}

// readScoreLine decodes a line. Nearly every line is plain enough for a reader
// that is several times faster than encoding/json; all others, right or wrong,
// are left to the strict one, whose errors people read.
func readScoreLine(p *plainReader, line []byte) (scoreLine, error) {
	if l, ok := readPlainLine(p, line); ok {
		return l, nil
	}
	return readStrictLine(line)
}

// readStrictLine decodes a line with encoding/json: unknown keys, repeated keys
// and text behind the object are faults.
func readStrictLine(line []byte) (scoreLine, error) {
	var l scoreLine
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return l, fmt.Errorf("found %.40q; want a JSON object", line)
	}
	var seen []string
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return l, notJSON(err)
		}
		key, _ := token.(string) // the decoder lets nothing else stand for a key
		if slices.Contains(seen, key) {
			return l, fmt.Errorf("found key %q twice", key)
		}
		seen = append(seen, key)
		if err := l.decode(d, key); err != nil {
			return l, err
		}
	}
	if _, err := d.Token(); err != nil {
		return l, notJSON(err)
	}
	if rest := line[d.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return l, fmt.Errorf("found %.40q behind the object; want the end of the line", rest)
	}
	return l, l.check()
}

// notJSON says what keeps a line from being JSON. Python writes numbers that are none
// as no other language reads them.
func notJSON(err error) error {
	for _, sign := range []string{"'N'", "'I'"} {
		if strings.Contains(err.Error(), "character "+sign) {
			return fmt.Errorf("not JSON: %w (NaN and Infinity are not JSON; want null)", err)
		}
	}
	return fmt.Errorf("not JSON: %w", err)
}

func (l *scoreLine) decode(d *json.Decoder, key string) error {
	var to any
	var raw json.RawMessage
	switch key {
	case "id":
		to = &l.id
	case "answer":
		to = &l.answer
	case "truncated":
		to = &l.truncated
	case "tokens", "task", "reward_state", "verdict":
		to = &raw
	default:
		return unknownKey(key)
	}
	err := d.Decode(to)
	if err == nil && key == "tokens" {
		err = textfile.Unmarshal(raw, &l.tokens)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: found a %s; want a %s", key, wrong.Value, plainType(wrong.Type.String()))
	case err != nil:
		return notJSON(err)
	case key == "task" && string(raw) != "null":
		l.task = raw
	case key == "reward_state":
		l.state = raw
	}
	return nil
}

func plainType(goType string) string {
	switch goType {
	case "int":
		return "whole number"
	case "bool":
		return "bool, true or false"
	default:
		return goType
	}
}

func unknownKey(key string) error {
	if near, ok := strict.Nearest(key, scoreKeys); ok {
		return fmt.Errorf("found unknown key %.40q; did you mean %s?", key, near)
	}
	return fmt.Errorf("found unknown key %.40q; want %s", key, strings.Join(scoreKeys[:len(scoreKeys)-1], ", "))
}

// check says what a decoded line lacks.
func (l *scoreLine) check() error {
	switch {
	case l.state != nil && (l.id != nil || l.answer != nil || l.task != nil || l.tokens != nil):
		return errors.New("found reward_state beside an answer; want it on a line of its own")
	case l.state != nil:
		return nil
	case l.answer == nil:
		return errors.New("found no answer")
	case l.id == nil && l.task == nil:
		return errors.New("found neither id nor task")
	case l.task != nil && l.task[0] != '{' && l.task[0] != '"':
		return fmt.Errorf("task: found %.40s; want an object, or a task's id", l.task)
	case l.tokens != nil && *l.tokens < 0:
		return fmt.Errorf("found %d tokens; want 0 or more", *l.tokens)
	}
	return nil
}

// rewardState is what a control line asks for; nil if it only asks.
func (l *scoreLine) rewardState() (*env.RewardState, error) {
	if string(l.state) == "null" {
		return nil, nil
	}
	s, err := readRewardState(l.state)
	return &s, err
}

// taskID is the task's name where a line names it instead of giving it.
func (l *scoreLine) taskID() (id string, named bool) {
	if l.task == nil {
		return *l.id, true
	}
	if l.task[0] != '"' {
		return "", false
	}
	return id, json.Unmarshal(l.task, &id) == nil
}

// readPlainLine decodes a line whose keys have no escapes and whose strings are
// valid UTF-8. It is false for everything that is not plain, or not right.
func readPlainLine(p *plainReader, line []byte) (l scoreLine, ok bool) {
	p.text, p.pos = line, 0
	if !p.accept('{') {
		return l, false
	}
	for {
		key, ok := p.key()
		if !ok || !l.plainValue(p, string(key)) {
			return l, false
		}
		if p.accept(',') {
			continue
		}
		return l, p.accept('}') && p.atEnd() && l.check() == nil && utf8.Valid(line)
	}
}

// plainValue reads the value of a key that was not there before.
func (l *scoreLine) plainValue(p *plainReader, key string) (ok bool) {
	switch {
	case key == "id" && l.id == nil:
		l.id, ok = p.str()
	case key == "answer" && l.answer == nil:
		l.answer, ok = p.str()
	case key == "tokens" && l.tokens == nil:
		l.tokens, ok = p.number()
	case key == "truncated" && l.truncated == nil:
		l.truncated, ok = p.flag()
	case key == "task" && l.task == nil:
		l.task, ok = p.object()
	}
	return ok
}
