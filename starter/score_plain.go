package main

import "bytes"

// plainReader reads the JSON that programs write. What it does not know it
// refuses, and another reader has the last word; so it may refuse at will but
// must never read anything otherwise than encoding/json would.
type plainReader struct {
	text []byte
	pos  int
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
	from := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			s := string(p.text[from:p.pos])
			p.pos++
			return &s, true
		case c == '\\':
			return p.escaped(from)
		case c < ' ':
			return nil, false
		}
		p.pos++
	}
	return nil, false
}

// escaped reads on in a string that began at from and has its first escape here.
func (p *plainReader) escaped(from int) (*string, bool) {
	end := bytes.IndexByte(p.text[p.pos:], '"')
	if end < 0 {
		return nil, false
	}
	b := append(make([]byte, 0, p.pos-from+end+64), p.text[from:p.pos]...)
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			s := string(b)
			return &s, true
		case c < ' ':
			return nil, false
		case c == '\\':
			var ok bool
			if b, ok = p.escape(b); !ok {
				return nil, false
			}
			continue
		}
		b = append(b, c)
		p.pos++
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
	r := rune(0)
	for _, digit := range p.text[p.pos+2 : p.pos+6] {
		v, ok := hexDigit(digit)
		if !ok {
			return b, false
		}
		r = r<<4 | v
	}
	p.pos += 6
	if r >= 0xd800 && r < 0xe000 {
		return b, false
	}
	return append(b, string(r)...), true
}

func hexDigit(c byte) (v rune, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	default:
		return 0, false
	}
}

// number reads a whole number of up to nine digits.
func (p *plainReader) number() (*int, bool) {
	p.space()
	from, v := p.pos, 0
	for ; p.pos < len(p.text) && p.pos-from < 10 && p.text[p.pos]-'0' <= 9; p.pos++ {
		v = v*10 + int(p.text[p.pos]-'0')
	}
	digits := p.pos - from
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

func (p *plainReader) skipString() bool {
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '"':
			p.pos++
			return true
		case '\\':
			p.pos++
		}
	}
	return false
}
