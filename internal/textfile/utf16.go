package textfile

import (
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

var little, big = binary.LittleEndian, binary.BigEndian

// utf16In reads UTF-16 behind a mark of so many bytes.
func utf16In(mark int64, order binary.ByteOrder) func(io.Reader) (io.Reader, error) {
	return func(src io.Reader) (io.Reader, error) {
		src, err := skip(mark)(src)
		return &utf16Reader{src: src, order: order}, err
	}
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	src   io.Reader
	order binary.ByteOrder
	bytes []byte // not decoded yet
	text  []byte // decoded, not given yet
	err   error  // of the source
}

// Read reads UTF-8.
func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.text) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

func (r *utf16Reader) fill() {
	var piece [32 << 10]byte
	n, err := r.src.Read(piece[:])
	r.bytes, r.err = append(r.bytes, piece[:n]...), err
	if fault := r.decode(); fault != nil {
		r.err = fault
	}
}

// decode turns all whole characters into UTF-8.
func (r *utf16Reader) decode() error {
	text, rest := r.text[:0], r.bytes
	for len(rest) >= 2 {
		c, size := rune(r.order.Uint16(rest)), 2
		if utf16.IsSurrogate(c) {
			if len(rest) < 4 && r.err == nil {
				break // the other half comes with the next piece
			}
			var low rune
			if size = 4; len(rest) >= 4 {
				low = rune(r.order.Uint16(rest[2:]))
			}
			if c = utf16.DecodeRune(c, low); c == utf8.RuneError {
				r.text = text
				return errors.New("found half a character in a text in UTF-16; want UTF-8, or UTF-16 that is whole")
			}
		}
		text, rest = utf8.AppendRune(text, c), rest[size:]
	}
	r.text, r.bytes = text, append(r.bytes[:0], rest...)
	if errors.Is(r.err, io.EOF) && len(rest) > 0 {
		return errors.New("found half a character at the end of a text in UTF-16; the file is cut off")
	}
	return nil
}
