package lake

import "strings"

// chain reads one path: cells or moves, with one kind of separator between them.
type chain struct {
	*scanner
	closer  string // closes the list around the path; "" without a list
	words   bool   // a chain of moves
	below   bool   // the path stands under its label, perhaps with one item a line
	between string // the separator seen so far; " " for none but space
}

// path reads what stands behind an agent's label; false if that is prose.
func (s *scanner) path(agent int, below bool) (statement, bool) {
	start := s.pos
	c := &chain{scanner: s, closer: s.listOpens(), below: below}
	st := statement{agent: agent, rule: ruleUnreadable}
	switch {
	case s.atEnd():
		st.fault = s.breaksOff()
	case c.closer != "" && s.accept(c.closer):
		st.fault = "its path is empty"
	case c.cellAhead():
		st.rule = ruleCells
		st.cells, st.fault = c.cells()
	case s.moveAhead() != nil:
		var moves []int
		moves, st.fault = c.moves()
		st.rule, st.cells = ruleMoves, s.walk(agent, moves)
	default:
		s.pos = start
		return st, false
	}
	if st.fault == "" {
		st.fault = c.close()
	}
	return st, st.fault != "" || s.remark(&st)
}

// remark passes what stands behind a path on its line. It is false if that makes
// the whole line prose: words behind a single cell or behind moves. Cells behind
// a path are a fault: the path may go on there or not.
func (s *scanner) remark(st *statement) bool {
	s.skip(" ")
	s.annotation(",")
	if s.anotherAhead() {
		return true
	}
	rest, _, _ := strings.Cut(s.text[s.pos:], "\n")
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "//")
	words := strings.Trim(rest, " .,;|\"')]}!_") != ""
	if words && (st.rule == ruleMoves || len(st.cells) == 1) {
		return false
	}
	switch {
	case strings.Contains(rest, "->") || speaksOfCells(rest):
		st.fault = "there are more cells behind its end"
	case strings.Contains(rest, "..."):
		st.fault = "it leaves something out"
	}
	return true
}

// speaksOfCells says whether a remark has "(1, 2" or the like in it.
func speaksOfCells(remark string) bool {
	s := scanner{text: remark + "."} // the remark is whole
	for {
		bracket := strings.IndexAny(s.text[s.pos:], "([")
		if bracket < 0 {
			return false
		}
		s.pos += bracket
		if s.cellAhead() {
			return true
		}
		s.pos++
	}
}

// breaksOff marks the text as cut off and says so.
func (s *scanner) breaksOff() string {
	s.cut = true
	return "the text ends inside its path"
}

// listOpens passes a bracket that opens a list of cells or moves, not a cell,
// and returns the bracket that closes it.
func (s *scanner) listOpens() (closer string) {
	if !s.at("[") && !s.at("(") {
		return ""
	}
	start := s.pos
	s.pos++
	s.skip(" \n")
	if c := s.byte(); isDigit(c) || c == '-' {
		s.pos = start
		return ""
	}
	return closing(s.text[start])
}

func closing(open byte) string {
	if open == '[' {
		return "]"
	}
	return ")"
}

func (c *chain) close() (fault string) {
	if c.closer == "" {
		return ""
	}
	c.skip(" \n,")
	switch {
	case c.accept(c.closer):
		return ""
	case c.atEnd():
		return c.breaksOff()
	}
	return "its list has something else in it than cells or moves"
}

func (c *chain) cells() (cells []Cell, fault string) {
	for {
		next, fault := c.cell()
		if fault != "" {
			return nil, fault
		}
		cells = append(cells, next)
		if c.waitsTwice(cells) {
			return nil, `"wait" beside a cell may be a step of its own or a remark`
		}
		more, fault := c.next(c.cellAhead)
		if fault != "" || !more {
			return cells, fault
		}
	}
}

// waitsTwice passes a remark behind the last cell and says whether it speaks of
// waiting though the cell does not repeat the one before.
func (c *chain) waitsTwice(cells []Cell) bool {
	start := c.pos
	c.skip(" ")
	said := strings.ToLower(c.annotation("0123456789"))
	if said == "" {
		c.pos = start
		return false
	}
	n := len(cells)
	waits := strings.Contains(said, "wait") || strings.Contains(said, "stay")
	return waits && (n < 2 || cells[n-1] != cells[n-2])
}

// cellAhead says whether a bracket with a number and a comma comes next, as far
// as the text goes.
func (s *scanner) cellAhead() bool {
	start := s.pos
	defer func() { s.pos = start }()
	s.skip("\"'")
	if !s.accept("(") && !s.accept("[") {
		return false
	}
	s.skip(" \n")
	if s.atEnd() {
		return true
	}
	_, ok := s.number()
	s.skip(" \n")
	return ok && s.at(",") || s.atEnd()
}

// cell reads the cell that cellAhead promised.
func (s *scanner) cell() (c Cell, fault string) {
	s.skip("\"'")
	closer := closing(s.byte())
	s.pos++
	for i := range c {
		s.skip(" \n")
		v, ok := s.number()
		s.skip(" \n")
		if ok && s.accept([]string{",", closer}[i]) {
			c[i] = v
			continue
		}
		if s.atEnd() {
			return c, s.breaksOff()
		}
		return c, "it has a bracket that is no cell (row, col)"
	}
	s.skip("\"'")
	return c, ""
}

// farAway stands for every coordinate with more digits than any map has.
const farAway = 9999

func (s *scanner) number() (v int, ok bool) {
	negative := s.accept("-")
	from := s.pos
	for ; isDigit(s.byte()); s.pos++ {
		v = min(v*10+int(s.byte()-'0'), farAway)
	}
	if negative {
		v = -v
	}
	return v, s.pos > from
}

// next moves to the next item of the chain; false at its end.
func (c *chain) next(itemAhead func() bool) (more bool, fault string) {
	end := c.pos
	sep := c.passSeparator(itemAhead)
	switch {
	case c.atEnd() && (sep != " " || c.closer != ""):
		return false, c.breaksOff()
	case itemAhead():
	case c.words && c.partialWord():
		return false, c.breaksOff()
	case sep == "->":
		return false, "an arrow leads to something else than a cell or a move"
	default:
		c.pos = end
		return false, ""
	}
	if c.between != "" && c.between != sep {
		return false, "it has different separators, so where steps begin is unclear"
	}
	c.between = sep
	return true, ""
}

// passSeparator moves over what stands between two items and names it. An arrow
// or comma may have line ends on either side; without one, items may stand on
// lines of their own in a list and under a label.
func (c *chain) passSeparator(itemAhead func() bool) string {
	c.skip(" ")
	start := c.pos
	c.skip(" \n")
	for _, sep := range []string{"->", ",", ";", "-"} {
		if (c.pos == start || sep == "->" || c.closer != "") && c.accept(sep) {
			c.skip(" \n")
			return sep
		}
	}
	onOwnLine := c.below && (c.between == "" || c.between == " ")
	if onOwnLine {
		c.skip("-* ")
	}
	if !itemAhead() || c.pos != start && !onOwnLine && c.closer == "" {
		c.pos = start
	}
	return " "
}
