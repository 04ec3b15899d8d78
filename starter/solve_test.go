package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const referenceFile = "../internal/env/lake/testdata/mapf-reference.jsonl"

// cliIn runs the command line in this process, with an input.
func cliIn(t *testing.T, in string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out, errOut bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(in), &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestSolveAgreesWithEveryReferenceRow(t *testing.T) {
	reference, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, objective := range []string{"sum_of_costs", "makespan"} {
		out, errOut, code := cli(t, "solve", "--in", referenceFile, "--objective", objective, "-o", "jsonl")
		got, want := strings.Split(out, "\n"), strings.Split(string(reference), "\n")
		if code != exitOK || len(got) != len(want) {
			t.Fatalf("exit code %d, %d rows; want %d\n%s", code, len(got), len(want), errOut)
		}
		for i := range want {
			if g, w := facts(t, got[i]), facts(t, want[i]); g != w {
				t.Errorf("row %d: got %s; want %s", i+1, g, w)
			}
		}
	}
}

// facts are the members of a row that have been proven.
func facts(t *testing.T, row string) string {
	t.Helper()
	if row == "" {
		return ""
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(row), &members); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range []string{"id", "solvable", "optimal_sum_of_costs", "optimal_makespan", "needs_wait"} {
		value, is := members[name]
		fmt.Fprintf(&b, "%s=%v(%t) ", name, value, is)
	}
	return b.String()
}

func TestSolveTellsEveryBadRowAndSolvesTheOthers(t *testing.T) {
	const good = `{"id":"%s","grid":["FFF","FHF","FFF"],"starts":[[0,0],[2,2]],"goals":[[2,0],[0,2]]}` + "\n"
	in := fmt.Sprintf(good, "a") + "\n[1]\n" +
		`{"id":3,"n":4,"grid":["FFF","FHX","FFF"],"starts":[[0,0],[2,2]],"goals":[[2,0],[0,2]]}` + "\n" +
		fmt.Sprintf(good, "b") + "{oops\n" +
		`{"id":"c","agents":3,"grid":["FFF","FFF","FFF"],"starts":[[0,0],[2]],"goals":[[2,0],[0,2]]}` + "\n" +
		`{"id":"d","grid":7}` + "\n" + strings.Repeat("x", longestLine+10) + "\n" + strings.TrimSpace(fmt.Sprintf(good, "e"))
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]string{file: file, "-": "stdin"} {
		out, errOut, code := cliIn(t, in, "solve", "--in", name, "-o", "jsonl")
		if code != exitUsage || strings.Count(out, "\n") != 3 {
			t.Errorf("%s: exit code %d and\n%s\nwant %d and three rows", name, code, out, exitUsage)
		}
		for _, want := range []string{
			":3: found a JSON array; want an object", ":4: id is 3; want a text", ":4: n is 4, but grid has 3 rows", `:4: grid row 1 is "FHX"`,
			":6: found no JSON object", ":7: start of agent 1 has 1 coordinates; want 2", ":7: agents is 3, but there are 2 starts",
			":8: grid: found a JSON number", ":9: found a line of more than 16 MiB", ": 6 of 9 rows are not instances",
		} {
			if !strings.Contains(errOut, where+want) {
				t.Errorf("stderr has no %q:\n%s", where+want, errOut)
			}
		}
	}
}

func TestSolveWritesTheSameInEveryFormat(t *testing.T) {
	reference, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	in := string(bytes.Join(bytes.SplitAfter(reference, []byte("\n"))[:100], nil))
	list, _, _ := cliIn(t, in, "solve", "-o", "json")
	lines, _, _ := cliIn(t, in, "solve", "-o", "jsonl")
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range all {
		b.Write(row)
		b.WriteByte('\n')
	}
	if b.String() != lines {
		t.Error("-o json and -o jsonl differ")
	}
	table, _, _ := cliIn(t, in, "solve")
	if got := strings.Count(table, "\n"); got != len(all)+1 {
		t.Errorf("table of %d lines; want a head and %d rows", got, len(all))
	}
	for format, want := range map[string]string{"json": "[]\n", "yaml": "[]\n", "jsonl": "", "table": ""} {
		if out, _, code := cliIn(t, "\n", "solve", "-o", format); out != want || code != exitOK {
			t.Errorf("nothing as %s: exit code %d, %q; want %q", format, code, out, want)
		}
	}
}

func TestSolveNeedsTheSameMemoryForAnyLength(t *testing.T) {
	row := `{"id":"a","grid":["FFF","FFF","FFF"],"starts":[[0,0],[2,2]],"goals":[[2,2],[0,1]]}` + "\n"
	peak := func(repeats int) uint64 {
		in := &manyRows{text: row, left: repeats}
		var errOut bytes.Buffer
		out := &heapWatcher{}
		if code := run(t.Context(), []string{"solve", "-o", "jsonl"}, in, out, &errOut); code != exitOK {
			t.Fatalf("exit code %d: %s", code, errOut.String())
		}
		return out.peak
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	short, long := peak(2_000), peak(30_000)
	if long > short+32<<20 {
		t.Errorf("30,000 rows hold %d MiB, 2,000 hold %d MiB", long>>20, short>>20)
	}
}

// manyRows is a text many times over.
type manyRows struct {
	text string
	left int
}

func (r *manyRows) Read(p []byte) (int, error) {
	if r.left == 0 {
		return strings.NewReader("").Read(p)
	}
	r.left--
	return copy(p, r.text), nil
}

// heapWatcher notes how much is in use while it is written to.
type heapWatcher struct {
	peak   uint64
	writes int
}

func (h *heapWatcher) Write(p []byte) (int, error) {
	if h.writes++; h.writes%500 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.peak = max(h.peak, m.HeapAlloc)
	}
	return len(p), nil
}

func TestSolveReadsAMapAndItsScenario(t *testing.T) {
	const m, scen = "type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n", "version 1\n0\tm\t4\t3\t0\t0\t3\t0\t3\n0\tm\t4\t3\t3\t0\t0\t0\t3\n0\tm\t4\t3\t1\t2\t2\t2\t1\n"
	grid, file := put(t, "m.map", m), put(t, "m.scen.gz", zipped(scen))
	out, errOut, code := cli(t, "solve", "--map", grid, "--scen", file, "--agents", "2", "-o", "jsonl")
	var got struct {
		ID   string     `json:"id"`
		Sum  int        `json:"optimal_sum_of_costs"`
		Plan [][][2]int `json:"plan"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.ID != file || got.Sum != 10 || len(got.Plan) != 2 || got.Plan[1][0] != [2]int{0, 3} {
		t.Errorf("exit code %d, %v: %+v\n%s%s", code, err, got, out, errOut)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--map", grid}, "want both"},
		{[]string{"--in", grid}, "want rows, or both --map and --scen"},
		{[]string{"--map", grid, "--scen", file, "--in", grid}, "want one of them"},
		{[]string{"--map", grid, "--scen", file, "--agents", "4"}, file + ":4:1: found 3 of the 4 agents"},
		{[]string{"--map", grid, "--scen", put(t, "b.scen", strings.Replace(scen, "\t0\t0\t3", "\t1\t1\t3", 1))}, "b.scen:2:9: found the start x 1, y 1, which is blocked"},
	} {
		if _, errOut, code := cli(t, append([]string{"solve"}, c.args...)...); code != exitUsage || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, code, exitUsage, c.says, errOut)
		}
	}
}
