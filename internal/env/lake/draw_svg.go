package lake

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Measures of a picture, in pixels.
const (
	cellSide  = 56
	boardX    = 40  // room for the numbers of rows, and for agents off the map
	boardY    = 112 // room for title, outcome and the numbers of columns
	panelGap  = 44  // between the board and the legend, for agents off the map
	panelWide = 330 // of the legend
	lineHigh  = 20  // of text
	tokenSize = 17  // radius of an agent
	leastWide = 740 // of the picture, for the line with all names of checks
)

// mostMarks bounds the marks in a picture: more than that are one red blur.
const mostMarks = 100

// picture is an SVG under construction.
type picture struct {
	*scene
	bytes.Buffer
	board int // side of the board
}

// svg draws a still picture, or one that moves by CSS: no script, so that it also
// moves where it is embedded as an image. Agents are told apart by number as well
// as by colour.
func (sc *scene) svg(animated bool) []byte {
	p := &picture{scene: sc, board: cellSide * sc.in.N}
	move := animated && sc.plan != nil && sc.last() > 0
	wide, high := p.size(move)
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" class="floe" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, wide, high, wide, high)
	p.add(`<title>%s</title>`, escape(sc.task.ID+": "+sc.title()))
	p.add(`<style>%s`, pictureStyle)
	if move {
		p.animation()
	}
	p.add(`</style>`)
	p.add(`<rect class="page" width="%d" height="%d"/>`, wide, high)
	p.head()
	p.add(`<g transform="translate(%d %d)">`, boardX, boardY)
	p.ground()
	p.places()
	p.paths()
	if move {
		p.movingMarks()
		p.agents(move)
		p.timeline()
	} else {
		p.agents(move)
		p.stillMarks()
	}
	p.add(`</g>`)
	p.legend()
	p.captionLines(p.boardEnd(move))
	p.add(`</svg>`)
	return p.Bytes()
}

// add writes a line.
func (p *picture) add(form string, args ...any) { fmt.Fprintf(p, form+"\n", args...) }

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// pictureStyle holds the colours for light and dark pages.
const pictureStyle = `
.floe{--page:#fff;--ink:#1f2328;--dim:#636c76;--ice:#e6f0f9;--line:#b8cbdc;--hole:#2f3e55;--deep:#1d2839;--bad:#d1242f;--good:#1a7f37;font:14px system-ui,sans-serif}
.floe{--a0:#2563eb;--a1:#d97706;--a2:#059669;--a3:#9333ea;--a4:#db2777}
@media(prefers-color-scheme:dark){.floe{--page:#0d1117;--ink:#e6edf3;--dim:#9198a1;--ice:#22364d;--line:#3b5573;--hole:#05080d;--deep:#000;--bad:#ff7b72;--good:#3fb950}
.floe{--a0:#6ea8fe;--a1:#f5a623;--a2:#34d399;--a3:#c58af9;--a4:#f778ba}}
.floe .page{fill:var(--page)}.floe text{fill:var(--ink)}.floe .dim{fill:var(--dim)}.floe .bad{fill:var(--bad)}.floe .good{fill:var(--good)}
.floe .title{font-weight:600;font-size:16px}.floe .mid{text-anchor:middle;dominant-baseline:central}
.floe .ice{fill:var(--ice);stroke:var(--line)}.floe .hole{fill:var(--hole);stroke:var(--line)}.floe .deep{fill:var(--deep)}
.floe .way{fill:none;stroke-width:4;stroke-linejoin:round;stroke-linecap:round;opacity:.75}.floe .rest{fill:var(--ice);stroke-width:3}
.floe .place{fill:none;stroke-width:2.5}.floe .goal{stroke-dasharray:5 4}.floe text.num{fill:var(--page);font-weight:700}
.floe .mark{fill:none;stroke:var(--bad);stroke-width:4;stroke-linecap:round}.floe .halo{fill:var(--bad);opacity:.2}
.floe text.when{font-size:11px;font-weight:700;paint-order:stroke;stroke:var(--page);stroke-width:3px}
.floe .axis{stroke:var(--line);stroke-width:2}.floe .tick{stroke:var(--dim);stroke-width:1.5}.floe .badtick{stroke:var(--bad);stroke-width:4}
`

