package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/env/all"
)

// TestPublishedRowsAreTheSameInAllFormats imports the same rows as JSON lines, as
// a JSON array and as CSV.
func TestPublishedRowsAreTheSameInAllFormats(t *testing.T) {
	tasks, _ := drawTasks(t, "4x4", 3, 5)
	var lines, table strings.Builder
	var rows []publishedRow
	w := csv.NewWriter(&table)
	_ = w.Write([]string{"text", "note", "num_agents", "sample_id"})
	for _, task := range tasks {
		rows = append(rows, publishedRow{task.ID, 3, task.Prompt})
		lines.WriteString(jsonl(t, row("sample_id", task.ID, "num_agents", 3, "text", task.Prompt)))
		_ = w.Write([]string{task.Prompt, "x", "3", task.ID})
	}
	w.Flush()
	array, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var want []benchItem
	for name, body := range map[string]string{
		"a.jsonl": lines.String(), "a.json": string(array), "bom.json": "\ufeff" + string(array) + "\n",
		"a.csv": table.String(), "crlf.csv": "\ufeff" + strings.ReplaceAll(table.String(), "\n", "\r\n"),
	} {
		got, err := importFile(t, put(t, name, body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range got {
			got[i].Prompt = strings.ReplaceAll(got[i].Prompt, "\r\n", "\n")
		}
		if want == nil {
			want = got
		}
		if len(got) != 5 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows that differ", name, len(got))
		}
	}
}

func importFile(t *testing.T, file string) ([]benchItem, error) { return importFileOf(t, file, 3) }

func importFileOf(t *testing.T, file string, agents int) ([]benchItem, error) {
	t.Helper()
	e, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	importing, ok := e.(env.Importing)
	if !ok {
		t.Fatal("lake imports nothing")
	}
	r := rowImport{env: importing, objective: "sum_of_costs", byAgents: map[int][]benchItem{}, seen: map[string]string{}}
	if err := r.file(t.Context(), file, ""); err != nil {
		return nil, err
	}
	return r.byAgents[agents], r.faults.err()
}

func TestBadFilesOfPublishedRowsSayWhereAndWhy(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"no.json":      {`{"sample_id":"a"}`, "no.json:1: sample_id or text is missing"},
		"broken.json":  {"[\n{\"sample_id\": \"a\"},\n{\"sample_id\" 3}]", "broken.json:3: value 2 is not JSON"},
		"open.json":    {`[{"sample_id":"a","num_agents":3,"text":"x"}`, "open.json:1: found the end in value 2"},
		"behind.json":  {"[\n] x", "behind the array"},
		"type.json":    {"[\n\n{\"sample_id\":\"a\",\"num_agents\":\"3\",\"text\":\"x\"}]", "type.json:3: "},
		"columns.csv":  {"id,num_agents,text\n", `want sample_id, num_agents, text`},
		"empty.csv":    {"", "head line"},
		"agents.csv":   {"sample_id,num_agents,text\na,three,x\n", `agents.csv:2: num_agents is "three"`},
		"fields.csv":   {"sample_id,num_agents,text\na,3\n", "line 2"},
		"prompts.csv":  {"sample_id,num_agents,text\na,3,what\n", "prompts.csv:2: import task"},
		"missing.json": {`[{"num_agents":3}]`, "sample_id or text is missing"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(c.body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := importFile(t, file); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %s", name, err, c.says)
		}
	}
}

func FuzzPublishedRows(f *testing.F) {
	f.Add([]byte("sample_id,num_agents,text\na,3,\"x\ny\"\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		rows, err := csvRows(strings.NewReader(string(body)))
		for _, r := range rows {
			if err == nil && (r.line < 1 || r.err == nil && !json.Valid(r.text)) {
				t.Errorf("row %+v", r)
			}
		}
	})
}
