package main

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzReadScoreLine holds the fast reader against the strict one: what it reads
// at all, it reads the same.
func FuzzReadScoreLine(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","answer":"Agent 0: (0, 1) -> (0, 2)\nAgent 1: (1, 1)"}`,
		` { "tokens" : 12 , "truncated" : true , "id":"\u00e9\u2192\/\b\f", "answer":"" } `,
		`{"id":"\ud83d\ude00","answer":"😀","tokens":0}`,
		`{"answer":"x","task":{"id":"]}","instance":{"grid":["F\"H"]}},"truncated":false}`,
		`{"id":"a","answer":"b","tokens":007}`,
		`{"id":"a","answer":"b","tokens":1e2}`,
		`{"id":"a","answer":"b","truncated":null,"id":"c"}`,
		`{"id":"a","answer":"b",}`,
		`{"task":"name","answer":"b","verdict":{"valid":true}}`,
		`{"reward_state":{"answers":1,"within":1}}`,
		"{\"id\":\"\xff\",\"answer\":\"\x01\"}",
	} {
		f.Add([]byte(seed))
	}
	var plain plainReader // what one line leaves in it must not show in the next
	f.Fuzz(func(t *testing.T, line []byte) {
		want, err := readStrictLine(line)
		got, ok := readPlainLine(&plain, line)
		if !ok {
			return
		}
		if got.task != nil && err != nil {
			return // the task's own reader refuses it
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: fast %+v, strict %+v, %v", line, got, want, err)
		}
		if !utf8.ValidString(*got.answer) {
			t.Errorf("%q: answer %q", line, *got.answer)
		}
	})
}

// TestLinesAsProgramsWriteThemAreReadFast guards the speed of what the encoders
// of Go and Python make of an answer.
func TestLinesAsProgramsWriteThemAreReadFast(t *testing.T) {
	for _, line := range []string{
		`{"id":"t-3x3-0000","answer":"Agent 0: (0, 1) -\u003e (0, 2)\nAgent 1: (1, 1)\n"}` + "\n",
		`{"id": "t-3x3-0000", "answer": "Agent 0: (0, 1) \u2192 (0, 2)\nAgent 1: (1, 1)", "tokens": 61, "truncated": false}` + "\r\n",
		`{"answer":"it is \"up\"","task":{"id":"a","prompt":"Question:\n[{"}}`,
	} {
		if _, ok := readPlainLine(new(plainReader), []byte(line)); !ok {
			t.Errorf("%s is read the slow way", line)
		}
	}
}

// FuzzReadPlainTask holds the fast reader of tasks against encoding/json.
func FuzzReadPlainTask(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","size":"3x3","group":"g","objective":"o","optimum":4,"prompt":"p\n\u003e","instance":{"grid":["F\"}H"]}}`,
		` { "instance" : {} , "id":"\u00e9", "size":"", "group":"", "objective":"", "optimum":0, "prompt":"" } `,
		`{"id":"a","id":"b","size":"3x3","group":"g","objective":"o","optimum":4,"prompt":"p","instance":{}}`,
		`{"id":"a","size":"3x3","group":"g","objective":"o","optimum":4,"prompt":"p","instance":{"a":}}`,
		`{"ID":"a","size":"3x3","group":"g","objective":"o","optimum":-4,"prompt":"p","instance":null}`, `{}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		got, ok := readPlainTask(row)
		if !ok || !json.Valid(got.Instance) {
			return // the other reader has the last word, or the environment refuses it
		}
		want, err := decodeTask(row)
		if got.ID == "" {
			return
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: fast %+v, strict %+v, %v", row, got, want, err)
		}
	})
}
