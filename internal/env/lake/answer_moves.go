package lake

import "strings"

// Actions of an agent. Their numbers are the actions of an Episode.
const (
	actionUp = iota
	actionDown
	actionLeft
	actionRight
	actionWait
	actions
)

var offsets = [actions]Cell{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {0, 0}}

// step is the cell that an action leads to.
func (c Cell) step(action int) Cell {
	return Cell{c[0] + offsets[action][0], c[1] + offsets[action][1]}
}

var moveWords = map[string]int{
	"up": actionUp, "down": actionDown, "left": actionLeft, "right": actionRight, "wait": actionWait, "stay": actionWait,
	"u": actionUp, "d": actionDown, "l": actionLeft, "r": actionRight, "w": actionWait,
}

// moveAhead returns the moves of the word that comes next: one for a word or
// letter, several for letters in one piece, "RRDW"; nil if it is no move.
func (s *scanner) moveAhead() []int {
	start := s.pos
	defer func() { s.pos = start }()
	s.skip("\"'")
	word := s.peekWord()
	if m, ok := moveWords[strings.ToLower(word)]; ok {
		return []int{m}
	}
	var moves []int
	for _, letter := range word {
		m, ok := moveWords[strings.ToLower(string(letter))]
		if !ok || letter > 'Z' {
			return nil
		}
		moves = append(moves, m)
	}
	return moves
}

func (c *chain) moves() (moves []int, fault string) {
	c.words = true
	for {
		moves = append(moves, c.moveAhead()...)
		c.skip("\"'")
		c.word()
		c.skip("\"'")
		more, fault := c.next(func() bool { return c.moveAhead() != nil })
		if fault != "" || !more {
			return moves, fault
		}
	}
}

// partialWord says whether the text ends in the middle of a move word.
func (s *scanner) partialWord() bool {
	word := s.peekWord()
	if word == "" || s.pos+len(word) < len(s.text) {
		return false
	}
	for whole := range moveWords {
		if strings.HasPrefix(whole, strings.ToLower(word)) {
			return true
		}
	}
	return false
}

// walk turns moves into cells from the agent's start on. An agent that the task
// does not have stays nowhere; it is only counted.
func (s *scanner) walk(agent int, moves []int) []Cell {
	if agent >= s.in.Agents() {
		return nil
	}
	cells := []Cell{s.in.Starts[agent]}
	for _, m := range moves {
		cells = append(cells, cells[len(cells)-1].step(m))
	}
	return cells
}