// size is the whole picture's.
func (p *picture) size(move bool) (wide, high int) {
	wide = max(boardX+p.board+panelGap+panelWide, leastWide)
	legend := boardY + (p.in.Agents()+len(legendSigns)+1)*26
	high = max(p.boardEnd(move), legend)
	if n := len(p.wrapped()); n > 0 {
		high = max(p.boardEnd(move)+n*lineHigh, legend)
	}
	return wide, high + 16
}

// boardEnd is where the captions begin.
func (p *picture) boardEnd(move bool) int {
	end := boardY + p.board + 44
	if move {
		end += 44
	}
	if len(p.captions()) > 0 { // below the legend, which may be higher than the board
		end = max(end, boardY+(p.in.Agents()+len(legendSigns)+1)*26)
	}
	return end
}

func (p *picture) head() {
	p.add(`<text class="title" x="%d" y="28">%s</text>`, boardX, escape(p.task.ID))
	p.add(`<text class="dim" x="%d" y="48">%s</text>`, boardX, escape(p.title()))
	if p.answered {
		class := "bad"
		if p.verdict.Valid {
			class = "good"
		}
		p.add(`<text class="%s" x="%d" y="68">%s</text>`, class, boardX, escape(p.outcome()))
	}
}

// ground draws the cells and their numbers.
func (p *picture) ground() {
	for r := range p.in.N {
		p.add(`<text class="dim mid" x="-16" y="%d">%d</text><text class="dim mid" x="%d" y="-12">%d</text>`, r*cellSide+cellSide/2, r, r*cellSide+cellSide/2, r)
		for c := range p.in.N {
			x, y := c*cellSide, r*cellSide
			if !p.in.Hole(Cell{r, c}) {
				p.add(`<rect class="ice" x="%d" y="%d" width="%d" height="%d"/>`, x, y, cellSide, cellSide)
				continue
			}
			p.add(`<rect class="hole" x="%d" y="%d" width="%d" height="%d"/><ellipse class="deep" cx="%d" cy="%d" rx="19" ry="15"/>`,
				x, y, cellSide, cellSide, x+cellSide/2, y+cellSide/2)
		}
	}
}

// places draws the starts as rings and the goals as dashed squares with the
// agent's number in a corner.
func (p *picture) places() {
	for i, s := range p.in.Starts {
		x, y := center(float64(s[0]), float64(s[1]), p.in.N)
		p.add(`<circle class="place" stroke="var(--a%d)" cx="%g" cy="%g" r="21"/>`, i, x, y)
	}
	for i, g := range p.in.Goals {
		x, y := center(float64(g[0]), float64(g[1]), p.in.N)
		p.add(`<rect class="place goal" stroke="var(--a%d)" x="%g" y="%g" width="48" height="48" rx="6"/>`, i, x-24, y-24)
		p.add(`<text style="fill:var(--a%d);font-size:11px;font-weight:700" x="%g" y="%g" class="mid">%d</text>`, i, x+18, y+17, i)
	}
}

// center is the middle of a cell on the board. Cells off the map are drawn over
// its edge, however far they are.
func center(row, col float64, n int) (x, y float64) {
	bound := func(v float64) float64 { return min(max(v, -0.7), float64(n)-0.3) }
	return (bound(col) + 0.5) * cellSide, (bound(row) + 0.5) * cellSide
}

// paths draws each way beside the others, with a ring where an agent waits and a
// square at the end.
func (p *picture) paths() {
	for i, path := range p.plan {
		aside := (float64(i) - float64(len(p.plan)-1)/2) * 5
		var points, signs []string
		for t, c := range path {
			x, y := center(float64(c[0]), float64(c[1]), p.in.N)
			x, y = x+aside, y+aside
			points = append(points, fmt.Sprintf("%g,%g", x, y))
			if t > 0 && c == path[t-1] {
				signs = append(signs, fmt.Sprintf(`<circle class="rest" stroke="var(--a%d)" cx="%g" cy="%g" r="5"/>`, i, x, y))
			}
			if t == len(path)-1 {
				signs = append(signs, fmt.Sprintf(`<rect fill="var(--a%d)" x="%g" y="%g" width="10" height="10"/>`, i, x-5, y-5))
			}
		}
		if len(points) > 1 {
			p.add(`<polyline class="way" stroke="var(--a%d)" points="%s"/>`, i, strings.Join(points, " "))
		}
		for _, sign := range signs {
			p.add("%s", sign)
		}
	}
}

