package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// renderWith runs the verb with a text on stdin.
func renderWith(t *testing.T, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"render"}, args...), strings.NewReader(in), &o, &e)
	return o.String(), e.String(), code
}

func TestATaskIsDrawnFromAFileStdinAndADataset(t *testing.T) {
	tasks, _ := drawTasks(t, "4x4", 2, 3)
	body, err := json.Marshal(tasks[1])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "task.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	want, errOut, code := renderWith(t, "", "--task", file)
	if code != exitOK || !strings.HasPrefix(want, tasks[1].ID+": 4x4, 2 agents") {
		t.Fatalf("exit code %d: %s%s", code, want, errOut)
	}
	for _, args := range [][]string{
		{"--task", "-"},
		{"--dataset", taskFile(t, "d.jsonl", tasks), "--id", tasks[1].ID},
		{"--dataset", taskFile(t, "d.jsonl.zst", tasks), "--id", tasks[1].ID},
	} {
		if got, errOut, code := renderWith(t, string(body), args...); code != exitOK || got != want {
			t.Errorf("%v: exit code %d\ngot %s%s\nwant %s", args, code, got, errOut, want)
		}
	}
}

func TestAnswersAndOptimalPlansAreDrawn(t *testing.T) {
	tasks, answers := drawTasks(t, "4x4", 2, 1)
	data := []string{"--dataset", taskFile(t, "d.jsonl", tasks), "--id", tasks[0].ID}
	byPlan, errOut, code := renderWith(t, "", append(data, "--plan", "optimal")...)
	if code != exitOK || !strings.Contains(byPlan, "valid and optimal") {
		t.Errorf("exit code %d: %s%s", code, byPlan, errOut)
	}
	if byAnswer, _, _ := renderWith(t, answers[0], append(data, "--answer", "-")...); byAnswer != byPlan {
		t.Errorf("answer is drawn as\n%s\nplan as\n%s", byAnswer, byPlan)
	}
	if bad, _, code := renderWith(t, "no idea", append(data, "--answer", "-")...); code != exitOK || !strings.Contains(bad, "not valid, failed: parse") {
		t.Errorf("exit code %d: %s", code, bad)
	}
	file := filepath.Join(t.TempDir(), "plan.svg")
	_, errOut, code = renderWith(t, "", append(data, "--plan", "optimal", "--format", "animated-svg", "-O", file)...)
	body, err := os.ReadFile(file)
	if err != nil || code != exitOK || !bytes.HasPrefix(body, []byte("<svg ")) || !bytes.Contains(body, []byte("@keyframes")) {
		t.Errorf("exit code %d, %v, %s: %.80s", code, err, errOut, body)
	}
}

func TestWrongFlagsOfRenderAreRefused(t *testing.T) {
	tasks, _ := drawTasks(t, "3x3", 2, 1)
	data := taskFile(t, "d.jsonl", tasks)
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte("\n{\"id\":\"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, exitUsage, []string{"--task or --dataset"}},
		{[]string{"--task", "-", "--dataset", data}, exitUsage, []string{"either --task", "--id together"}},
		{[]string{"--task", "-", "--answer", "-", "--plan", "best", "--format", "gif"}, exitUsage, []string{"one of --answer", "stdin can be read once", `"best"`, `"gif"`}},
		{[]string{"--task", "no/such.json"}, exitUsage, []string{"no/such.json"}},
		{[]string{"--task", "-"}, exitUsage, []string{"-: read task"}},
		{[]string{"--task", data, "--answer", "no/such.txt"}, exitUsage, []string{"no/such.txt"}},
		{[]string{"--task", data, "--environment", "pond"}, exitUsage, []string{"pond"}},
		{[]string{"--dataset", data, "--id", "nobody"}, exitNotFound, []string{"nobody", data}},
		{[]string{"--dataset", broken, "--id", "x"}, exitUsage, []string{broken + ":2: read task"}},
	} {
		_, errOut, code := renderWith(t, "", c.args...)
		if code != c.code {
			t.Errorf("%v: exit code %d; want %d: %s", c.args, code, c.code, errOut)
		}
		for _, s := range c.says {
			if !strings.Contains(errOut, s) {
				t.Errorf("%v: stderr has no %q: %s", c.args, s, errOut)
			}
		}
	}
}
