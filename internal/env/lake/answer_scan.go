package lake

import (
	"strings"
	"unicode"
)

// plain takes off what only decorates: markup, full-width signs, the many
// arrows. What is left to read is ASCII, as far as it matters.
var plain = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\t", " ", "\u00a0", " ", "\u3000", " ", "\u200b", "",
	"（", "(", "）", ")", "［", "[", "］", "]", "【", "[", "】", "]", "｛", "{", "｝", "}",
	"，", ",", "、", ",", "；", ";", "：", ":", "＝", "=", "．", ".", "。", ".", "…", "...",
	"→", "->", "⟶", "->", "➔", "->", "➜", "->", "➡", "->", "⇒", "->", "－＞", "->",
	"=>", "->", "-->", "->", "–>", "->", "—>", "->", `\rightarrow`, "->", `\to`, "->",
	"−", "-", "－", "-", "＞", ">", "“", `"`, "”", `"`, "‘", "'", "’", "'",
	"０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9",
	"**", "", "`", "", "<answer>", "\n", "</answer>", "\n", `\boxed{`, "",
)

// scanner goes through a text once, line by line, and collects its statements.
type scanner struct {
	text   string
	pos    int
	in     *Instance
	said   []statement
	group  int  // of the statements to come
	cut    bool // the text breaks off inside a path
	table  bool // below a bare "Step 3:", where agents have one step each, no path
	tables bool // there was such a table
}

func (s *scanner) scan() {
	for s.pos < len(s.text) {
		s.line()
		s.skipLine()
	}
}

// line reads the statements of one line. A path may carry on below it.
func (s *scanner) line() {
	s.skipDecoration()
	switch {
	case s.at("\n"):
	case s.stepHeader():
		s.group++
	case !s.findLabel():
		s.table = false
		s.group++
		s.literals()
	default:
		for s.labelled() && s.another() {
		}
	}
}

// skipDecoration passes bullets, quotes, headings and numbering at the start of
// a line.
func (s *scanner) skipDecoration() {
	s.skip(" *#>-+|\"'")
	start := s.pos
	if s.digits() > 0 && (s.accept(".") || s.accept(")")) {
		s.skip(" *\"'")
		return
	}
	s.pos = start
}

// stepHeader says whether the line begins as "Step 3", "t = 3" or "Time step 3".
// Such a line is no path; bare, it heads the lines of a table, with words, as in
// "Step 3: final answer", it is a heading.
func (s *scanner) stepHeader() bool {
	start := s.pos
	for stepWords[strings.ToLower(s.peekWord())] {
		s.word()
		s.skip(" =:#")
	}
	if s.pos == start || s.digits() == 0 {
		s.pos = start
		return false
	}
	rest, _, _ := strings.Cut(s.text[s.pos:], "\n")
	s.table = !strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	s.tables = s.tables || s.table || strings.ContainsAny(rest, "0123456789")
	return true
}

var stepWords = map[string]bool{"step": true, "time": true, "timestep": true, "t": true}

// findLabel moves to the word "agent" if only words stand before it on the
// line, as in "Final path of agent 0:", else to where the words end.
func (s *scanner) findLabel() bool {
	for !s.atEnd() && !s.at("\n") {
		s.skip(" :=,\"'_")
		if s.labelAhead() {
			return true
		}
		if s.word() == "" {
			return false
		}
	}
	return false
}

// labelAhead says whether the word agent comes next, with a number or with the
// end of the text behind it.
func (s *scanner) labelAhead() bool {
	start := s.pos
	if word := s.peekWord(); len(word) < len("agent") || !strings.EqualFold(word[:len("agent")], "agent") {
		return false
	}
	defer func() { s.pos = start }()
	return s.agentNumber() >= 0 || s.atEnd()
}

// agentNumber reads "agent 0" and its spellings; -1 if there is no number.
func (s *scanner) agentNumber() int {
	s.pos += len("agent")
	s.skip(" _#-")
	v, from := 0, s.pos
	for ; s.pos < len(s.text) && isDigit(s.text[s.pos]) && s.pos < from+3; s.pos++ {
		v = v*10 + int(s.text[s.pos]-'0')
	}
	if s.pos == from || isDigit(s.byte()) || isLetter(s.byte()) {
		return -1
	}
	return v
}

// labelled reads a label and the path that it announces; false if what follows
// is prose.
func (s *scanner) labelled() bool {
	agent := s.agentNumber()
	if s.atEnd() || agent < 0 || !s.separator() {
		s.cut = s.cut || s.atEnd()
		s.group++
		return false
	}
	s.skip(" \"'")
	here, below := s.pos, s.at("\n")
	if below {
		s.skip(" \n")
		s.skip(" -*")
	}
	st, ok := s.path(agent, below)
	if !ok {
		s.pos = here // what stands below is a line of its own
		s.group++
		return false
	}
	if s.table && st.fault == "" && len(st.cells) <= 2 {
		s.tables = true
		return true
	}
	s.say(st)
	return true
}

func (s *scanner) say(st statement) {
	st.group = s.group
	s.said = append(s.said, st)
}

// separator passes what may stand between an agent's number and its path, up to
// and with the colon or its like.
func (s *scanner) separator() bool {
	for {
		s.skip(" \"'_")
		switch {
		case s.accept(":") || s.accept("=") || s.accept("|"):
			return true
		case s.at("->"):
			return false
		case s.accept("-") || s.accept("–") || s.accept("—"):
			return true
		case s.parenthesis():
		case labelWords[strings.ToLower(s.peekWord())]:
			s.word()
		default:
			return false
		}
	}
}

var labelWords = map[string]bool{
	"s": true, "path": true, "route": true, "plan": true, "moves": true, "actions": true, "trajectory": true, "positions": true,
}

// another moves to a further label on the same line, if there is one.
func (s *scanner) another() bool {
	s.skip(" ,;|.\"')]}")
	if strings.EqualFold(s.peekWord(), "and") {
		s.word()
		s.skip(" ")
	}
	return s.labelAhead()
}

func (s *scanner) anotherAhead() bool {
	start := s.pos
	defer func() { s.pos = start }()
	return s.another()
}
