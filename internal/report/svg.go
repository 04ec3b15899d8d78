package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// xy is a point on a canvas, in user units from the top left.
type xy struct{ x, y float64 }

// canvas builds one SVG image. Colours come from classes in page.css, never from
// attributes, so that light, dark and print each have their own. All text passes
// through escape.
type canvas struct {
	b    strings.Builder
	w, h float64
}

// escape makes any text fit for SVG content and attributes.
func escape(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
	return html.EscapeString(s)
}

// coord writes a coordinate with one decimal at most.
func coord(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

func (c *canvas) line(class string, a, b xy) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`,
		escape(class), coord(a.x), coord(a.y), coord(b.x), coord(b.y))
}

// rect draws a box; tip is shown on hover unless empty.
func (c *canvas) rect(class string, at xy, w, h float64, tip string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">`,
		escape(class), coord(at.x), coord(at.y), coord(max(w, 0)), coord(max(h, 0)))
	c.tip(tip)
	c.b.WriteString("</rect>")
}

// path joins points by straight lines; fewer than two draw nothing.
func (c *canvas) path(class string, pts []xy, closed bool) {
	if len(pts) < 2 {
		return
	}
	fmt.Fprintf(&c.b, `<path class="%s" d="M`, escape(class))
	for i, p := range pts {
		if i > 0 {
			c.b.WriteByte('L')
		}
		c.b.WriteString(coord(p.x) + " " + coord(p.y))
	}
	if closed {
		c.b.WriteByte('Z')
	}
	c.b.WriteString(`"/>`)
}

// mark draws a point: a circle, or a square standing on its corner so that two
// series differ by more than their colour.
func (c *canvas) mark(class string, at xy, r float64, diamond bool, tip string) {
	if diamond {
		r *= 1.25
		fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sL%s %sL%s %sL%s %sZ">`, escape(class),
			coord(at.x-r), coord(at.y), coord(at.x), coord(at.y-r), coord(at.x+r), coord(at.y), coord(at.x), coord(at.y+r))
		c.tip(tip)
		c.b.WriteString("</path>")
		return
	}
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%s" cy="%s" r="%s">`, escape(class), coord(at.x), coord(at.y), coord(r))
	c.tip(tip)
	c.b.WriteString("</circle>")
}

func (c *canvas) tip(text string) {
	if text != "" {
		c.b.WriteString("<title>" + escape(text) + "</title>")
	}
}

// anchors of text.
const (
	atStart  = "start"
	atMiddle = "middle"
	atEnd    = "end"
)

func (c *canvas) text(class, anchor string, at xy, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`,
		escape(class), anchor, coord(at.x), coord(at.y), escape(s))
}

// done closes the image. Readers of screens hear title and desc; id must be
// unique on the page.
func (c *canvas) done(id, title, desc string) template.HTML {
	id = escape(id)
	head := fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		coord(c.w), coord(c.h), id, id, id, escape(title), id, escape(desc))
	return template.HTML(head + c.b.String() + "</svg>") //nolint:gosec // all text and attributes went through escape
}

// decoration closes an image that repeats what stands beside it in text.
func (c *canvas) decoration() template.HTML {
	head := fmt.Sprintf(`<svg viewBox="0 0 %s %s" width="%s" height="%s" aria-hidden="true">`,
		coord(c.w), coord(c.h), coord(c.w), coord(c.h))
	return template.HTML(head + c.b.String() + "</svg>") //nolint:gosec // all text and attributes went through escape
}
