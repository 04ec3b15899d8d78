package main

import (
	"bytes"
	"unicode/utf8"

	"floe/internal/env"
)

// readPlainTask decodes a task whose keys are all there, once, and have no
// escapes. It is false for everything else. Whether the instance is sound JSON is
// left to whoever opens the task.
func readPlainTask(row []byte) (t env.Task, ok bool) {
	p := plainReader{text: row}
	if !p.accept('{') {
		return t, false
	}
	seen := 0
	for {
		key, ok := p.key()
		bit := plainTaskValue(&t, &p, string(key))
		if !ok || bit == 0 || seen&bit != 0 {
			return t, false
		}
		if seen |= bit; p.accept(',') {
			continue
		}
		return t, p.accept('}') && p.atEnd() && seen == 1<<7-1 && utf8.Valid(row)
	}
}

// plainTaskValue reads the value of a key. Each key has a bit; 0 if it cannot be
// read.
func plainTaskValue(t *env.Task, p *plainReader, key string) (bit int) {
	texts := [...]struct {
		key string
		to  *string
	}{{"id", &t.ID}, {"size", &t.Size}, {"group", &t.Group}, {"objective", &t.Objective}, {"prompt", &t.Prompt}}
	for i, text := range texts {
		if key != text.key {
			continue
		}
		s, ok := p.str()
		if !ok {
			return 0
		}
		*text.to = *s
		return 1 << i
	}
	switch key {
	case "optimum":
		if v, ok := p.number(); ok {
			t.Optimum = *v
			return 1 << len(texts)
		}
	case "instance":
		if body, ok := p.object(); ok {
			t.Instance = bytes.Clone(body)
			return 1 << (len(texts) + 1)
		}
	}
	return 0
}
