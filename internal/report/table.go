package report

import "html/template"

// table is numbers in rows and columns. The HTML template "table" and textTable
// write the same table.
type table struct {
	Caption string
	Class   string    // of the HTML table
	Groups  []heading // an upper row of headings, each over Span columns; may be empty
	Cols    []heading
	Rows    [][]cell
}

// heading is the head of a column, or of several.
type heading struct {
	Text string
	Span int
	Left bool // text rather than numbers
}

// cell is one entry. Art, before Text, and Mark, after it, are for HTML only.
type cell struct {
	Text  string
	Class string
	Note  string // shown on hover
	Head  bool   // names the row
	Art   template.HTML
	Mark  string // one sign, in a place of its own so that figures stay aligned
}

func headings(names ...string) []heading {
	cols := make([]heading, len(names))
	for i, n := range names {
		cols[i] = heading{Text: n}
	}
	return cols
}

func leftHeading(name string) heading { return heading{Text: name, Left: true} }

func rowHead(name string) cell { return cell{Text: name, Head: true} }

func plain(text string) cell { return cell{Text: text} }
