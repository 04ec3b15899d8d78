package lake

import (
	"reflect"
	"strings"
	"testing"
)

// crossing is the map that the answers below are about.
//
//	S F F
//	F H F
//	s F G
//
// Agent 1's goal is agent 0's start.
func crossing() Instance {
	return Instance{
		N: 3, Grid: []string{"FFF", "FHF", "FFF"},
		Starts: []Cell{{0, 0}, {2, 0}},
		Goals:  []Cell{{2, 2}, {0, 0}},
	}
}

// The plan that all readable answers below mean. It is valid, but costs a step
// more than it must.
var (
	path0 = []Cell{{0, 0}, {0, 1}, {0, 2}, {0, 2}, {1, 2}, {2, 2}}
	path1 = []Cell{{2, 0}, {1, 0}, {0, 0}}
)

const (
	line0     = "Agent 0: (0, 0) -> (0, 1) -> (0, 2) -> (0, 2) -> (1, 2) -> (2, 2)"
	line1     = "Agent 1: (2, 0) -> (1, 0) -> (0, 0)"
	canonical = line0 + "\n" + line1 + "\n"
)

func TestWhatModelsWriteIsRead(t *testing.T) {
	for name, c := range map[string]struct{ text, rule string }{
		"as asked":                       {canonical, ruleCanonical},
		"without the last line end":      {line0 + "\n" + line1, ruleCanonical},
		"after thinking":                 {"<think>Agent 0: (9, 9)</think>\n\n" + canonical, ruleCells},
		"after thinking opened before":   {"so agent 1 waits.\n</think>\n" + canonical, ruleCells},
		"thinking twice":                 {"<thinking>a</thinking><think>b</think>" + canonical, ruleCanonical},
		"in a fence":                     {"```\n" + canonical + "```\n", ruleCells},
		"in a fence left open":           {"```text\n" + canonical, ruleCells},
		"in answer tags":                 {"<answer>" + canonical + "</answer>", ruleCells},
		"in other order":                 {line1 + "\n" + line0, ruleCells},
		"with prose around":              {"Here is my plan.\n\n" + canonical + "\nBoth agents arrive, agent 1 after 2 steps.", ruleCells},
		"bold":                           {"- **Agent 0:** " + line0[9:] + "\n- **Agent 1:** " + line1[9:], ruleCells},
		"bold name, colon outside":       {"**Agent 0**: " + line0[9:] + "\n**Agent 1**: " + line1[9:], ruleCells},
		"numbered":                       {"1. " + line0 + "\n2. " + line1, ruleCells},
		"in a table of agents":           {"| Agent | Path |\n|---|---|\n| Agent 0 | " + line0[9:] + " |\n| Agent 1 | " + line1[9:] + " |", ruleCells},
		"on one line":                    {line0 + "; " + line1, ruleCells},
		"on one line with and":           {line0 + " and " + line1 + ".", ruleCells},
		"introduced":                     {"Final path for " + line0 + "\nFinal path for " + line1, ruleCells},
		"with other labels":              {"AGENT_0's path = " + line0[9:] + "\nagent1 (s) route - " + line1[9:], ruleCells},
		"below the label":                {"Agent 0:\n" + line0[9:] + "\n\nAgent 1:\n" + line1[9:], ruleCells},
		"far below the label":            {"For agent 0:\nAgent 0:\n\n```\n" + line0[9:] + "\n```\n" + line1, ruleCells},
		"with ends in the label":         {"Agent 0 (from (0, 0) to (2, 2)): " + line0[9:] + "\nAgent 1 (s -> g): " + line1[9:], ruleCells},
		"one cell a line":                {"Agent 0:\n" + strings.ReplaceAll(line0[9:], " -> ", "\n") + "\n\nAgent 1:\n- " + strings.ReplaceAll(line1[9:], " -> ", "\n- "), ruleCells},
		"wrapped after an arrow":         {strings.Replace(canonical, "-> (0, 2) ->", "->\n(0, 2) ->", 1), ruleCells},
		"wrapped before an arrow":        {strings.Replace(canonical, " -> (1, 2)", "\n  -> (1, 2)", 1), ruleCells},
		"typographic arrows":             {strings.ReplaceAll(canonical, "->", "→"), ruleCells},
		"LaTeX arrows":                   {strings.ReplaceAll(canonical, "->", `\rightarrow`), ruleCells},
		"without spaces":                 {strings.ReplaceAll(canonical, " ", ""), ruleCells},
		"commas":                         {strings.ReplaceAll(canonical, " ->", ","), ruleCells},
		"a list of tuples":               {bracketed(strings.ReplaceAll(canonical, " ->", ",")), ruleCells},
		"a list of lists":                {bracketed(squared(strings.ReplaceAll(canonical, " ->", ","))), ruleCells},
		"square cells":                   {squared(canonical), ruleCells},
		"full-width signs":               {strings.NewReplacer("(", "（", ")", "）", ", ", "，", ":", "：", " -> ", "→", "0", "０").Replace(canonical), ruleCells},
		"remarks behind":                 {line0 + " (5 steps, one wait)\n" + line1 + "  # home early, see (0, 0)", ruleCells},
		"remarks between":                {"Agent 0: (0, 0) (start) -> (0, 1) -> (0, 2) -> (0, 2) [wait] -> (1, 2) -> (2, 2) (goal)\n" + line1, ruleCells},
		"words behind":                   {line0 + " reaches its goal\n" + line1 + " and stays", ruleCells},
		"corrected as a whole":           {"Agent 0: (0, 0) -> (1, 0)\n" + line1 + "\nNo, that collides.\n" + canonical, ruleCells},
		"checked afterwards":             {canonical + "\nCheck: " + line1 + " is fine.", ruleCells},
		"talked about afterwards":        {canonical + "\nAgent 0: waits one step at (0, 2).\nAgent 1: right, I moved it first.\nAgent 1: (0, 0) is its goal.", ruleCells},
		"with a table of steps":          {canonical + "\nStep 0:\nAgent 0: (0, 0)\nAgent 1: (2, 0)\nStep 1: Agent 0: (0, 1), Agent 1: (1, 0)", ruleCells},
		"with headings":                  {"### Step 1: look at the map\nthere is 1 hole\n### Step 2: Final answer\n" + canonical, ruleCells},
		"with the form repeated":         {"I answer as\nAgent 0: (row, col) -> (row, col) -> ...\n\n" + canonical, ruleCells},
		"words":                          {"Agent 0: right, right, wait, down, down\nAgent 1: up, up", ruleMoves},
		"words and arrows":               {"Agent 0: Right -> Right -> Stay -> Down -> Down\nAgent 1: UP -> UP", ruleMoves},
		"words in a list":                {"Agent 0: [\"right\", \"right\", \"wait\", \"down\", \"down\"]\nAgent 1: ['up', 'up']", ruleMoves},
		"letters":                        {"Agent 0: R R W D D\nAgent 1: u u", ruleMoves},
		"letters in one piece":           {"Agent 0: RRWDD\nAgent 1: UU.", ruleMoves},
		"JSON by name":                   {`{"agent 0": ` + json0 + `, "agent 1": ` + json1 + `}`, ruleLiteral},
		"JSON by number":                 {`{"0": ` + json0 + `, "1": ` + json1 + `}`, ruleLiteral},
		"JSON by position":               {`[` + json0 + `, ` + json1 + `]`, ruleLiteral},
		"JSON by field":                  {`[{"agent": 1, "path": ` + json1 + `}, {"agent": 0, "path": ` + json0 + `}]`, ruleLiteral},
		"JSON with cells as objects":     {`{"0": {"path": [{"row": 0, "col": 0}, {"row": 0, "col": 1}, {"r": 0, "c": 2}, [0, 2], [1, 2], [2, 2]]}, "1": ` + json1 + `}`, ruleLiteral},
		"JSON inside":                    {`{"reasoning": "agent 0 \"waits\"", "paths": {"Agent_0": ` + json0 + `, "Agent_1": ` + json1 + `}, "cost": 7}`, ruleLiteral},
		"JSON in a fence":                {"```json\n{\n  \"agent 0\": " + strings.ReplaceAll(json0, "], ", "],\n    ") + ",\n  \"agent 1\": " + json1 + "\n}\n```", ruleLiteral},
		"JSON of words":                  {`{"agent 0": ["right", "right", "wait", "down", "down"], "agent 1": "UU"}`, ruleLiteral},
		"JSON of lines":                  {`{"agent 0": "` + line0[9:] + `", "agent 1": "` + line1[9:] + `"}`, ruleLiteral},
		"JSON behind words":              {`Final answer: {"agent 0": ` + json0 + `, "agent 1": ` + json1 + `}`, ruleLiteral},
		"JSON, an object a line":         {`{"agent 0": ` + json0 + "}\n" + `{"agent 1": ` + json1 + `}`, ruleLiteral},
		"a Python dict":                  {`{0: ` + strings.NewReplacer("[[", "[(", "]]", ")]", "], [", "), (").Replace(json0) + `, 1: [(2, 0), (1, 0), (0, 0)],}`, ruleLiteral},
		"JSON with a comment":            {"{\n\"agent 0\": " + json0 + ", // waits\n\"agent 1\": " + json1 + "\n}", ruleCells},
		"lines, then the same as JSON":   {canonical + `[` + json0 + `, ` + json1 + `]`, ruleLiteral},
		"tried one by one before":        {line0 + "\nAgent 1: (2, 0) -> (2, 1)\nThat collides.\nAgent 1: (2, 0) -> (2, 0)\nSo the plan is:\n" + canonical, ruleCells},
		"explained one by one":           {line0 + "\nIt waits.\n" + line1 + "\nIt goes up.", ruleCells},
		"a fragment, then the same line": {line0 + "\n" + canonical, ruleCells},
	} {
		t.Run(name, func(t *testing.T) {
			in := crossing()
			r := parseAnswer(c.text, &in)
			if r.fault != "" || r.extra > 0 || !reflect.DeepEqual(r.plan, Plan{path0, path1}) {
				t.Fatalf("read %+v\nfrom %q", r, c.text)
			}
			if r.rule != c.rule {
				t.Errorf("read by rule %q; want %q", r.rule, c.rule)
			}
		})
	}
}

