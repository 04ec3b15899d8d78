package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"floe/internal/textfile"
)

// Sizes of reading lines. longestLine is more than any model writes, and keeps a
// file without line ends from filling the memory.
const (
	lineBuffer  = 256 << 10
	longestLine = 16 << 20
)

// numbered is one line of a file of rows, without the space around it.
type numbered struct {
	line int
	text []byte
	err  error // the line cannot be read as one
}

// lineError is what is wrong at a line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// inFile names the file in which a line is wrong; other errors stay as they are.
func inFile(file string, err error) error {
	if at, ok := errors.AsType[*lineError](err); ok {
		return fail(exitUsage, "%s:%d: %w", inputName(file), at.line, at.err)
	}
	return err
}

// inputName is how errors call an input.
func inputName(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}

// lineReader reads lines and counts them.
type lineReader struct {
	buffered *bufio.Reader
	line     int    // of the last one read
	text     []byte // of the last one that next gave
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{buffered: bufio.NewReaderSize(r, lineBuffer)}
}

// waits says whether a whole line can be read without waiting for the input.
func (r *lineReader) waits() bool {
	waiting, err := r.buffered.Peek(r.buffered.Buffered())
	return err == nil && bytes.IndexByte(waiting, '\n') >= 0
}

// append appends the next line to dst, its end included. A line that is too long
// is passed over. The error is io.EOF behind the last line, else a lineError.
func (r *lineReader) append(dst []byte) (_ []byte, tooLong bool, err error) {
	from, some := len(dst), false
	for {
		piece, err := r.buffered.ReadSlice('\n')
		some = some || len(piece) > 0
		if tooLong = tooLong || len(dst)-from+len(piece) > longestLine; tooLong {
			dst = dst[:from]
		} else {
			dst = append(dst, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, some && errors.Is(err, io.EOF):
			r.line++
			return dst, tooLong, nil
		case errors.Is(err, io.EOF):
			return dst, false, io.EOF
		}
		return dst[:from], false, &lineError{r.line + 1, fmt.Errorf("cannot be read: %w", err)}
	}
}

// rowReader reads rows of JSON: one a line, or the values of an array, or objects
// that are spread over lines. The first line shows which.
type rowReader struct {
	lineReader

	values *textfile.Values // where rows are not lines
	begun  bool             // the first line that is not blank has been read
}

func newRowReader(r io.Reader) *rowReader {
	return &rowReader{lineReader: *newLineReader(r)}
}

// waits says whether a row is likely to come without waiting for the input.
func (r *rowReader) waits() bool {
	return r.values != nil && r.values.Buffered() || r.values == nil && r.lineReader.waits()
}

// append appends the next row to dst. A line may be blank. The error is io.EOF
// behind the last row, else a lineError.
func (r *rowReader) append(dst []byte) (_ []byte, tooLong bool, err error) {
	from := len(dst)
	if r.values == nil {
		dst, tooLong, err = r.lineReader.append(dst)
		if err != nil || r.begun || len(bytes.TrimSpace(dst[from:])) == 0 {
			return dst, tooLong, err
		}
		if r.begun = true; tooLong || !goesOn(bytes.TrimSpace(dst[from:])) {
			return dst, tooLong, nil
		}
		first := bytes.NewReader(bytes.Clone(dst[from:]))
		r.values = textfile.NewValues(io.MultiReader(first, r.buffered), r.line, longestLine)
	}
	value, line, err := r.values.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = &lineError{line, err}
	}
	r.line = line
	return append(dst[:from], value...), false, err
}

// goesOn says whether a first line can only be the begin of JSON that goes on over
// the lines to come, or an array of objects.
func goesOn(line []byte) bool {
	switch last := line[len(line)-1]; line[0] {
	case '[':
		return len(line) == 1 || bytes.TrimLeft(line[1:], " \t")[0] == '{'
	case '{':
		return last == '{' || last == '[' || last == ',' || last == ':'
	}
	return false
}

// next reads the next row that is not blank. Its text lasts until the next call.
func (r *rowReader) next() (numbered, error) {
	for {
		text, tooLong, err := r.append(r.text[:0])
		if err != nil {
			return numbered{}, err
		}
		r.text = text
		if text = bytes.TrimSpace(text); len(text) > 0 || tooLong {
			return numbered{r.line, text, lengthError(tooLong)}, nil
		}
	}
}

func lengthError(tooLong bool) error {
	if !tooLong {
		return nil
	}
	return fmt.Errorf("found a line of more than %d MiB; want one JSON object", longestLine>>20)
}
