package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"floe/internal/cleantext"
)

// rows writes aligned columns. On a terminal that is too narrow the widest columns
// are shortened.
func rows(w io.Writer, head []string, lines [][]string) error {
	all := [][]string{head}
	for _, l := range lines {
		clean := make([]string, len(l))
		for i, cell := range l {
			clean[i] = cleantext.Line(cell)
		}
		all = append(all, clean)
	}
	if p, ok := w.(*plainWriter); ok && p.columns > 0 {
		fit(all, p.columns)
	}
	t := tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)
	for _, l := range all {
		fmt.Fprintln(t, strings.Join(l, "\t"))
	}
	return t.Flush()
}

// Between the columns of a table, and the least that a column is shortened to.
const (
	columnGap   = 2
	columnLeast = 10
)

// fit shortens cells until a table is at most so many columns wide, or cannot be
// narrower.
func fit(all [][]string, columns int) {
	widths := make([]int, len(all[0]))
	for _, l := range all {
		for i, cell := range l {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := columnGap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > columns; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= columnLeast {
			break
		}
		widths[widest]--
	}
	for _, l := range all {
		for i, cell := range l {
			l[i] = shorten(cell, widths[i])
		}
	}
}

// shorten leaves out the end of a sentence, and the middle of a name or a key, both
// ends of which say which one it is.
func shorten(s string, columns int) string {
	r := []rune(s)
	if len(r) <= columns || strings.Contains(s, " ") {
		return cut(s, columns)
	}
	tail := (columns - 1) / 2
	return string(r[:columns-1-tail]) + "…" + string(r[len(r)-tail:])
}
