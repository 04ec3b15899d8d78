package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"floe/internal/env"
)

var _ env.Mapping = Lake{}

// Letters of terrain. Swamp can be entered from land, water cannot; agents here
// start on land and have no boats.
const (
	landLetters    = ".GS"
	blockedLetters = "@OTW"
)

// FromMap makes an instance of a map and the first agents of a scenario. A map that
// is not square, or smaller than the least size, is filled up with holes: that
// changes no path.
func (Lake) FromMap(grid, scenario env.Text, agents int) (json.RawMessage, error) {
	if agents < MinAgents || agents > MaxAgents {
		return nil, fmt.Errorf("found %d agents; want %d to %d", agents, MinAgents, MaxAgents)
	}
	m := &mapReader{textReader: textReader{name: grid.Name}}
	m.read(grid.Body)
	s := &scenarioReader{textReader: textReader{name: scenario.Name}, board: m, sound: len(m.errs) == 0}
	s.read(scenario.Body, agents)
	if err := errors.Join(append(m.errs, s.errs...)...); err != nil {
		return nil, err
	}
	in := Instance{N: max(MinSize, m.width, m.height), Starts: s.starts, Goals: s.goals}
	for r := range in.N {
		in.Grid = append(in.Grid, m.row(r, in.N))
	}
	return json.Marshal(struct {
		ID string `json:"id"`
		Instance
	}{scenario.Name, in})
}

// textReader tells what is wrong with a text, and where.
type textReader struct {
	name string
	errs []error
}

func (t *textReader) fault(line, column int, format string, args ...any) {
	t.errs = append(t.errs, fmt.Errorf("%s:%d:%d: %s", t.name, line, column, fmt.Sprintf(format, args...)))
}

// linesOf are a text's lines without their ends and the blank ones behind the last.
func linesOf(body []byte) []string {
	text := strings.TrimRight(strings.ReplaceAll(string(body), "\r\n", "\n"), " \t\n")
	return strings.Split(text, "\n")
}

// mapReader reads a map:
//
//	type octile
//	height 2
//	width 3
//	map
//	..@
//	...
type mapReader struct {
	textReader
	width, height int
	rows          []string
}

func (m *mapReader) read(body []byte) {
	lines := linesOf(body)
	at := 0
	for ; at < len(lines) && strings.TrimSpace(lines[at]) != "map"; at++ {
		m.head(at+1, lines[at])
		if len(m.errs) > 0 {
			return // what follows an odd head is no map
		}
	}
	switch {
	case at == len(lines):
		m.fault(len(lines), 1, "found no line that says map; want type, height, width, map, and the rows behind them")
	case m.width == 0 || m.height == 0:
		m.fault(at+1, 1, "found the map without its height or width; want both before it")
	case m.width > MaxSize || m.height > MaxSize:
		m.fault(1, 1, "found a map of %d x %d cells; want at most %d x %d, which is all that lake holds: cut a piece out of it, and its agents with it", m.width, m.height, MaxSize, MaxSize)
	default:
		m.grid(at+2, lines[at+1:])
	}
}