const (
	json0 = "[[0, 0], [0, 1], [0, 2], [0, 2], [1, 2], [2, 2]]"
	json1 = "[[2, 0], [1, 0], [0, 0]]"
)

func squared(lines string) string { return strings.NewReplacer("(", "[", ")", "]").Replace(lines) }

// bracketed puts each line's path into a list.
func bracketed(lines string) string {
	return strings.NewReplacer(": ", ": [", "\n", "]\n").Replace(lines)
}

func TestTextsThatMeanNothingOrTwoThingsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, rule string }{
		"empty":                         {"", ruleNothing},
		"prose":                         {"I cannot solve this.", ruleNothing},
		"only the form":                 {"Agent 0: (row, col) -> (row, col) -> ...\nAgent 1: (row, col)", ruleNothing},
		"paths without agents":          {line0[9:] + "\n" + line1[9:], ruleNothing},
		"the task repeated":             {"Agent 0 needs to go from (0, 0) to (2, 2)\nAgent 1 needs to go from (2, 0) to (0, 0)", ruleNothing},
		"a table of steps":              {"Step 0:\nAgent 0: (0, 0)\nAgent 1: (2, 0)\n\nStep 1:\nAgent 0: (0, 1)\nAgent 1: (1, 0)", ruleNothing},
		"a table of steps in lines":     {"t=0: Agent 0: (0, 0), Agent 1: (2, 0)\nt=1: Agent 0: (0, 1), Agent 1: (1, 0)", ruleNothing},
		"a correction of one agent":     {canonical + "Better:\nAgent 1: (2, 0) -> (2, 1)", ruleTwo},
		"a correction of the other":     {canonical + "Better:\nAgent 0: (0, 0) -> (1, 0)", ruleTwo},
		"a correction without a word":   {canonical + "Agent 0: (0, 0) -> (1, 0)", ruleTwo},
		"two objects in one":            {`{"agent 0": ` + json0 + `, "agent 1": ` + json1 + `, "agent 1": [[2, 0], [2, 1]]}`, ruleTwo},
		"cells behind words":            {line0 + "\nAgent 1: (2, 0) -> (1, 0) then it moves to (0, 0)", ruleUnreadable},
		"pairs of cells":                {"Agent 0: (0, 0) -> (0, 1), (0, 1) -> (0, 2)\n" + line1, ruleUnreadable},
		"a wait beside a cell":          {"Agent 0: (0, 0) -> (0, 1) (wait) -> (0, 2)\n" + line1, ruleUnreadable},
		"cells and moves":               {line0 + "\nAgent 1: (2, 0) -> up -> (0, 0)", ruleUnreadable},
		"left out at the end":           {canonical[:len(canonical)-1] + ", ...", ruleUnreadable},
		"JSON with cells by x and y":    {`{"agent 0": ` + json0 + `, "agent 1": [{"x": 2, "y": 0}]}`, ruleUnreadable},
		"JSON with columns first":       {`{"agent 0": ` + json0 + `, "agent 1": [{"col": 0, "row": 2}]}`, ruleUnreadable},
		"left out":                      {"Agent 0: (0, 0) -> ... -> (2, 2)\n" + line1, ruleUnreadable},
		"three coordinates":             {line0 + "\nAgent 1: (2, 0, 0) -> (1, 0, 1)", ruleUnreadable},
		"an empty list":                 {line0 + "\nAgent 1: []", ruleUnreadable},
		"something else in the list":    {line0 + "\nAgent 1: [(2, 0), (1, 0), goal]", ruleUnreadable},
		"JSON with null":                {`{"agent 0": ` + json0 + `, "agent 1": null}`, ruleUnreadable},
		"JSON with a number":            {`{"agent 0": ` + json0 + `, "agent 1": [[2, 0], [1]]}`, ruleUnreadable},
		"a flat list of words, no name": {`["right", "down"]`, ruleNothing},
		"a list of cells and more":      {"[[0,0],[0,0],[]]", ruleNothing},
		"a list of cells, no name":      {json0, ruleNothing},
		"arrows to the goals":           {"Agent 0 -> (2, 2)\nAgent 1 -> (0, 0)", ruleNothing},
		"open parentheses":              {"Agent 0 (to (2, 2)\nAgent 1 (to (0, 0)\n", ruleNothing},
		"an object without values":      {`{"agent 0", "agent 1"}`, ruleNothing},
	} {
		t.Run(name, func(t *testing.T) {
			in := crossing()
			r := parseAnswer(c.text, &in)
			if r.fault == "" || r.cut || r.rule != c.rule {
				t.Errorf("read %+v; want a refusal by rule %q", r, c.rule)
			}
		})
	}
}

