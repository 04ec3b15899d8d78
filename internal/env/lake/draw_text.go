package lake

import (
	"bytes"
	"fmt"
	"strings"
)

// text draws for a terminal: the map, and a plan as a table by step.
func (sc *scene) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n\n", sc.task.ID, sc.title())
	sc.textMap(&b)
	for i := range sc.in.Agents() {
		fmt.Fprintf(&b, "agent %d   %c to %c   %s\n", i, startLetters[i], goalLetters[i], sc.errand(i))
	}
	if !sc.answered {
		return b.Bytes()
	}
	if sc.plan != nil {
		b.WriteByte('\n')
		sc.textTable(&b)
	}
	fmt.Fprintf(&b, "\n%s\n", sc.outcome())
	for _, c := range sc.captions() {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	return b.Bytes()
}

// textMap draws the map with its coordinates; a dot is frozen, # a hole.
func (sc *scene) textMap(b *bytes.Buffer) {
	b.WriteString("    ")
	for c := range sc.in.N {
		fmt.Fprintf(b, " %d", c)
	}
	b.WriteByte('\n')
	ground := strings.NewReplacer(string(frozen), ".", string(rune(hole)), "#")
	for r, row := range drawn(*sc.in) {
		fmt.Fprintf(b, "  %d  %s\n", r, strings.Join(strings.Split(ground.Replace(string(row)), ""), " "))
	}
	b.WriteByte('\n')
}

// textTable has a row for every step and a column for every agent. A cell that
// an agent stays in is not written again, and neither is its last one.
func (sc *scene) textTable(b *bytes.Buffer) {
	width := len("agent 0") + 2
	for _, path := range sc.plan {
		for _, c := range path {
			width = max(width, len(c.String())+2)
		}
	}
	b.WriteString("step")
	for i := range sc.plan {
		fmt.Fprintf(b, "  %-*s", width-2, fmt.Sprintf("agent %d", i))
	}
	b.WriteByte('\n')
	marks := sc.marks
	for t := range sc.last() + 1 {
		var line strings.Builder
		fmt.Fprintf(&line, "%4d", t)
		for _, path := range sc.plan {
			fmt.Fprintf(&line, "  %-*s", width-2, textCell(path, t))
		}
		for ; len(marks) > 0 && marks[0].step == t; marks = marks[1:] {
			line.WriteString("  ! " + marks[0].text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func textCell(path []Cell, t int) string {
	switch {
	case t >= len(path):
		return "-"
	case t > 0 && path[t] == path[t-1]:
		return "wait"
	default:
		return path[t].String()
	}
}
