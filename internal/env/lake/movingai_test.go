package lake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/env/lake"
)

func text(name, body string) env.Text { return env.Text{Name: name, Body: []byte(body)} }

// A map that is neither square nor symmetrical, so that x and y cannot be mixed up.
const (
	wideMap  = "type octile\nheight 3\nwidth 5\nmap\n..@.G\n.TS.W\n....O\n"
	wideScen = "version 1\n0\twide.map\t5\t3\t0\t0\t3\t0\t3.0\n0\twide.map\t5\t3\t4\t0\t0\t2\t6.2\n0\twide.map\t5\t3\t2\t1\t3\t2\t1\n"
)

func TestAMapAndAScenarioAreAnInstance(t *testing.T) {
	for name, body := range map[string][2]string{
		"as published": {wideMap, wideScen},
		"CRLF":         {strings.ReplaceAll(wideMap, "\n", "\r\n"), strings.ReplaceAll(wideScen, "\n", "\r\n")},
		"spaces":       {strings.TrimSpace(wideMap), strings.ReplaceAll(wideScen, "\t", "  ") + "\n\n"},
	} {
		row, err := lake.Lake{}.FromMap(text("wide.map", body[0]), text("wide.scen", body[1]), 2)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := `{"id":"wide.scen","n":5,"grid":["FFHFF","FHFFH","FFFFH","HHHHH","HHHHH"],"starts":[[0,0],[0,4]],"goals":[[0,3],[2,0]]}`
		if string(row) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, row, want)
		}
		s, err := lake.Lake{}.NewSolver().Solve(t.Context(), row, "sum_of_costs")
		if err != nil || !s.Solvable || s.Size != "5x5" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		var plan [][][2]int
		if err := json.Unmarshal(s.Plan, &plan); err != nil || plan[0][len(plan[0])-1] != [2]int{0, 3} {
			t.Errorf("%s: plan %s, %v", name, s.Plan, err)
		}
	}
}

