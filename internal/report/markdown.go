package report

import "strings"

// markdown writes what a designer was shown. Tables, which models read as they
// are, are set in columns for people; all else stays as it is.
func (t *terminal) markdown(text string) {
	var plain, grid []string
	flush := func() {
		if len(plain) > 0 {
			t.verbatim(strings.Join(plain, "\n"))
		}
		plain = nil
		if len(grid) > 0 {
			t.grid(grid)
		}
		grid = nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "|") {
			if len(plain) > 0 {
				flush()
				t.line("")
			}
			grid = append(grid, line)
			continue
		}
		if len(grid) > 0 {
			flush()
		}
		plain = append(plain, line)
	}
	flush()
}

// grid writes the lines of a Markdown table; lines that are none stay as they are.
func (t *terminal) grid(lines []string) {
	tab, ok := parseGrid(lines)
	if !ok {
		t.verbatim(strings.Join(lines, "\n"))
		return
	}
	t.table(tab, min(2, len(tab.Cols)-1))
}

// parseGrid reads a table with a head, a rule and rows of as many columns.
func parseGrid(lines []string) (table, bool) {
	if len(lines) < 3 || strings.Trim(lines[1], "|-: ") != "" {
		return table{}, false
	}
	var tab table
	for _, name := range gridCells(lines[0]) {
		tab.Cols = append(tab.Cols, leftHeading(name))
	}
	for _, line := range lines[2:] {
		var row []cell
		for _, text := range gridCells(line) {
			row = append(row, plain(text))
		}
		if len(row) != len(tab.Cols) {
			return table{}, false
		}
		tab.Rows = append(tab.Rows, row)
	}
	return tab, len(tab.Cols) > 1
}

func gridCells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(line, " "), "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}
