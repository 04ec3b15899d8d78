package skill

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"floe/internal/experiment"
)

// What a design's prompt says: the form of a size's line, the range of a knob, and a
// line of the failures.
var (
	sizeForm    = regexp.MustCompile(`(?m)^  (\S+): \{data_ratio: <number>((?:, \w+: <number>)*)\}$`)
	knobForm    = regexp.MustCompile("(?m)^- `(\\w+)`: .*; from (\\S+) to (\\S+)$")
	failureForm = regexp.MustCompile(`(?m)^\| (\S+) \|(?: all \|)? (\d+) \| (\d+) = `)
)

// design answers a prompt that asks for a curriculum: more of the sizes that fail
// more, and knobs that rise with the skill. False if it asks for something else.
func (s Skill) design(prompt string) (string, bool) {
	sizes := sizeForm.FindAllStringSubmatch(prompt, -1)
	if len(sizes) == 0 {
		return "", false
	}
	failing := map[string]float64{}
	for _, m := range failureForm.FindAllStringSubmatch(prompt, -1) {
		n, valid := number(m[2]), number(m[3])
		failing[m[1]] = 1 - valid/math.Max(1, n)
	}
	knobs := map[string]float64{}
	for _, m := range knobForm.FindAllStringSubmatch(prompt, -1) {
		least, most := number(m[2]), number(m[3])
		knobs[m[1]] = least + (most-least)*(0.2+0.3*float64(s))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rationale: >-\n  a model of skill %.6f wants more of what fails\nsizes:\n", float64(s))
	for i, share := range shares(sizes, failing) {
		fmt.Fprintf(&b, "  %s: {data_ratio: %.2f", sizes[i][1], share)
		for _, knob := range strings.Split(sizes[i][2], ", ")[1:] {
			name, _, _ := strings.Cut(knob, ":")
			fmt.Fprintf(&b, ", %s: %.3f", name, knobs[name])
		}
		b.WriteString("}\n")
	}
	return wrapped(b.String(), prompt), true
}

// shares sum to 1 in hundredths.
func shares(sizes [][]string, failing map[string]float64) []float64 {
	out := make([]float64, len(sizes))
	sum := 0.0
	for i, size := range sizes {
		out[i] = 0.1 + failing[size[1]]
		sum += out[i]
	}
	left := 100
	for i := range out[1:] {
		hundredths := int(100 * out[i+1] / sum)
		out[i+1] = float64(hundredths) / 100
		left -= hundredths
	}
	out[0] = float64(left) / 100
	return out
}

// wrapped puts the YAML as models do: in a block, in prose, or bare.
func wrapped(yaml, prompt string) string {
	switch experiment.Rand("skill", "design", prompt).IntN(3) {
	case 0:
		return "```yaml\n" + yaml + "```\n"
	case 1:
		return "The failures say where to train next, so here is my curriculum:\n\n```yaml\n" + yaml + "```\n"
	}
	return yaml
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return v
}
