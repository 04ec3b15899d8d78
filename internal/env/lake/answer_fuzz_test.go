package lake

import (
	"reflect"
	"strings"
	"testing"
)

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		"", canonical, "<think>a</think>" + canonical, "<think>", "```\n" + canonical + "```",
		"Agent 0: [(0, 0), (0, 1)],\nAgent 1: [[2,0],[1,0]]", "Agent 0:\n- (0, 0)\n- (0, 1)",
		"Agent 0: R R W\nAgent 1: up, do", "agent 1's path = (2，0）→（1，0）", "Agent 0: (0, 0) (start) -> (0, 1) [wait]",
		`{"agent 0": ` + json0 + `, "plan": {"1": "UU"}}`, `[{"id": 0, "path": [[0, 0]]}, {'agent': 1, 'moves': "U"}]`,
		"Step 1:\nAgent 0: (0, 0)\nt=2: Agent 1", line0 + "; " + line1 + " and agent 2: (0", "{0: [(0, 0), (0, 1),], 1: []}", "[[0,0],[0,0],[]]", "Agent 7: (0, 0)", `{"2": [], "3": 0}`,
		"1) **Final path for Agent 0:** (0,0) -> ... -> (2,2) # see (1, 1)",
	} {
		f.Add(seed)
	}
	p := opened(f, crossing(), objectiveSum, 6)
	f.Fuzz(func(t *testing.T, text string) {
		r := parseAnswer(text, &p.in)
		if (r.fault == "") == (r.plan == nil) || r.rule == "" || r.cut && r.fault == "" {
			t.Errorf("an inconsistent reading: %+v", r)
		}
		for agent, path := range r.plan {
			if path != nil && len(path) == 0 {
				t.Errorf("agent %d has an empty path", agent)
			}
		}
		if r.plan != nil && r.extra == 0 && r.plan[0] != nil && r.plan[1] != nil {
			again := parseAnswer(renderPlan(r.plan), &p.in)
			if !reflect.DeepEqual(again.plan, r.plan) {
				t.Errorf("rendered and read again: %v; want %v", again.plan, r.plan)
			}
		}
		refereesAgree(t, p, r)
		if v := p.Judge(text); v.Valid != (len(v.Failed) == 0) || v.Optimal && !v.Valid || v.Tokens < 0 {
			t.Errorf("an inconsistent verdict: %+v", v)
		}
	})
}

func opened(t testing.TB, in Instance, objective string, optimum int) *problem {
	t.Helper()
	p, err := New().Open(taskOf(t, in, objective, optimum))
	if err != nil {
		t.Fatal(err)
	}
	return p.(*problem)
}

// A reader that goes back for every bracket or label would take minutes here.
func TestReadingTakesLinearTime(t *testing.T) {
	in := crossing()
	const size = 1 << 17
	for _, piece := range []string{
		"(", "[", "{", "\"", "'", "\n", " ", "[\n", "{\n", "[1,", "[[1],\n", "[\"", "{'a':\n", "(1", "(1,", "(1,1)", "(1, 1) -> ", "(1,1)\n",
		"agent ", "Agent 0", "Agent 0: ", "Agent 0:\n", "Agent 0: (", "Agent 0: [", "Agent 0: (0, 0), ", "Agent 9: (0, 0);", "Agent 0: (0, 0) -> (0, 1)\n",
		"U", "U ", "up,", "-> ", "->", "#", "<think>", "</think>", "</think", "```", "Step 1:\n", "step ", "1. ", "9", "|", "（", "→", "\x00", "é",
		"Agent 0: (0, 0) ( ( ", "Agent 0: (0, 0) \"'\"'", "Agent 0: \"\"\"", "Agent 0: (0, 0)   \n\n\n",
	} {
		for _, prefix := range []string{"", "Agent 0: (0, 0) ", "Agent 0: ["} {
			_ = parseAnswer(prefix+strings.Repeat(piece, size/len(piece)), &in)
		}
	}
}
