package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

const hostile = "x \x1b]0;T\x07\x1b[2J\u202e\x9b1mz\x00"

// steers says whether a text could do something to a terminal.
func steers(s string) bool { return strings.ContainsAny(s, "\x1b\x07\x00\u202e\u009b") }

func TestTablesCannotSteerATerminal(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, err: io.Discard, output: "table"}
	err := a.emit(nil, func(w io.Writer) error {
		for _, b := range []byte(hostile + "\n") { // in pieces
			if _, err := w.Write([]byte{b}); err != nil {
				return err
			}
		}
		if err := rows(w, []string{"A", "B"}, [][]string{{hostile, "a\nb\tc"}}); err != nil {
			return err
		}
		_, err := fmt.Fprint(w, "no end "+hostile)
		return err
	})
	if err != nil || steers(out.String()) || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), "a b c") {
		t.Errorf("wrote %q (%v)", out.String(), err)
	}
}

func TestMessagesCannotSteerATerminal(t *testing.T) {
	var errOut bytes.Buffer
	a := &app{err: &errOut}
	a.say("by %s", hostile)
	a.complain(errors.New(hostile))
	if steers(errOut.String()) {
		t.Errorf("wrote %q", errOut.String())
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	key := "s3://floe/steps/train/" + strings.Repeat("0123456789abcdef", 4) + "/policy.bin"
	table := func(columns int) string {
		var out bytes.Buffer
		p := &plainWriter{w: &out, columns: columns}
		err := errors.Join(rows(p, []string{"PATH", "BYTES", "OBJECT", "WHY"}, [][]string{
			{"round-0/train/policy.bin", "12000", key, "a sentence that says why it is so"},
		}), p.flush())
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, columns := range []int{60, 80, 100} {
		for line := range strings.SplitSeq(table(columns), "\n") {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("at %d columns a line has %d: %s", columns, n, line)
			}
		}
	}
	if out := table(80); !strings.Contains(out, "s3://floe/") || !strings.Contains(out, "policy.bin\x20\x20") || !strings.Contains(out, "a sentence") {
		t.Errorf("both ends of a key and the begin of a sentence should stay:\n%s", out)
	}
	if out := table(0); !strings.Contains(out, key) {
		t.Errorf("a table that is piped is cut:\n%s", out)
	}
}

func TestDocumentsNameTheirForm(t *testing.T) {
	for want, data := range map[string]any{
		`{"schema":"floe.x/v1","a":1}`: struct {
			A int `json:"a"`
		}{1},
		`{"schema":"floe.x/v1"}`: struct{}{},
	} {
		if got, err := json.Marshal(versioned{"floe.x/v1", data}); err != nil || string(got) != want {
			t.Errorf("got %s (%v); want %s", got, err, want)
		}
	}
}
