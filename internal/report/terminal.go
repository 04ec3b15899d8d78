package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"floe/internal/cleantext"
)

// ANSI attributes.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	cyan   = "\x1b[36m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
)

// terminal writes lines no wider than width.
type terminal struct {
	w     io.Writer // buffered: it keeps the first error for Flush
	width int
	color bool
}

func (t *terminal) line(s string) {
	s = strings.ReplaceAll(strings.TrimRight(s, " "), hardSpace, " ")
	_, _ = fmt.Fprintln(t.w, s) // the buffer keeps the error
}

// paint colours text, if colours are wanted.
func (t *terminal) paint(style, s string) string {
	if !t.color || style == "" || s == "" {
		return s
	}
	return style + s + reset
}

func (t *terminal) section(title, note string) {
	t.line("")
	head := t.paint(bold, title)
	used := textWidth(title)
	if note != "" && used+1+textWidth(note) < t.width {
		head += " " + t.paint(dim, note)
		used += 1 + textWidth(note)
	}
	t.line(head + " " + t.paint(dim, strings.Repeat("─", max(0, t.width-used-1))))
}

// wrapped writes text broken at spaces, every line behind prefix. Line breaks in
// the text are kept.
func (t *terminal) wrapped(prefix, style, text string) {
	for paragraph := range strings.SplitSeq(text, "\n") {
		for _, l := range wrap(words(cleantext.Line(paragraph)), " ", t.width-textWidth(prefix)) {
			t.line(t.paint(dim, prefix) + t.paint(style, l))
		}
	}
}

// hanging writes items behind a label, further lines indented to the first item.
func (t *terminal) hanging(label, labelStyle, style string, items []string) {
	prefix := t.paint(labelStyle, label)
	for _, l := range wrap(items, "  ", t.width-textWidth(label)) {
		t.line(prefix + t.paint(style, l))
		prefix = strings.Repeat(" ", textWidth(label))
	}
}

// wrap joins words by gap into lines of at most width; a longer word is cut.
func wrap(words []string, gap string, width int) []string {
	width = max(width, 8)
	var lines []string
	line := ""
	flush := func() {
		if line != "" {
			lines = append(lines, line)
			line = ""
		}
	}
	for _, word := range words {
		if line != "" && textWidth(line)+textWidth(gap)+textWidth(word) > width {
			flush()
		}
		for textWidth(word) > width {
			cut := []rune(word)
			lines = append(lines, string(cut[:width]))
			word = string(cut[width:])
		}
		if line != "" {
			line += gap
		}
		line += word
	}
	flush()
	return lines
}

// table writes rows in aligned columns. When they do not fit, the columns after
// the first keep ones are split into blocks under each other.
func (t *terminal) table(tab table, keep int) {
	widths := columnWidths(tab)
	for first := keep; first < len(widths); {
		next, used := first, 0
		for i := range keep {
			used += widths[i] + columnGap
		}
		for next < len(widths) && (next == first || used+widths[next] <= t.width) {
			used += widths[next] + columnGap
			next++
		}
		if first > keep {
			t.line("")
		}
		t.block(tab, widths, keep, first, next)
		first = next
	}
}

const columnGap = 2

// block writes the columns before keep and those from first to next.
func (t *terminal) block(tab table, widths []int, keep, first, next int) {
	shown := func(i int) bool { return i < keep || i >= first && i < next }
	if len(tab.Groups) > 0 {
		t.line(t.paint(dim, groupLine(tab.Groups, widths, shown)))
	}
	head, total := "", 0
	for i, col := range tab.Cols {
		if shown(i) {
			head += align(cleantext.Line(col.Text), widths[i], col.Left) + strings.Repeat(" ", columnGap)
			total += widths[i] + columnGap
		}
	}
	t.line(t.paint(dim, strings.TrimRight(head, " ")))
	t.line(t.paint(dim, strings.Repeat("─", total-columnGap)))
	for _, row := range tab.Rows {
		var line strings.Builder
		for i, c := range row {
			if shown(i) {
				line.WriteString(t.paint(cellStyle(c), align(cleantext.Line(c.Text), widths[i], tab.Cols[i].Left)) + strings.Repeat(" ", columnGap))
			}
		}
		t.line(line.String())
	}
}

// groupLine centres each upper heading between rules over those of its columns
// that are shown.
func groupLine(groups []heading, widths []int, shown func(int) bool) string {
	var line strings.Builder
	at := 0
	for _, g := range groups {
		width := -columnGap
		for range max(g.Span, 1) {
			if shown(at) {
				width += widths[at] + columnGap
			}
			at++
		}
		if width >= 0 {
			line.WriteString(centred(cleantext.Line(g.Text), width) + strings.Repeat(" ", columnGap))
		}
	}
	return line.String()
}

func centred(text string, width int) string {
	if text == "" {
		return strings.Repeat(" ", width)
	}
	text = " " + text + " "
	left := max(0, (width-textWidth(text))/2)
	right := max(0, width-textWidth(text)-left)
	return strings.Repeat("─", left) + text + strings.Repeat("─", right)
}

// cellStyle follows the classes that colour the HTML table.
func cellStyle(c cell) string {
	switch {
	case c.Head || c.Class == "strong":
		return bold
	case strings.Contains(c.Class, "soft"):
		return dim
	case strings.Contains(c.Class, "optimal"):
		return yellow
	case strings.Contains(c.Class, "valid"):
		return cyan
	default:
		return ""
	}
}

func columnWidths(tab table) []int {
	widths := make([]int, len(tab.Cols))
	for i, col := range tab.Cols {
		widths[i] = textWidth(cleantext.Line(col.Text))
		for _, row := range tab.Rows {
			widths[i] = max(widths[i], textWidth(cleantext.Line(row[i].Text)))
		}
	}
	at := 0
	for _, g := range tab.Groups {
		used := -columnGap
		for range max(g.Span, 1) {
			used += widths[at] + columnGap
			at++
		}
		if g.Text != "" {
			widths[at-1] += max(0, textWidth(cleantext.Line(g.Text))+2-used) // with a blank on either side
		}
	}
	return widths
}

func align(s string, width int, left bool) string {
	if left {
		return pad(s, width)
	}
	return strings.Repeat(" ", max(0, width-textWidth(s))) + s
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-textWidth(s)))
}

func textWidth(s string) int { return utf8.RuneCountInString(s) }

// hardSpace holds a line together until it is written, as a plain space.
const hardSpace = "\u00a0"

// words splits at plain spaces only.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' })
}