// TestFillingUpWithHolesChangesNoOptimum: a board may have walls around it.
func TestFillingUpWithHolesChangesNoOptimum(t *testing.T) {
	solve := func(m, scen string) env.Solution {
		row, err := lake.Lake{}.FromMap(text("m", m), text("s", scen), 2)
		if err != nil {
			t.Fatal(err)
		}
		s, err := lake.Lake{}.NewSolver().Solve(t.Context(), row, "sum_of_costs")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// Two agents change places in a corridor with a bay: 2 x 4 cells, and the same with walls written out.
	narrow := solve("type octile\nheight 2\nwidth 4\nmap\n@.@@\n....\n", "version 1\n0 m 4 2 0 1 3 1 3\n0 m 4 2 3 1 0 1 3\n")
	walled := solve("type octile\nheight 4\nwidth 4\nmap\n@.@@\n....\n@@@@\n@@@@\n", "version 1\n0 m 4 4 0 1 3 1 3\n0 m 4 4 3 1 0 1 3\n")
	if narrow.Optima[0] != walled.Optima[0] || narrow.Optima[1] != walled.Optima[1] || !narrow.Solvable || narrow.Optima[0].Cost != 8 {
		t.Errorf("narrow %+v, walled %+v; want both to cost 8: one waits in the bay, two steps out of its way", narrow.Optima, walled.Optima)
	}
}

func TestFaultsOfMapsAndScenariosHaveTheirPlaces(t *testing.T) {
	big := "type octile\nheight 32\nwidth 11\nmap\n" + strings.Repeat(strings.Repeat(".", 11)+"\n", 32)
	for name, c := range map[string]struct {
		m, scen string
		agents  int
		want    string
	}{
		"too large":        {big, wideScen, 2, "m.map:1:1: found a map of 11 x 32 cells; want at most 10 x 10, which is all that lake holds: cut a piece out of it, and its agents with it"},
		"no map":           {"hello", wideScen, 2, `m.map:1:1: found "hello"; want type, height, width or map`},
		"only a head":      {"type octile\nheight 3\nwidth 5", wideScen, 2, "m.map:3:1: found no line that says map; want type, height, width, map, and the rows behind them"},
		"no width":         {"type octile\nheight 3\nmap\n...\n", wideScen, 2, "m.map:3:1: found the map without its height or width; want both before it"},
		"a bad height":     {"height x\nwidth 5\nmap\n", wideScen, 2, `m.map:1:8: found the height "x"; want a whole number of at least 1`},
		"rows":             {"height 3\nwidth 2\nmap\n..\n.x\n", "version 1\n0 m 2 3 0 0 1 0 1\n0 m 2 3 1 0 0 0 1\n", 2, "m.map:4:1: found 2 rows; want 3, the height\nm.map:5:2: found \"x\"; want one of .GS (land) and @OTW (blocked)"},
		"a short row":      {"height 2\nwidth 3\nmap\n...\n..\n", wideScen, 2, "m.map:5:1: found a row of 2 letters; want 3, the width"},
		"no scenario":      {wideMap, "0 m", 2, `s.scen:1:1: found "0 m"; want the line version 1 of a scenario`},
		"too few":          {wideMap, wideScen, 4, "s.scen:4:1: found 3 of the 4 agents"},
		"too many asked":   {wideMap, wideScen, 6, "found 6 agents; want 2 to 5"},
		"a field too few":  {wideMap, "version 1\n0\twide.map\t5\t3\t0\t0\t3\t0\n", 2, "s.scen:2:1: found 8 fields; want 9: bucket, map, its width and height, x and y of start and goal, length\ns.scen:2:1: found 1 of the 2 agents"},
		"no number":        {wideMap, "version 1\n0\tm\t5\t3\t0\tzero\t3\t0\t3\n0\tm\t5\t3\t4\t0\t0\t2\t6\n", 2, `s.scen:2:11: found "zero"; want a whole number`},
		"another map":      {wideMap, "version 1\n0\tm\t8\t8\t0\t0\t3\t0\t3\n0\tm\t5\t3\t4\t0\t0\t2\t6\n", 2, "s.scen:2:5: found an agent on a map of 8 x 8; want 5 x 3, the size of m.map"},
		"off, and blocked": {wideMap, "version 1\n0\tm\t5\t3\t0\t3\t2\t0\t3\n0\tm\t5\t3\t4\t1\t0\t2\t6\n", 2, "s.scen:2:9: found the start x 0, y 3, which is off the map; want x below 5 and y below 3\ns.scen:2:13: found the goal x 2, y 0, which is blocked ('@' in the map); want land\ns.scen:3:9: found the start x 4, y 1, which is blocked ('W' in the map); want land"},
		"twice":            {wideMap, "version 1\n0\tm\t5\t3\t0\t0\t3\t0\t3\n0\tm\t5\t3\t0\t0\t0\t2\t2\n", 2, "s.scen:3:9: found the start x 0, y 0, which is also that of line 2; want another"},
	} {
		_, err := lake.Lake{}.FromMap(text("m.map", c.m), text("s.scen", c.scen), c.agents)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

// FuzzFromMap: whatever the texts are, what is taken can be solved.
func FuzzFromMap(f *testing.F) {
	f.Add([]byte(wideMap), []byte(wideScen))
	f.Add([]byte("height 1\nwidth 1\nmap\n."), []byte("version"))
	f.Fuzz(func(t *testing.T, m, scen []byte) {
		row, err := lake.Lake{}.FromMap(env.Text{Name: "m", Body: m}, env.Text{Name: "s", Body: scen}, 2)
		if err != nil {
			return
		}
		if _, err := (lake.Lake{}).NewSolver().Solve(t.Context(), row, "makespan"); err != nil {
			t.Errorf("%q and %q made %s: %v", m, scen, row, err)
		}
	})
}
