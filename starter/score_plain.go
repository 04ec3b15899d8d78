package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// plainReader reads the JSON that programs write. What it does not know it
// refuses, and another reader has the last word; so it may refuse at will but
// must never read anything otherwise than encoding/json would.
type plainReader struct {
	text    []byte
	pos     int
	decoded []byte // memory for strings with escapes
}

func (p *plainReader) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// accept takes a sign, with the space before it.
func (p *plainReader) accept(sign byte) bool {
	p.space()
	if p.pos == len(p.text) || p.text[p.pos] != sign {
		return false
	}
	p.pos++
	return true
}

func (p *plainReader) atEnd() bool {
	p.space()
	return p.pos == len(p.text)
}

// key reads a key and the colon behind it.
func (p *plainReader) key() (key []byte, ok bool) {
	if !p.accept('"') {
		return nil, false
	}
	end := bytes.IndexByte(p.text[p.pos:], '"')
	if end < 0 {
		return nil, false
	}
	key = p.text[p.pos : p.pos+end]
	p.pos += end + 1
	return key, p.accept(':')
}

// str reads a string.
func (p *plainReader) str() (*string, bool) {
	if !p.accept('"') {
		return nil, false
	}
	run := p.run()
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		p.pos++
		s := string(run)
		return &s, true
	}
	return p.escaped(run)
}

// run passes what stands for itself in a string.
func (p *plainReader) run() []byte {
	from := p.pos
	for p.pos < len(p.text) && !special[p.text[p.pos]] {
		p.pos++
	}
	return p.text[from:p.pos]
}

// special are quotes, backslashes and control characters.
var special = func() (is [256]bool) {
	for c := range byte(' ') {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

// escaped reads on in a string behind its first run.
func (p *plainReader) escaped(run []byte) (*string, bool) {
	b := append(p.decoded[:0], run...)
	for ok := true; ok && p.pos < len(p.text); {
		switch p.text[p.pos] {
		case '"':
			p.pos++
			p.decoded = b
			s := string(b)
			return &s, true
		case '\\':
			b, ok = p.escape(b)
			b = append(b, p.run()...)
		default:
			return nil, false
		}
	}
	return nil, false
}

// unescaped is what stands for a sign behind a backslash; 0 for none.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape. Surrogates are left to encoding/json.
func (p *plainReader) escape(b []byte) ([]byte, bool) {
	if p.pos+1 >= len(p.text) {
		return b, false
	}
	sign := p.text[p.pos+1]
	if sign != 'u' {
		p.pos += 2
		return append(b, unescaped[sign]), unescaped[sign] != 0
	}
	if p.pos+6 > len(p.text) {
		return b, false
	}
	r, bad := rune(0), false
	for _, digit := range p.text[p.pos+2 : p.pos+6] {
		v := hexValue[digit]
		bad = bad || v < 0
		r = r<<4 | rune(v)
	}
	p.pos += 6
	if bad || r >= 0xd800 && r < 0xe000 {
		return b, false
	}
	return utf8.AppendRune(b, r), true
}

// hexValue is the value of a hexadecimal digit, -1 of other signs.
var hexValue = func() (value [256]int8) {
	for i := range value {
		value[i] = int8(strings.IndexByte("0123456789abcdef", byte(i)))
	}
	for c := 'A'; c <= 'F'; c++ {
		value[c] = int8(c - 'A' + 10)
	}
	return value
}()

// number reads a whole number of up to nine digits, also one written with a
// fraction of zeros.
func (p *plainReader) number() (*int, bool) {
	p.space()
	from, v := p.pos, 0
	for ; p.pos < len(p.text) && p.pos-from < 10 && p.text[p.pos]-'0' <= 9; p.pos++ {
		v = v*10 + int(p.text[p.pos]-'0')
	}
	digits := p.pos - from
	if p.pos+1 < len(p.text) && p.text[p.pos] == '.' && p.text[p.pos+1] == '0' {
		for p.pos++; p.pos < len(p.text) && p.text[p.pos] == '0'; p.pos++ {
		}
	}
	return &v, digits == 1 || digits > 1 && digits < 10 && p.text[from] != '0'
}

// flag reads true or false.
func (p *plainReader) flag() (*bool, bool) {
	p.space()
	v := p.word("true")
	return &v, v || p.word("false")
}

func (p *plainReader) word(w string) bool {
	if !bytes.HasPrefix(p.text[p.pos:], []byte(w)) {
		return false
	}
	p.pos += len(w)
	return true
}

// object finds the end of an object by its brackets. Whoever decodes it finds
// out whether it is sound; if it is, its end was found rightly.
func (p *plainReader) object() (body []byte, ok bool) {
	if !p.accept('{') {
		return nil, false
	}
	from, depth := p.pos-1, 1
	for p.pos < len(p.text) && depth > 0 {
		switch p.text[p.pos] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if !p.skipString() {
				return nil, false
			}
			continue
		}
		p.pos++
	}
	return p.text[from:p.pos], depth == 0
}

// skipString passes a string from its first quote on. Its last quote is the first
// one with an even number of backslashes before it.
func (p *plainReader) skipString() bool {
	for p.pos++; ; p.pos++ {
		length := bytes.IndexByte(p.text[p.pos:], '"')
		if length < 0 {
			return false
		}
		first := p.pos // no quote stands before it
		p.pos += length
		slashes := p.pos
		for slashes > first && p.text[slashes-1] == '\\' {
			slashes--
		}
		if (p.pos-slashes)%2 == 0 {
			p.pos++
			return true
		}
	}
}
