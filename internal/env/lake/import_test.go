package lake

import (
	"fmt"
	"strings"
	"testing"

	"floe/internal/env"
)

func TestImportedPromptsAreTheTasksThatTheyWereMadeOf(t *testing.T) {
	for _, objective := range []string{objectiveSum, objectiveMakespan} {
		for _, o := range benchmark(4, 9, objective)[:2] {
			tasks, _, err := env.Tasks(t.Context(), Lake{}, o, func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tasks {
				got, err := Lake{}.Import(t.Context(), env.Published{ID: want.ID, Agents: 4, Text: want.Prompt}, objective)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%v\ngot  %v\nwant %v", err, got, want)
				}
				if _, err := (Lake{}).Open(got); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestWhatCannotBeImportedSaysWhy(t *testing.T) {
	walled := renderPrompt(Instance{N: 3, Grid: []string{"FHF", "HHF", "FFF"}, Starts: []Cell{{0, 0}, {2, 2}}, Goals: []Cell{{2, 0}, {0, 2}}})
	for name, c := range map[string]struct{ text, objective, says string }{
		"no prompt":      {"hello", objectiveSum, "read prompt: line 2"},
		"no plan":        {walled, objectiveSum, "no plan brings all agents"},
		"no objective":   {renderPrompt(Instance{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{0, 0}, {2, 2}}, Goals: []Cell{{2, 0}, {0, 2}}}), "speed", "speed"},
		"nothing at all": {"", objectiveSum, "read prompt"},
	} {
		_, err := Lake{}.Import(t.Context(), env.Published{ID: "x7", Agents: 2, Text: c.text}, c.objective)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `"x7"`) {
			t.Errorf("%s: %v; want %q and the ID", name, err, c.says)
		}
	}
}

func TestARowThatMiscountsItsAgentsIsRefused(t *testing.T) {
	text := renderPrompt(Instance{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{0, 0}, {2, 2}}, Goals: []Cell{{2, 0}, {0, 2}}})
	_, err := Lake{}.Import(t.Context(), env.Published{ID: "x", Agents: 3, Text: text}, objectiveSum)
	if err == nil || !strings.Contains(err.Error(), "2 agents, the row says 3") {
		t.Error(err)
	}
}

func TestSubsetsNameEveryTaskAndHoldTheirShareOfWaits(t *testing.T) {
	for _, o := range benchmark(3, 60, objectiveSum)[:2] {
		tasks, _, err := env.Tasks(t.Context(), Lake{}, o, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		subsets := Lake{}.Subsets(o)
		if len(subsets) != len(tasks) {
			t.Fatalf("%d subsets for %d tasks", len(subsets), len(tasks))
		}
		waits := map[string]int{}
		for i, task := range tasks {
			if task.Group == groupWait {
				waits[subsets[i]]++
			}
		}
		if waits["wr_025"] != 5 || waits["wr_050"] != 10 || waits["wr_075"] != 15 {
			t.Errorf("waits by subset: %v; want 5, 10 and 15 of 20", waits)
		}
	}
	if got := (Lake{}).Subsets(env.Order{}); len(got) != 0 {
		t.Errorf("an empty order has subsets %v", got)
	}
}

// publishedGrids are the three that the paper prints.
var publishedGrids = []Instance{
	{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{1, 1}, {0, 1}, {2, 0}}, Goals: []Cell{{1, 0}, {0, 2}, {0, 0}}},
	{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{1, 0}, {0, 1}, {2, 1}}, Goals: []Cell{{2, 2}, {1, 1}, {2, 0}}},
	{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{{0, 1}, {1, 2}, {2, 2}}, Goals: []Cell{{0, 0}, {0, 2}, {1, 1}}},
}

func publishedText(grid string, in Instance) string {
	text := "Question:\nYou are a multi-agent path planning expert. There is a 3x3 frozen lake map with 3 agents:\n" + grid + "\n" +
		"Legend:\nS/s/A/B/C: Start positions for agents 0/1/2/3/4\nG/g/a/b/c: Goal positions for agents 0/1/2/3/4\n" +
		"F: Frozen surface (passable)\nH: Hole (impassable)"
	for i := range in.Starts {
		text += fmt.Sprintf("\nAgent %d needs to go from %s to %s", i, in.Starts[i], in.Goals[i])
	}
	return text
}

func TestThePaperOwnGridsAreImportedAndScored(t *testing.T) {
	for i, grid := range []string{"a s g\nG S F\nA F F", "F s F\nS g F\na A G", "G S g\nF a s\nF F A"} {
		text := publishedText(grid, publishedGrids[i])
		task, err := Lake{}.Import(t.Context(), env.Published{ID: "p", Agents: 3, Text: text}, objectiveSum)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Lake{}.Open(task)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := NewSolver().Plan(publishedGrids[i], objectiveSum)
		if err != nil {
			t.Fatal(err)
		}
		if v := p.Judge(answerOf(plan)); !v.Optimal || v.Cost != task.Optimum || task.Prompt != text {
			t.Errorf("grid %d: %+v", i, v)
		}
	}
}

func answerOf(plan Plan) (text string) {
	for i, path := range plan {
		text += fmt.Sprintf("Agent %d:", i)
		for t, c := range path {
			if t > 0 {
				text += " ->"
			}
			text += " " + c.String()
		}
		text += "\n"
	}
	return text
}

func TestLineEndsOfFilesAndWebPagesAreForgivenAndNothingElse(t *testing.T) {
	text := publishedText("a s g\nG S F\nA F F", publishedGrids[0])
	take := func(text string) error {
		_, err := Lake{}.Import(t.Context(), env.Published{ID: "x", Agents: 3, Text: text}, objectiveSum)
		return err
	}
	for name, odd := range map[string]string{
		"CRLF":            strings.ReplaceAll(text, "\n", "\r\n"),
		"spaces":          "\n" + strings.ReplaceAll(text, "\n", "  \n") + " \n\n",
		"HTML":            strings.ReplaceAll(text, "\n", "<br>"),
		"HTML with lines": strings.ReplaceAll(text, "\n", "<BR />\n"),
	} {
		if err := take(odd); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct{ text, says string }{
		"a legend line less": {strings.Replace(text, "F: Frozen surface (passable)\n", "", 1), `line 9 is "H: Hole (impassable)"; want "F: Frozen`},
		"no legend":          {strings.Replace(text, "Legend:\n", "", 1), `line 6 is "S/s/A`},
		"a row less":         {strings.Replace(text, "A F F\n", "", 1), `line 6 is "S/s/A`},
		"a letter less":      {strings.Replace(text, "G S F", "G S", 1), "grid row 1"},
		"an agent elsewhere": {strings.Replace(text, "from (1, 1)", "from (2, 2)", 1), "line 4 is"},
	} {
		if err := take(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %s", name, err, c.says)
		}
	}
}
