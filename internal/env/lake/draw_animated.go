package lake

import (
	"fmt"
	"strings"
)

// Times of an animation, in seconds: how long the start is shown, a step takes,
// of that the move, and how long the end stays.
const (
	startTime = 1.0
	stepTime  = 0.8
	moveTime  = 0.5
	endTime   = 2.5
)

// begins is when the move of a step begins; what belongs to the step is shown
// from then until the next one's. Step 0 is the start.
func begins(step int) float64 {
	if step == 0 {
		return 0
	}
	return startTime + stepTime*float64(step-1)
}

// period is how long the animation takes until it begins anew.
func (p *picture) period() float64 { return begins(p.last()) + endTime }

// percent is a time as a share of the period.
func (p *picture) percent(t float64) string { return fmt.Sprintf("%.3f%%", 100*t/p.period()) }

// animation writes the moves of agents and timeline, and the windows in which
// signs of a step are shown. People who asked their system for less motion see
// the still picture.
func (p *picture) animation() {
	p.add(`.floe .now{visibility:hidden}`)
	for i := range p.in.Agents() {
		p.moves(fmt.Sprintf("go%d", i), func(step int) string {
			c := p.at(i, step)
			x, y := center(float64(c[0]), float64(c[1]), p.in.N)
			return fmt.Sprintf("translate(%gpx,%gpx)", x, y)
		})
	}
	p.moves("hand", func(step int) string { return fmt.Sprintf("translateX(%.1fpx)", p.tick(step)) })
	for step := range p.last() + 1 {
		until := p.period()
		if step < p.last() {
			until = begins(step + 1)
		}
		p.window(step, until)
	}
	p.add(`@media(prefers-reduced-motion:reduce){.floe *{animation:none!important}}`)
}

// moves writes the animation of something that is in a place at each step.
func (p *picture) moves(class string, place func(step int) string) {
	at := place(0)
	frames := []string{"0%{transform:" + at + "}"}
	for step := 1; step <= p.last(); step++ {
		next := place(step)
		if next == at {
			continue
		}
		frames = append(frames,
			fmt.Sprintf("%s{transform:%s}", p.percent(begins(step)), at),
			fmt.Sprintf("%s{transform:%s}", p.percent(begins(step)+moveTime), next))
		at = next
	}
	frames = append(frames, "100%{transform:"+at+"}")
	p.add(`@keyframes floe-%s{%s}`, class, strings.Join(frames, ""))
	p.add(`.floe .%s{animation:floe-%s %gs ease-in-out infinite}`, class, class, p.period())
}

// window shows what belongs to a step while it lasts.
func (p *picture) window(step int, until float64) {
	var frames string
	if step > 0 {
		frames = fmt.Sprintf("0%%{visibility:hidden}%s{visibility:visible}", p.percent(begins(step)))
	} else {
		frames = "0%{visibility:visible}"
	}
	if step < p.last() {
		frames += p.percent(until) + "{visibility:hidden}"
	}
	p.add(`@keyframes floe-at%d{%s}`, step, frames)
	p.add(`.floe .at%d{animation:floe-at%d %gs step-end infinite}`, step, step, p.period())
}

// movingMarks draws each fault faintly where it happens, and fully when it does.
func (p *picture) movingMarks() {
	for _, m := range p.marks[:min(len(p.marks), mostMarks)] {
		x, y := center(m.row, m.col, p.in.N)
		p.add(`<g transform="translate(%g %g)"><g opacity=".3">%s</g><g class="now at%d">%s<circle class="mark" r="26"/></g></g>`, x, y, cross, m.step, cross)
	}
}

// tick is where a step is on the timeline.
func (p *picture) tick(step int) float64 {
	return float64(p.board) * float64(step) / float64(p.last())
}

// timeline has a tick for every step, red where something goes wrong, a hand
// that moves along, and the step in words.
func (p *picture) timeline() {
	bad := map[int][]string{}
	for _, m := range p.marks {
		bad[m.step] = append(bad[m.step], m.text)
	}
	p.add(`<g transform="translate(0 %d)"><path class="axis" d="M0 0H%d"/>`, p.board+36, p.board)
	for step := range p.last() + 1 {
		class := "tick"
		if bad[step] != nil {
			class = "badtick"
		}
		p.add(`<path class="%s" d="M%.1f-5v10"/>`, class, p.tick(step))
	}
	p.add(`<circle class="hand" r="6" fill="var(--ink)"/>`)
	for step := range p.last() + 1 {
		p.add(`<text class="now at%d" y="26">step %d of %d%s</text>`, step, step, p.steps, also(bad[step]))
	}
	p.add(`</g>`)
}

// also adds what goes wrong in a step, in short.
func also(faults []string) string {
	if len(faults) == 0 {
		return ""
	}
	text := faults[0]
	if at := strings.LastIndex(text, " at step "); at > 0 {
		text = text[:at]
	}
	if more := len(faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return `<tspan class="bad" dx="10">` + escape(text) + `</tspan>`
}