func (m *mapReader) head(line int, text string) {
	key, value, _ := strings.Cut(strings.TrimSpace(text), " ")
	to := map[string]*int{"height": &m.height, "width": &m.width}[key]
	if key == "type" || key == "" {
		return
	}
	if to == nil {
		m.fault(line, 1, "found %.40q; want type, height, width or map", text)
		return
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 1 {
		m.fault(line, len(key)+2, "found the %s %.40q; want a whole number of at least 1", key, value)
	}
	*to = n
}

func (m *mapReader) grid(first int, rows []string) {
	if len(rows) != m.height {
		m.fault(first, 1, "found %d rows; want %d, the height", len(rows), m.height)
	}
	for i, row := range rows {
		if len(row) != m.width {
			m.fault(first+i, 1, "found a row of %d letters; want %d, the width", len(row), m.width)
		}
		if at := strings.IndexFunc(row, func(c rune) bool { return !strings.ContainsRune(landLetters+blockedLetters, c) }); at >= 0 {
			m.fault(first+i, at+1, "found %.8q; want one of %s (land) and %s (blocked)", row[at:], landLetters, blockedLetters)
		}
	}
	m.rows = rows
}

// free says whether agents may be at a cell of the map.
func (m *mapReader) free(c Cell) bool { return strings.IndexByte(landLetters, m.rows[c[0]][c[1]]) >= 0 }

// row is a row of the board.
func (m *mapReader) row(r, n int) string {
	row := []byte(strings.Repeat(string(hole), n))
	for c := range m.width {
		if r < m.height && m.free(Cell{r, c}) {
			row[c] = frozen
		}
	}
	return string(row)
}

// scenarioReader reads a scenario: a line of its version, and one of nine fields for
// each agent. Where x is a column and y a row, Cell has the row first.
type scenarioReader struct {
	textReader
	board         *mapReader
	sound         bool // the board can be looked at
	starts, goals []Cell
}

// Fields of a line of a scenario.
const (
	fieldMapWidth = 2 + iota
	fieldMapHeight
	fieldStartX
	fieldStartY
	fieldGoalX
	fieldGoalY
	fieldLength // of the shortest path with diagonal steps, which lake has not

	scenarioFields
)

func (s *scenarioReader) read(body []byte, agents int) {
	lines := linesOf(body)
	if !strings.HasPrefix(lines[0], "version") {
		s.fault(1, 1, "found %.40q; want the line version 1 of a scenario", lines[0])
		return
	}
	taken := [2]map[Cell]int{{}, {}}
	for i, line := range lines[1:] {
		if len(s.starts) == agents {
			return
		}
		if strings.TrimSpace(line) != "" {
			s.agent(i+2, line, taken)
		}
	}
	if n := len(s.starts); n < agents {
		s.fault(len(lines), 1, "found %d of the %d agents", n, agents)
	}
}

// agent reads the line of an agent.
func (s *scenarioReader) agent(line int, text string, taken [2]map[Cell]int) {
	fields, columns := split(text)
	s.starts, s.goals = append(s.starts, Cell{}), append(s.goals, Cell{})
	if len(fields) != scenarioFields {
		s.fault(line, 1, "found %d fields; want %d: bucket, map, its width and height, x and y of start and goal, length", len(fields), scenarioFields)
		return
	}
	var n [scenarioFields]int
	before := len(s.errs)
	for i := fieldMapWidth; i < fieldLength; i++ {
		var err error
		if n[i], err = strconv.Atoi(fields[i]); err != nil {
			s.fault(line, columns[i], "found %.40q; want a whole number", fields[i])
		}
	}
	if len(s.errs) > before || !s.sound {
		return
	}
	if w, h := n[fieldMapWidth], n[fieldMapHeight]; w != s.board.width || h != s.board.height {
		s.fault(line, columns[fieldMapWidth], "found an agent on a map of %d x %d; want %d x %d, the size of %s", w, h, s.board.width, s.board.height, s.board.name)
		return
	}
	last := len(s.starts) - 1
	for i, to := range []*Cell{&s.starts[last], &s.goals[last]} {
		at := fieldStartX + 2*i
		*to = Cell{n[at+1], n[at]}
		s.place(line, columns[at], []string{"start", "goal"}[i], *to, taken[i])
	}
}

// place looks whether an agent can be at a cell.
func (s *scenarioReader) place(line, column int, what string, c Cell, taken map[Cell]int) {
	other, twice := taken[c]
	switch {
	case c[0] < 0 || c[0] >= s.board.height || c[1] < 0 || c[1] >= s.board.width:
		s.fault(line, column, "found the %s x %d, y %d, which is off the map; want x below %d and y below %d", what, c[1], c[0], s.board.width, s.board.height)
		return
	case !s.board.free(c):
		s.fault(line, column, "found the %s x %d, y %d, which is blocked (%q in the map); want land", what, c[1], c[0], s.board.rows[c[0]][c[1]])
	case twice:
		s.fault(line, column, "found the %s x %d, y %d, which is also that of line %d; want another", what, c[1], c[0], other)
	}
	taken[c] = line
}

// split cuts a line into fields, and says on which columns they begin.
func split(line string) (fields []string, columns []int) {
	at := 0
	for f := range strings.FieldsSeq(line) {
		at += strings.Index(line[at:], f)
		fields, columns = append(fields, f), append(columns, at+1)
		at += len(f)
	}
	return fields, columns
}
