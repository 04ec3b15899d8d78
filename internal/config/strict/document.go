package strict

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	maxBytes = 256 << 10
	// Up to this size a syntax error is looked for by trial; beyond it the
	// parser's own, less exact line is told.
	maxSearchBytes = 64 << 10
	maxSearchLines = 400
)

// Parse reads text that must hold exactly one YAML document, and returns the
// value in it. The value is nil when nothing could be read.
func Parse(src []byte) (*yaml.Node, []Fault) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF")) // some editors put this mark first
	if f, bad := unreadable(src); bad {
		return nil, []Fault{f}
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, []Fault{{1, 1, "", "found nothing; want a YAML document"}}
	case err != nil:
		return nil, []Fault{syntaxFault(src, err)}
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, []Fault{syntaxFault(src, err)}
	}
	return doc.Content[0], []Fault{{second.Line, second.Column, "", "found a second document; want one"}}
}

// unreadable says what keeps a text from being parsed at all.
func unreadable(src []byte) (Fault, bool) {
	if len(src) > maxBytes {
		return Fault{1, 1, "", "found more than 256 KiB; want less"}, true
	}
	if utf8.Valid(src) {
		return Fault{}, false
	}
	line, column := 1, 1
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		if r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		src = src[size:]
	}
	return Fault{line, column, "", "found a byte that is not UTF-8; want a text in UTF-8"}, true
}

var parserPrefix = regexp.MustCompile(`^yaml: (line ([0-9]+): )?`)

// syntaxFault gives a parser's error a place. The parser itself names the line
// where the enclosing block starts, one line beside it, or none.
func syntaxFault(src []byte, cause error) Fault {
	lines := strings.SplitAfter(string(src), "\n")
	line := 1
	if len(src) <= maxSearchBytes && len(lines) <= maxSearchLines {
		line = firstBroken(lines)
	} else if m := parserPrefix.FindStringSubmatch(cause.Error()); m != nil {
		line = min(max(atoi(m[2]), 1), len(lines))
	}
	text := lines[line-1]
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	if tab := strings.IndexByte(text[:indent], '\t'); tab >= 0 {
		return Fault{line, tab + 1, "", "found a tab; want spaces for indentation"}
	}
	message := parserPrefix.ReplaceAllString(cause.Error(), "")
	return Fault{line, indent + 1, "", "not YAML: " + message}
}

// firstBroken is the line behind the longest run of lines that can be read. It
// finds the quote that was opened, not the end of the file where it is missed.
func firstBroken(lines []string) int {
	for k := len(lines) - 1; k > 0; k-- {
		if readable(strings.Join(lines[:k], "")) {
			return k + 1
		}
	}
	return 1
}

func readable(src string) bool {
	dec := yaml.NewDecoder(strings.NewReader(src))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func atoi(digits string) int {
	n := 0
	for _, d := range digits {
		n = min(n*10+int(d-'0'), maxBytes)
	}
	return n
}