func TestTextsThatBreakOffAreAClassOfTheirOwn(t *testing.T) {
	for name, text := range map[string]string{
		"in thinking":              "<think>Agent 0 could go " + canonical,
		"in thinking again":        "<think>a</think>" + canonical + "<think>wait",
		"after an arrow":           line0 + "\nAgent 1: (2, 0) ->",
		"in an arrow":              line0 + "\nAgent 1: (2, 0) -",
		"in a cell":                line0 + "\nAgent 1: (2, 0) -> (1,",
		"at a cell":                line0 + "\nAgent 1: (2, 0) -> (",
		"in a number":              line0 + "\nAgent 1: (2, 0) -> (1",
		"before a path":            line0 + "\nAgent 1:",
		"in a label":               line0 + "\nAgent",
		"in a label with a number": line0 + "\nAgent 1",
		"in a list":                line0 + "\nAgent 1: [(2, 0), (1, 0)",
		"behind a comma":           line0 + "\nAgent 1: (2, 0), (1, 0),",
		"in a word":                "Agent 0: right, right\nAgent 1: up, do",
		"in JSON":                  `{"agent 0": ` + json0 + `, "agent 1": [[2, 0], [1`,
		"in pretty JSON":           "{\n\"agent 0\": " + json0 + ",\n\"agent 1\": [[2, 0],\n",
		"in a string":              `{"agent 0": ` + json0 + `, "agen`,
		"in a fence":               "```\n" + line0,
		"in a second answer":       canonical + "Again:\n" + line0 + "\nAgent 1: (2, 0) ->",
	} {
		t.Run(name, func(t *testing.T) {
			in := crossing()
			if r := parseAnswer(text, &in); r.fault == "" || !r.cut {
				t.Errorf("read %+v; want a text cut off", r)
			}
		})
	}
}

