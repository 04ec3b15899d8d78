package report

import (
	"html/template"
	"slices"
)

// figure is a chart under its title.
type figure struct {
	SVG   template.HTML
	Title string
}

// ratePoint is a rate over the rounds, at position I of the curve.
type ratePoint struct {
	I     int
	Rate  rate
	Label string
}

// curve is one line of a rateChart.
type curve struct {
	Name    string
	Class   string // colours: "valid", "optimal", "size"
	Points  []ratePoint
	Band    bool // draw the 95 % intervals
	Diamond bool
	Strong  bool
}

// rateChart draws rates in percent over the points of the learning curve.
type rateChart struct {
	id, title, desc string
	w, h            float64
	ticks           []string // names of the points, left to right
	y               axis
	curves          []curve
	endLabels       bool // name the lines at their right end
	values          bool // print each line's last figure
}

const (
	chartLeft   = 34.0
	chartTop    = 10.0
	chartBottom = 22.0
)

func (c rateChart) right() float64 {
	if c.endLabels {
		return 76
	}
	return 12
}

// draw renders the chart.
func (c rateChart) draw() template.HTML {
	cv := &canvas{w: c.w, h: c.h}
	c.frame(cv)
	for _, cu := range c.curves {
		c.drawBand(cv, cu)
	}
	for _, cu := range c.curves {
		c.drawCurve(cv, cu)
	}
	if c.endLabels {
		c.drawEndLabels(cv)
	}
	return cv.done(c.id, c.title, c.desc)
}

func (c rateChart) px(i int) float64 {
	inner := 8.0 // keeps the first mark clear of the axis
	width := c.w - chartLeft - c.right() - inner
	if len(c.ticks) < 2 {
		return chartLeft + inner + width/2
	}
	return chartLeft + inner + width*float64(i)/float64(len(c.ticks)-1)
}

func (c rateChart) py(v float64) float64 { return c.y.at(v, c.h-chartBottom, chartTop) }

// frame draws the grid and names both axes.
func (c rateChart) frame(cv *canvas) {
	for _, t := range c.y.ticks() {
		y := c.py(t)
		cv.line("grid", xy{chartLeft, y}, xy{c.w - c.right(), y})
		cv.text("tick", atEnd, xy{chartLeft - 6, y + 4}, number(t))
	}
	room := int(max(2, (c.w-chartLeft-c.right())/42))
	for _, i := range thin(len(c.ticks), room) {
		cv.text("tick", atMiddle, xy{c.px(i), c.h - 5}, c.ticks[i])
	}
}

// runs splits a curve where points are missing, so that no line bridges a gap.
func (cu curve) runs() [][]ratePoint {
	var runs [][]ratePoint
	open := false
	for _, p := range cu.Points {
		switch {
		case !p.Rate.Known():
			open = false
		case open:
			runs[len(runs)-1] = append(runs[len(runs)-1], p)
		default:
			runs = append(runs, []ratePoint{p})
			open = true
		}
	}
	return runs
}

func (c rateChart) drawBand(cv *canvas, cu curve) {
	if !cu.Band {
		return
	}
	for _, run := range cu.runs() {
		var upper, lower []xy
		for _, p := range run {
			lo, hi := p.Rate.Bounds()
			upper = append(upper, xy{c.px(p.I), c.py(hi)})
			lower = append(lower, xy{c.px(p.I), c.py(lo)})
		}
		if len(run) == 1 {
			cv.line("whisker "+cu.Class, upper[0], lower[0])
			continue
		}
		for _, l := range slices.Backward(lower) {
			upper = append(upper, l)
		}
		cv.path("band "+cu.Class, upper, true)
	}
}

func (c rateChart) drawCurve(cv *canvas, cu curve) {
	class := "curve " + cu.Class
	if cu.Strong {
		class += " strong"
	}
	for _, run := range cu.runs() {
		pts := make([]xy, len(run))
		for i, p := range run {
			pts[i] = xy{c.px(p.I), c.py(p.Rate.Value())}
		}
		cv.path(class, pts, false)
		if len(c.ticks) > 25 && len(run) > 1 {
			continue // marks would hide the line
		}
		for i, p := range run {
			cv.mark("mark "+cu.Class, pts[i], c.markSize(cu), cu.Diamond, cu.Name+", "+p.Label+": "+p.Rate.Sentence())
		}
	}
	if c.values {
		c.drawValues(cv, cu)
	}
}

func (c rateChart) markSize(cu curve) float64 {
	switch {
	case cu.Strong:
		return 4
	case cu.Class == "size":
		return 1.8
	default:
		return 3
	}
}

// drawValues prints the last known figure beside its mark.
func (c rateChart) drawValues(cv *canvas, cu curve) {
	runs := cu.runs()
	if len(runs) == 0 {
		return
	}
	run := runs[len(runs)-1]
	p := run[len(run)-1]
	y := c.py(p.Rate.Value()) - 7
	if cu.Diamond {
		y = c.py(p.Rate.Value()) + 15
	}
	cv.text("value "+cu.Class, atEnd, xy{c.px(p.I) + 6, min(max(y, 9), c.h-chartBottom-3)}, p.Rate.Figure())
}

// endLabel is a line's name beside its last known point.
type endLabel struct {
	at   xy
	text string
	of   curve
}

func (c rateChart) endLabelsOf() []endLabel {
	var list []endLabel
	for _, cu := range c.curves {
		runs := cu.runs()
		if len(runs) == 0 {
			continue
		}
		run := runs[len(runs)-1]
		last := run[len(run)-1]
		text := clip(cu.Name, 10)
		if cu.Strong {
			text += " " + last.Rate.Figure()
		}
		list = append(list, endLabel{xy{c.px(last.I), c.py(last.Rate.Value())}, text, cu})
	}
	return list
}

// drawEndLabels names each line where it ends. Names that would crowd are moved
// apart, and a leader points back to the line.
func (c rateChart) drawEndLabels(cv *canvas) {
	list := c.endLabelsOf()
	wanted := make([]float64, len(list))
	x := 0.0
	for i, l := range list {
		wanted[i] = l.at.y
		x = max(x, l.at.x+21)
	}
	placed := spread(wanted, min(12, (c.h-chartTop)/float64(max(len(list), 1))), chartTop, c.h-10)
	for i, l := range list {
		cv.line("leader", xy{l.at.x + 7, l.at.y}, xy{x - 4, placed[i]})
		class := "name " + l.of.Class
		if l.of.Strong {
			class += " strong"
		}
		cv.text(class, atStart, xy{x, placed[i] + 4}, l.text)
	}
}

// clip shortens a name that would leave the drawing.
func clip(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
