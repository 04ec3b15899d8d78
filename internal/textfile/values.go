package textfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Values reads JSON values that are not one a line: those of an array, or objects
// that are spread over lines.
type Values struct {
	src   *tracked
	d     *json.Decoder
	array bool // the values are those of an array
	begun bool
	count int
}

// NewValues reads from a stream that begins on a line. A value of more than longest
// bytes is refused, so that no file fills the memory.
func NewValues(src io.Reader, line int, longest int64) *Values {
	t := &tracked{from: src, line: line, longest: longest}
	return &Values{src: t, d: json.NewDecoder(t)}
}

// Next is the next value and the line that it begins on. The error is io.EOF behind
// the last value; of another error, line is where it is, and nothing follows it.
func (v *Values) Next() (value []byte, line int, err error) {
	if !v.begun {
		v.begun = true
		if v.array, err = v.opens(); err != nil {
			return nil, v.src.line, err
		}
	}
	v.src.done = v.d.InputOffset()
	if v.array && !v.d.More() {
		return v.end()
	}
	var raw json.RawMessage
	if err := v.d.Decode(&raw); err != nil {
		return v.broken(err)
	}
	v.count++
	return raw, v.src.lineAt(v.d.InputOffset() - int64(len(raw))), nil
}

// Buffered says whether something has been read that is behind the last value.
func (v *Values) Buffered() bool {
	var next [1]byte
	n, _ := v.d.Buffered().Read(next[:]) // memory does not fail
	return n > 0 && next[0] != '\n'
}

// opens passes the bracket that opens an array.
func (v *Values) opens() (array bool, err error) {
	first, err := v.src.peek()
	if err != nil || first != '[' {
		return false, err
	}
	_, err = v.d.Token()
	return true, err
}

// end reads what follows an array.
func (v *Values) end() ([]byte, int, error) {
	if _, err := v.d.Token(); err != nil {
		return v.broken(err)
	}
	at := v.d.InputOffset()
	var rest [41]byte
	n, err := io.ReadFull(io.MultiReader(v.d.Buffered(), v.src), rest[:])
	for err == nil && len(bytes.TrimSpace(rest[:n])) == 0 {
		n, err = io.ReadFull(v.src, rest[:])
	}
	if text := bytes.TrimSpace(rest[:n]); len(text) > 0 {
		return nil, v.src.lineAt(at), fmt.Errorf("found %.40q behind the array; want the end", text)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return nil, v.src.lineAt(at), err
}

// broken gives an error its line.
func (v *Values) broken(err error) ([]byte, int, error) {
	var syntax *json.SyntaxError
	switch at := v.d.InputOffset(); {
	case errors.Is(err, io.EOF) && !v.array:
		return nil, v.src.lineAt(at), io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, v.src.lineAt(v.src.read), fmt.Errorf("found the end in value %d; want the rest of it", v.count+1)
	case errors.As(err, &syntax):
		return nil, v.src.lineAt(max(at, syntax.Offset)), fmt.Errorf("value %d is not JSON: %w", v.count+1, err)
	default:
		return nil, v.src.lineAt(at), err
	}
}

// tracked is a stream that knows its lines.
type tracked struct {
	from    io.Reader
	read    int64
	done    int64   // where the last value ended
	longest int64   // most that may be read behind done
	line    int     // of what is before the first break
	breaks  []int64 // offsets behind line ends
	ahead   []byte  // peeked at
}

func (t *tracked) Read(p []byte) (n int, err error) {
	switch {
	case len(t.ahead) > 0:
		n = copy(p, t.ahead)
		t.ahead = t.ahead[n:]
	case t.read-t.done > t.longest:
		return 0, fmt.Errorf("found a value of more than %d MiB; want a smaller one", t.longest>>20)
	default:
		n, err = t.from.Read(p)
	}
	for i, c := range p[:n] {
		if c == '\n' {
			t.breaks = append(t.breaks, t.read+int64(i)+1)
		}
	}
	t.read += int64(n)
	return n, err
}

// peek is the first byte that is no space. It stays to be read.
func (t *tracked) peek() (byte, error) {
	var piece [1]byte
	for {
		n, err := t.from.Read(piece[:])
		if t.ahead = append(t.ahead, piece[:n]...); n > 0 && len(bytes.TrimSpace(piece[:])) > 0 {
			return piece[0], nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// lineAt is the line of an offset, which is not before that of the last call.
func (t *tracked) lineAt(offset int64) int {
	passed := 0
	for passed < len(t.breaks) && t.breaks[passed] <= offset {
		passed++
	}
	t.line += passed
	t.breaks = append(t.breaks[:0], t.breaks[passed:]...)
	return t.line
}
