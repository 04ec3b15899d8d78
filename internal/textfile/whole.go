package textfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
)

// Unmarshal reads a JSON value as encoding/json does, but takes 64.0 for the whole
// number 64: programs write columns of whole numbers so once one is missing.
func Unmarshal(body []byte, v any) error {
	return whole(body, func(body []byte) error { return json.Unmarshal(body, v) })
}

// UnmarshalStrict does the same, and refuses fields that v does not have.
func UnmarshalStrict(body []byte, v any) error {
	return whole(body, func(body []byte) error {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			return err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return errors.New("there is something behind it")
		}
		return nil
	})
}

func whole(body []byte, read func([]byte) error) error {
	err := read(body)
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); !wrong {
		return err
	}
	if written := WholeNumbers(body); !bytes.Equal(written, body) {
		return read(written)
	}
	return err
}

// WholeNumbers writes whole numbers in JSON without a fraction: 64 for 64.0 and
// 6.4e1. All else stays as it is, and so does what is no JSON.
func WholeNumbers(body []byte) []byte {
	if bytes.IndexByte(body, '.') < 0 && !bytes.ContainsAny(body, "eE") {
		return body
	}
	out, text := make([]byte, 0, len(body)), false
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case text && c == '\\' && i+1 < len(body):
			out = append(out, c, body[i+1])
			i += 2
			continue
		case c == '"':
			text = !text
		case !text && (c == '-' || '0' <= c && c <= '9'):
			n := numberLength(body[i:])
			out = append(out, wholeNumber(body[i:i+n])...)
			i += n
			continue
		}
		out = append(out, c)
		i++
	}
	return out
}

func numberLength(text []byte) int {
	for i, c := range text {
		if bytes.IndexByte([]byte("+-.0123456789eE"), c) < 0 {
			return i
		}
	}
	return len(text)
}

// mostExact is the bound below which floats hold every whole number.
const mostExact = 1 << 53

func wholeNumber(text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") || !json.Valid(text) {
		return text
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) >= mostExact || x == 0 && bytes.ContainsAny(text, "123456789") {
		return text
	}
	return strconv.AppendInt(nil, int64(x), 10)
}
