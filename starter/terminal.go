package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// width is the width of the terminal that a writer is, or another if it is none.
func width(w io.Writer, other int) int {
	f, ok := w.(*os.File)
	if !ok || !terminal(w) {
		return other
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return other
	}
	return int(size.Col)
}

// cut shortens a text to a number of columns.
func cut(s string, columns int) string {
	r := []rune(s)
	if len(r) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	return string(r[:columns-1]) + "…"
}
