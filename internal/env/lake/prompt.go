package lake

import (
	"fmt"
	"strings"
)

// PromptVersion names the wording below; change it with every word. The
// question is the published form (arXiv:2606.17682); rules and answer format are
// open there and ours.
const PromptVersion = "lake/v1"

// Letters of starts and goals by agent, and of the ground.
const (
	startLetters = "SsABC"
	goalLetters  = "Ggabc"
	frozen       = 'F'
	hole         = 'H'
)

// The lines of the question. The legend explains all five agents, however many
// there are, as published.
const (
	openingForm = "You are a multi-agent path planning expert. There is a %dx%d frozen lake map with %d agents:"
	errandForm  = "Agent %d needs to go from (%d, %d) to (%d, %d)"

	legend = `Legend:
S/s/A/B/C: Start positions for agents 0/1/2/3/4
G/g/a/b/c: Goal positions for agents 0/1/2/3/4
F: Frozen surface (passable)
H: Hole (impassable)
`
	rules = `Rules:
- Cells are written (row, col), counted from 0; (0, 0) is the top left cell.
- All agents act at the same time. In every step each agent moves one cell up, down, left or right, or waits where it is.
- No agent may leave the map or enter a hole.
- Two agents may not be in the same cell at the same time, nor exchange cells in one step.
- An agent may enter a cell that another agent leaves in the same step.
- At the end of its path an agent stays on its goal and blocks that cell.
- The sooner the agents arrive, the better the plan.
Answer with one line for each agent: the cell it is in at every time step, from its start to its goal. To wait, repeat the cell:
Agent 0: (row, col) -> (row, col) -> ...
If you write more than one answer, the last complete one counts.
`
)

// renderPrompt asks for a plan.
func renderPrompt(in Instance) string { return question(in) + rules }

// question is the published part of a prompt. A cell that is one agent's start
// and another's goal shows the start; the agents' lines name both.
func question(in Instance) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Question:\n"+openingForm+"\n", in.N, in.N, in.Agents())
	for _, row := range drawn(in) {
		b.WriteString(strings.Join(strings.Split(string(row), ""), " ") + "\n")
	}
	b.WriteString(legend)
	for i, from := range in.Starts {
		to := in.Goals[i]
		fmt.Fprintf(&b, errandForm+"\n", i, from[0], from[1], to[0], to[1])
	}
	return b.String()
}

// drawn is the grid with the agents' letters on it, starts over goals.
func drawn(in Instance) [][]byte {
	rows := make([][]byte, in.N)
	for r := range rows {
		rows[r] = []byte(in.Grid[r])
	}
	for i, c := range in.Goals {
		rows[c[0]][c[1]] = goalLetters[i]
	}
	for i, c := range in.Starts {
		rows[c[0]][c[1]] = startLetters[i]
	}
	return rows
}

// parsePrompt reads the instance from a question in the published form. What
// follows the agents' lines is free: other authors word the rules otherwise.
func parsePrompt(text string) (Instance, error) {
	lines := strings.Split(text, "\n")
	in, agents, err := parseOpening(lines)
	if err != nil {
		return Instance{}, fmt.Errorf("read prompt: %w", err)
	}
	in.Grid = make([]string, in.N)
	for r := range in.Grid {
		in.Grid[r] = ground(line(lines, 2+r))
	}
	for i, want := range strings.Split(strings.TrimSuffix(legend, "\n"), "\n") {
		if got := line(lines, 2+in.N+i); got != want {
			return Instance{}, fmt.Errorf("read prompt: line %d is %.120q; want %q", 3+in.N+i, got, want)
		}
	}
	for i := range agents {
		from, to, err := parseErrand(line(lines, 2+in.N+strings.Count(legend, "\n")+i), i)
		if err != nil {
			return Instance{}, fmt.Errorf("read prompt: %w", err)
		}
		in.Starts, in.Goals = append(in.Starts, from), append(in.Goals, to)
	}
	if err := in.check(); err != nil {
		return Instance{}, fmt.Errorf("read prompt: %w", err)
	}
	if want := question(in); !strings.HasPrefix(text, want) {
		return Instance{}, fmt.Errorf("read prompt: %s", firstDifference(lines, want))
	}
	return in, nil
}

func parseOpening(lines []string) (in Instance, agents int, err error) {
	var m int
	if _, err := fmt.Sscanf(line(lines, 1), openingForm, &in.N, &m, &agents); err != nil {
		return in, 0, fmt.Errorf("line 2 is %.120q; want %q", line(lines, 1), openingForm)
	}
	if in.N != m || in.N < MinSize || in.N > MaxSize || agents < MinAgents || agents > MaxAgents {
		return in, 0, fmt.Errorf("line 2 has a %dx%d map with %d agents; want a square of %d to %d with %d to %d agents",
			in.N, m, agents, MinSize, MaxSize, MinAgents, MaxAgents)
	}
	return in, agents, nil
}

func parseErrand(s string, agent int) (from, to Cell, err error) {
	var i int
	if _, err := fmt.Sscanf(s, errandForm, &i, &from[0], &from[1], &to[0], &to[1]); err != nil || i != agent {
		return from, to, fmt.Errorf("agent %d's line is %.120q; want %q", agent, s, errandForm)
	}
	return from, to, nil
}

// ground takes the agents' letters off a drawn row: they stand on frozen cells.
func ground(row string) string {
	clean := []byte(strings.ReplaceAll(row, " ", ""))
	for i, letter := range clean {
		if letter != hole {
			clean[i] = frozen
		}
	}
	return string(clean)
}

// firstDifference says where a text departs from the wanted one. Letters that
// ground let pass, missing ones and stray spaces all come out here.
func firstDifference(lines []string, want string) string {
	for i, w := range strings.Split(strings.TrimSuffix(want, "\n"), "\n") {
		if got := line(lines, i); got != w {
			return fmt.Sprintf("line %d is %.120q; want %q", i+1, got, w)
		}
	}
	return "the last line has no line end"
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
