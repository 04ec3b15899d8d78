package lake

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"floe/internal/experiment"
)

// published is the first grid of the benchmark that the paper shows.
func published() Instance {
	return Instance{
		N: 3, Grid: []string{"FFF", "FFF", "FFF"},
		Starts: []Cell{{1, 1}, {0, 1}, {2, 0}},
		Goals:  []Cell{{1, 0}, {0, 2}, {0, 0}},
	}
}

func TestPromptIsWordForWordAsPublishedAndVersioned(t *testing.T) {
	golden := filepath.Join("testdata", "prompt-"+strings.ReplaceAll(PromptVersion, "/", "-")+".txt")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := renderPrompt(published()); got != string(want) {
		t.Errorf("the prompt differs from %s; a new wording needs a new PromptVersion:\n%s", golden, got)
	}
}

func TestPromptReadsBack(t *testing.T) {
	rng := experiment.Rand("prompt reads back")
	for range 500 {
		in := draw(rng)
		got, err := parsePrompt(renderPrompt(in))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, in) {
			t.Fatalf("read back %+v; want %+v", got, in)
		}
	}
}

func TestPromptsOfOthersAreReadUpToTheAgents(t *testing.T) {
	text := question(published()) + "Think step by step."
	if got, err := parsePrompt(text); err != nil || !reflect.DeepEqual(got, published()) {
		t.Errorf("read %+v, %v; want %+v", got, err, published())
	}
}

func TestWrongPromptsSayWhere(t *testing.T) {
	good := renderPrompt(published())
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":              {good, "", "line 2"},
		"no question":        {"Question:", "Task:", "line 1"},
		"not square":         {"3x3", "3x4", "3x4 map"},
		"too large":          {"3x3", "11x11", "11x11 map"},
		"six agents":         {"with 3 agents", "with 6 agents", "6 agents"},
		"an agent missing":   {"Agent 2 needs", "Agent 4 needs", "agent 2's line"},
		"a letter elsewhere": {"a s g", "s a g", "line 3"},
		"unknown letter":     {"G S F", "G S X", "line 4"},
		"a double space":     {"G S F", "G  S F", "line 4"},
		"a row too long":     {"G S F", "G S F F", "grid row 1"},
		"another legend":     {"S/s/A/B/C", "S/s/A", "line 7"},
		"off the map":        {"from (1, 1)", "from (1, 3)", "off the map"},
		"in a hole":          {"G S F", "G H F", "is a hole"},
		"no line end":        {good[strings.Index(good, "\nRules"):], "", "line end"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePrompt(strings.Replace(good, c.old, c.new, 1))
			if err == nil || !strings.HasPrefix(err.Error(), "read prompt: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one about %q", err, c.want)
			}
		})
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add(renderPrompt(published()))
	f.Add(renderPrompt(crossing()))
	f.Add(question(crossing()))
	rng := experiment.Rand("fuzz prompt")
	for range 5 {
		f.Add(renderPrompt(draw(rng)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := parsePrompt(text)
		if err != nil {
			return
		}
		if err := in.check(); err != nil {
			t.Errorf("accepted a wrong instance: %v", err)
		}
		if !strings.HasPrefix(text, question(in)) {
			t.Errorf("accepted a prompt that does not say %+v", in)
		}
	})
}

// draw makes a map with agents somewhere, solvable or not. A start may be
// another agent's goal.
func draw(rng *rand.Rand) Instance {
	in := Instance{N: MinSize + rng.IntN(MaxSize-MinSize+1)}
	agents := MinAgents + rng.IntN(MaxAgents-MinAgents+1)
	var free []Cell
	for len(free) < agents {
		in.Grid, free = drawGrid(rng, in.N)
	}
	in.Starts, in.Goals = pick(rng, free, agents), pick(rng, free, agents)
	return in
}

func drawGrid(rng *rand.Rand, n int) (grid []string, free []Cell) {
	for r := range n {
		row := make([]byte, n)
		for c := range row {
			row[c] = hole
			if rng.IntN(10) < 7 {
				row[c] = frozen
				free = append(free, Cell{r, c})
			}
		}
		grid = append(grid, string(row))
	}
	return grid, free
}

func pick(rng *rand.Rand, from []Cell, n int) []Cell {
	var cells []Cell
	for _, i := range rng.Perm(len(from))[:n] {
		cells = append(cells, from[i])
	}
	return cells
}
