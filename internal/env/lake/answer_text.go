package lake

import "strings"

// The small moves of the scanner over its text.

func (s *scanner) atEnd() bool { return s.pos >= len(s.text) }

func (s *scanner) at(prefix string) bool { return strings.HasPrefix(s.text[s.pos:], prefix) }

// byte is the byte at pos, 0 at the end.
func (s *scanner) byte() byte {
	if s.atEnd() {
		return 0
	}
	return s.text[s.pos]
}

func (s *scanner) accept(prefix string) bool {
	if !s.at(prefix) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// skip passes any of these ASCII bytes.
func (s *scanner) skip(bytes string) {
	for s.pos < len(s.text) && strings.IndexByte(bytes, s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) skipLine() {
	if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
	} else {
		s.pos = len(s.text)
	}
}

func (s *scanner) digits() (n int) {
	for ; s.pos < len(s.text) && isDigit(s.text[s.pos]); n++ {
		s.pos++
	}
	return n
}

// word passes a run of letters and returns it.
func (s *scanner) word() string {
	w := s.peekWord()
	s.pos += len(w)
	return w
}

func (s *scanner) peekWord() string {
	end := s.pos
	for end < len(s.text) && isLetter(s.text[end]) {
		end++
	}
	return s.text[s.pos:end]
}

// annotation passes a short bracketed remark without these bytes, such as
// "(goal)", and returns it; "" if there is none. It stays on the line.
func (s *scanner) annotation(without string) string {
	if !s.at("(") && !s.at("[") {
		return ""
	}
	for end := s.pos + 1; end < len(s.text) && end < s.pos+60; end++ {
		switch c := s.text[end]; {
		case c == ')' || c == ']':
			found := s.text[s.pos : end+1]
			s.pos = end + 1
			return found
		case strings.IndexByte("\n([\""+without, c) >= 0:
			return ""
		}
	}
	return ""
}

// parenthesis passes a short parenthesis with whatever it holds, such as
// "(from (0, 0) to (2, 2))"; false if there is none on this line.
func (s *scanner) parenthesis() bool {
	open := 0
	for end := s.pos; end < len(s.text) && end < s.pos+60; end++ {
		switch s.text[end] {
		case '(':
			open++
		case ')':
			open--
		case '\n':
			return false
		}
		if open == 0 {
			found := end > s.pos
			if found {
				s.pos = end + 1
			}
			return found
		}
	}
	return false
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }
