package lake

import "strings"

// scratch is memory for judging that is used again: training judges hundreds of
// thousands of answers.
type scratch struct {
	plan  [MaxAgents][]Cell
	cells []Cell
	times []uint64
}

// canonical reads the form that the prompt asks for and nothing else. It is there
// for speed: small policies write hundreds of thousands of such answers. The plan
// lasts until the scratch is used again.
func (s *scratch) canonical(text string, agents int) (Plan, bool) {
	if !strings.HasPrefix(text, canonicalLabels[0]) {
		return nil, false
	}
	s.cells = s.cells[:0]
	for agent := range agents {
		var ok bool
		if text, ok = strings.CutPrefix(text, canonicalLabels[agent]); !ok {
			return nil, false
		}
		from := len(s.cells)
		if text, ok = s.canonicalPath(text); !ok {
			return nil, false
		}
		s.plan[agent] = s.cells[from:len(s.cells):len(s.cells)]
	}
	return s.plan[:agents], strings.TrimSpace(text) == ""
}

var canonicalLabels = [MaxAgents]string{"Agent 0: ", "\nAgent 1: ", "\nAgent 2: ", "\nAgent 3: ", "\nAgent 4: "}

// canonicalPath adds the cells of a path and returns the text behind it.
func (s *scratch) canonicalPath(text string) (rest string, ok bool) {
	const arrow = " -> "
	for {
		c, n := canonicalCell(text)
		if n == 0 {
			return text, false
		}
		s.cells, text = append(s.cells, c), text[n:]
		if !strings.HasPrefix(text, arrow) {
			return text, true
		}
		text = text[len(arrow):]
	}
}

// canonicalCell reads "(row, col)"; n is its length, 0 if it is not there.
func canonicalCell(text string) (c Cell, n int) {
	const shape = "(0, 0)"
	if len(text) < len(shape) || text[0] != '(' {
		return c, 0
	}
	// All cells on a map look like this, and nearly all others that are written.
	row, col := text[1]-'0', text[4]-'0'
	if row <= 9 && text[2] == ',' && text[3] == ' ' && col <= 9 && text[5] == ')' {
		return Cell{int(row), int(col)}, len(shape)
	}
	return widerCell(text)
}

// widerCell reads coordinates of up to two digits, with signs.
func widerCell(text string) (c Cell, n int) {
	row, i := shortNumber(text, 1)
	if i == 0 || len(text) < i+4 || text[i] != ',' || text[i+1] != ' ' {
		return c, 0
	}
	col, j := shortNumber(text, i+2)
	if j == 0 || j >= len(text) || text[j] != ')' {
		return c, 0
	}
	return Cell{row, col}, j + 1
}

// shortNumber reads one or two digits with an optional minus; end is 0 if there
// are none.
func shortNumber(text string, i int) (v, end int) {
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(text) && i < first+2 && text[i]-'0' <= 9; i++ {
		v = v*10 + int(text[i]-'0')
	}
	if i == first {
		return 0, 0
	}
	if negative {
		v = -v
	}
	return v, i
}
