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
			tasks, _, err := Lake{}.Generate(t.Context(), o, func(int, int) {})
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
		tasks, _, err := Lake{}.Generate(t.Context(), o, func(int, int) {})
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