// agents draws the agents, still ones on their starts.
func (p *picture) agents(move bool) {
	for i := range p.in.Agents() {
		c := p.at(i, 0)
		x, y := center(float64(c[0]), float64(c[1]), p.in.N)
		class := ""
		if move {
			class = fmt.Sprintf(` class="go%d"`, i)
		}
		p.add(`<g%s style="transform:translate(%gpx,%gpx)">%s</g>`, class, x, y, token(i))
	}
}

func token(agent int) string {
	return fmt.Sprintf(`<circle r="%d" fill="var(--a%d)" stroke="var(--page)" stroke-width="1.5"/><text class="num mid" y="1">%d</text>`, tokenSize, agent, agent)
}

// cross is the sign of a fault around the origin.
const cross = `<circle class="halo" r="24"/><path class="mark" d="M-9-9 9 9M9-9-9 9"/>`

// stillMarks draws a cross at each fault, and the step in which it happens.
func (p *picture) stillMarks() {
	for _, m := range p.marks[:min(len(p.marks), mostMarks)] {
		x, y := center(m.row, m.col, p.in.N)
		p.add(`<g transform="translate(%g %g)">%s<text class="bad mid when" y="-18">step %d</text></g>`, x, y, cross, m.step)
	}
}

// legendSigns explain what is on the board.
var legendSigns = []struct{ sign, text string }{
	{`<circle class="place" stroke="var(--dim)" r="8"/>`, "start"},
	{`<rect class="place goal" stroke="var(--dim)" x="-8" y="-8" width="16" height="16" rx="3"/>`, "goal"},
	{`<rect class="hole" x="-8" y="-8" width="16" height="16"/>`, "hole"},
	{`<circle class="rest" stroke="var(--dim)" r="5"/>`, "waits here"},
	{`<rect class="dim" x="-5" y="-5" width="10" height="10"/>`, "path ends"},
	{`<g transform="scale(.6)">` + cross + `</g>`, "fault"},
}

func (p *picture) legend() {
	x, y := boardX+p.board+panelGap, boardY+14
	row := func(sign, text string) {
		p.add(`<g transform="translate(%d %d)">%s<text x="24" dominant-baseline="central">%s</text></g>`, x+tokenSize, y, sign, escape(text))
		y += 26
	}
	for i := range p.in.Agents() {
		row(`<g transform="scale(.65)">`+token(i)+`</g>`, p.errand(i)+p.doings(i))
	}
	y += 8
	for i, s := range legendSigns {
		if p.plan != nil || i < 3 {
			row(s.sign, s.text)
		}
	}
}

// doings is what an agent's path is like.
func (p *picture) doings(agent int) string {
	switch {
	case p.plan == nil:
		return ""
	case p.plan[agent] == nil:
		return ": no path"
	}
	text := fmt.Sprintf(": %d steps", len(p.plan[agent])-1)
	if waits := p.waits(agent); waits > 0 {
		text += fmt.Sprintf(", %d waiting", waits)
	}
	return text
}

// captionLines writes the referee's sentences under the board.
func (p *picture) captionLines(y int) {
	for _, line := range p.wrapped() {
		p.add(`<text class="bad" x="%d" y="%d">%s</text>`, boardX, y, escape(line))
		y += lineHigh
	}
}

// wrapped are the captions in lines that fit. A letter takes about 7 pixels.
func (p *picture) wrapped() (lines []string) {
	letters := (boardX + p.board + panelGap + panelWide - 2*boardX) / 7
	for _, c := range p.captions() {
		line := ""
		for word := range strings.FieldsSeq(c) {
			if line != "" && len(line)+1+len(word) > letters {
				lines, line = append(lines, line), "   "
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
