package lake

import "strings"

// plainInstance reads an instance as json.Marshal writes it, and nothing else; it
// is there for speed. Whether the instance is sound is not asked.
func plainInstance(body []byte) (in Instance, ok bool) {
	p := plainJSON{text: string(body), ok: true}
	p.want(`{"n":`)
	in.N = p.number()
	p.want(`,"grid":[`)
	for more := true; p.ok && more; more = p.accept(",") {
		p.want(`"`)
		in.Grid = append(in.Grid, p.letters())
	}
	p.want(`],"starts":`)
	in.Starts = p.cells()
	p.want(`,"goals":`)
	in.Goals = p.cells()
	p.want("}")
	return in, p.ok && p.text == ""
}

// plainJSON reads from the front of a text; ok turns false at what is not plain.
type plainJSON struct {
	text string
	ok   bool
}

func (p *plainJSON) accept(prefix string) (found bool) {
	p.text, found = strings.CutPrefix(p.text, prefix)
	return found
}

func (p *plainJSON) want(prefix string) { p.ok = p.accept(prefix) && p.ok }

// number reads one or two digits, without a zero before another.
func (p *plainJSON) number() (v int) {
	digits := 0
	for ; digits < 2 && digits < len(p.text) && isDigit(p.text[digits]); digits++ {
		v = 10*v + int(p.text[digits]-'0')
	}
	p.ok = p.ok && (digits == 1 || digits == 2 && p.text[0] != '0')
	p.text = p.text[digits:]
	return v
}

// letters reads up to the closing quote: letters of a grid.
func (p *plainJSON) letters() string {
	end := 0
	for end < len(p.text) && (p.text[end] == frozen || p.text[end] == hole) {
		end++
	}
	row := p.text[:end]
	p.text = p.text[end:]
	p.want(`"`)
	return row
}

func (p *plainJSON) cells() (cells []Cell) {
	p.want("[")
	for more := true; p.ok && more; more = p.accept(",") {
		p.want("[")
		row := p.number()
		p.want(",")
		cells = append(cells, Cell{row, p.number()})
		p.want("]")
	}
	p.want("]")
	return cells
}