func TestWrongNumbersOfAgentsAreReadable(t *testing.T) {
	in := crossing()
	for name, c := range map[string]struct {
		text  string
		plan  Plan
		extra int
	}{
		"one missing":          {line1, Plan{nil, path1}, 0},
		"one too many":         {canonical + "Agent 2: (1, 0)", Plan{path0, path1}, 1},
		"one too many, moves":  {canonical + "Agent 2: up, up", Plan{path0, path1}, 1},
		"one too many, inside": {line0 + "\nAgent 7: (1, 0)\n" + line1, Plan{path0, path1}, 1},
		"counted from one":     {strings.NewReplacer("Agent 1", "Agent 2", "Agent 0", "Agent 1").Replace(canonical), Plan{nil, path0}, 1},
		"only others":          {"Agent 7: (1, 0)", Plan{nil, nil}, 1},
		"a list too long":      {"[" + json0 + "," + json1 + "," + json1 + "]", Plan{path0, path1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := parseAnswer(c.text, &in)
			if r.fault != "" || r.extra != c.extra || !reflect.DeepEqual(r.plan, c.plan) {
				t.Errorf("read %+v; want %v and %d extra", r, c.plan, c.extra)
			}
		})
	}
}

func TestTheCanonicalFormIsReadAlikeByBothReaders(t *testing.T) {
	in := crossing()
	for _, plan := range []Plan{{path0, path1}, {{{-1, 0}}, {{10, 99}, {-12, 3}}}} {
		text := renderPlan(plan)
		fast, slow := parseAnswer(text, &in), parseAnswer("Answer\n"+text, &in)
		if fast.rule != ruleCanonical || slow.rule != ruleCells {
			t.Fatalf("read by rules %q and %q", fast.rule, slow.rule)
		}
		if !reflect.DeepEqual(fast.plan, plan) || !reflect.DeepEqual(slow.plan, plan) {
			t.Errorf("read %v and %v; want %v", fast.plan, slow.plan, plan)
		}
	}
}

func TestFarCellsAreReadAsFar(t *testing.T) {
	in := crossing()
	r := parseAnswer("Agent 0: (0, 99999999999999999999) -> (-99999999999999999999, 0)\n"+line1, &in)
	if want := []Cell{{0, farAway}, {-farAway, 0}}; !reflect.DeepEqual(r.plan[0], want) {
		t.Errorf("read %+v; want %v", r, want)
	}
}
