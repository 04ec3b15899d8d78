package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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

// next reads the next line that is not blank. Its text lasts until the next call.
func (r *lineReader) next() (numbered, error) {
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
