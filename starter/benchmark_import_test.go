package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/env/all"
)

// published writes rows as the authors do.
func published(t *testing.T, file string, items []benchItem, agents int) string {
	t.Helper()
	var b strings.Builder
	for _, item := range items {
		line, err := json.Marshal(map[string]any{"sample_id": item.ID, "num_agents": agents, "text": item.Prompt, "source": "theirs"})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPublishedRowsAreImportedSolvedAndScored(t *testing.T) {
	e, err := all.Open(all.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	tasks, _, err := env.Tasks(t.Context(), e, e.Benchmark(3, 6, "sum_of_costs")[1], func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	var items []benchItem
	for _, task := range tasks {
		items = append(items, benchItem{Task: task})
	}
	in, dir, m := t.TempDir(), t.TempDir(), newModel(t)
	one := published(t, filepath.Join(in, "wr_025.jsonl"), items, 3)
	two := published(t, filepath.Join(in, "wr_050.jsonl"), items[:2], 3) // the same IDs again
	m.answer = func(prompt string) (string, string) {
		for _, item := range items {
			if item.Prompt == prompt {
				return solution(t, item), "stop"
			}
		}
		return "", "stop"
	}
	t.Setenv("OPENAI_BASE_URL", m.URL)
	out, errOut, code := cli(t, "benchmark", "--model", "m", "--out", dir, "--import", one, "--import", two, "-o", "json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	r := parsed(t, out)
	if !r.Imported || len(r.Sets) != 1 || r.Sets[0].Agents != 3 || r.Total.N != 8 || r.Total.Optimal != 8 || len(r.Sets[0].Subsets) != 2 {
		t.Errorf("result %+v", r)
	}
	got := tasksOf(t, dir, "set-3.jsonl")
	if got[6].ID != "wr_050/"+items[0].ID || got[0].Optimum != items[0].Optimum || got[0].Group != items[0].Group {
		t.Errorf("imported %+v", got[6].Task)
	}
}

func TestBadRowsAreToldByLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	bad := "{\"sample_id\":\"a\",\"num_agents\":3,\"text\":\"Question:\\nwhat?\"}\n\n{\"sample_id\":\"b\"\n{\"num_agents\":3}\n"
	if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel(t)
	_, errOut, code := cli(t, "benchmark", "--endpoint", m.URL, "--model", "m", "--out", t.TempDir(), "--import", file)
	for _, want := range []string{file + ":1: ", file + ":3: ", file + ":4: sample_id or text is missing"} {
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("exit code %d, no %q: %s", code, want, errOut)
		}
	}
	if m.requests() > 0 {
		t.Errorf("%d requests", m.requests())
	}
}
