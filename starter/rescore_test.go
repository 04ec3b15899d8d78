package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/ask"
	"floe/internal/ending"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// someTasks are a few tasks, and an optimal answer to each, judged.
func someTasks(t *testing.T) ([]env.Task, []ask.Row) {
	t.Helper()
	e, err := all.Open(all.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	tasks, _, err := env.Tasks(t.Context(), e, e.Benchmark(3, 6, "sum_of_costs")[0], func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]ask.Answer, len(tasks))
	for i, task := range tasks {
		answers[i] = ask.Answer{ID: task.ID, Answer: solution(t, benchItem{Task: task}), FinishReason: "stop", CompletionTokens: 40}
	}
	answers[1].FinishReason = ending.Length
	rows, err := ask.Judge(t.Context(), e, tasks, answers)
	if err != nil {
		t.Fatal(err)
	}
	if !rows[0].Verdict.Optimal || !rows[1].Verdict.Truncated || rows[0].Verdict.Truncated {
		t.Fatalf("verdicts %+v, %+v", rows[0].Verdict, rows[1].Verdict)
	}
	return tasks, rows
}

// misjudge gives an answer the verdict that another referee might have given.
func misjudge(row *ask.Row) {
	row.Verdict.Valid, row.Verdict.Optimal, row.Verdict.Cost, row.Verdict.Failed = false, false, 0, []string{"parse"}
}

// lines writes values as JSONL and hands over the file.
func lines[T any](t *testing.T, name string, values []T) string {
	t.Helper()
	body, err := jsonLines(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func rescored(t *testing.T, stdout string) rescoreResult {
	t.Helper()
	var r rescoreResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return r
}

func TestAnswersInFilesAreJudgedAgain(t *testing.T) {
	tasks, rows := someTasks(t)
	set := lines(t, "tasks.jsonl", tasks)
	out, errOut, code := cli(t, "rescore", "--tasks", set, "--answers", lines(t, "same.jsonl", rows), "--check", "-o", "json")
	if r := rescored(t, out); code != exitOK || r.Answers != len(rows) || r.Changed != 0 || r.Sets[0].Now.Optimal != len(rows) || r.Sets[0].Classes.Truncated != 1 {
		t.Errorf("exit code %d, %+v: %s", code, r, errOut)
	}
	misjudge(&rows[0])
	rows[2].Verdict.Faults = []string{"said in other words"}
	changed := lines(t, "changed.jsonl", rows)
	out, _, code = cli(t, "rescore", "--tasks", set, "--answers", changed, "-o", "json")
	r := rescored(t, out)
	if code != exitOK || r.Changed != 1 || r.Sets[0].Before.Valid != len(rows)-1 || r.Sets[0].After.Valid != len(rows) {
		t.Errorf("exit code %d, %+v", code, r)
	}
	if c := r.Sets[0].Changes; len(c) != 1 || c[0].ID != rows[0].ID || strings.Join(c[0].Fields, " ") != "valid optimal failed cost" || !c[0].After.Optimal {
		t.Errorf("changes %+v", c)
	}
	table, errOut, code := cli(t, "rescore", "--tasks", set, "--answers", changed, "--check")
	if code != exitFailed || !strings.Contains(errOut, "1 of 6 verdicts changed") || !strings.Contains(table, "5 -> 6") || !strings.Contains(table, "was invalid (parse), is optimal") {
		t.Errorf("exit code %d: %s%s", code, table, errOut)
	}
	bare := make([]map[string]string, len(rows))
	for i, row := range rows {
		bare[i] = map[string]string{"id": row.ID, "answer": row.Answer.Answer}
	}
	out, _, code = cli(t, "rescore", "--tasks", set, "--answers", lines(t, "bare.jsonl", bare), "--check", "-o", "json")
	if r := rescored(t, out); code != exitOK || r.Changed != 0 || r.Sets[0].Unjudged != len(rows) || r.Sets[0].Now.Valid != len(rows) {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

func TestFilesThatDoNotFitAreToldByLine(t *testing.T) {
	tasks, rows := someTasks(t)
	set := lines(t, "tasks.jsonl", tasks)
	twice := append(rows[:2:2], rows[1])
	twice = append(twice, ask.Row{Answer: ask.Answer{ID: "another"}})
	file := lines(t, "bad.jsonl", twice)
	if err := os.WriteFile(file, append(must1(os.ReadFile(file)), "{\"id\":\"x\",\"more\":1}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, code := cli(t, "rescore", "--tasks", set, "--answers", file)
	for _, want := range []string{":3: task", "answered twice", `:4: task "another" is not in`, ":5: "} {
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("exit code %d, no %q: %s", code, want, errOut)
		}
	}
	for _, args := range [][]string{{"rescore"}, {"rescore", "--tasks", set}, {"rescore", "demo", "--tasks", set, "--answers", file}, {"rescore", "--tasks", set, "--answers", file, "--environment", "sea"}} {
		if _, errOut, code := cli(t, args...); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, errOut)
		}
	}
}

func must1(body []byte, err error) []byte {
	must(err)
	return body
}

// committed is a step in a store.
func committed(t *testing.T, steps artifact.Steps, kind string, inputs any, body artifact.Body, err error) activities.Done {
	t.Helper()
	id, idErr := experiment.NewStepID(kind, inputs)
	if err != nil || idErr != nil {
		t.Fatal(err, idErr)
	}
	if _, _, err := steps.Commit(t.Context(), id, "attempt", inputs, time.Now(), []artifact.Body{body}); err != nil {
		t.Fatal(err)
	}
	return activities.Done{ID: id}
}

func TestAnExperimentsAnswersAreJudgedAgainStepByStep(t *testing.T) {
	tasks, rows := someTasks(t)
	steps := artifact.Steps{Store: artifacttest.NewMemory()}
	body, err := artifact.JSONLines(activities.FileDataset, tasks)
	set := committed(t, steps, "generate", map[string]string{"set": "validation"}, body, err)
	evaluated := func(label string) activities.Done {
		body, err := artifact.JSONLines(activities.FileAnswers, rows)
		return committed(t, steps, "evaluate", map[string]string{"environment": "lake/old", "label": label}, body, err)
	}
	base := evaluated("base")
	misjudge(&rows[3])
	refs := activities.Refs{Validation: set, Base: base, Rounds: []activities.RoundRefs{{Round: 1, Scorecard: evaluated("round 1")}, {Round: 2}}}
	for file, v := range map[string]any{activities.DocIndex: refs, activities.DocResults: experiment.Results{Spec: experiment.Spec{Environment: all.Names()[0]}}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := steps.PutDoc(t.Context(), "exp", file, text); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	a := &app{out: &out, err: &errOut, steps: &steps, output: "json"}
	if err := a.rescore(t.Context(), []string{"exp"}, rescoreFlags{}, false); err != nil {
		t.Fatal(err)
	}
	r := rescored(t, out.String())
	if len(r.Sets) != 2 || r.Sets[0].Set != "start/validate" || r.Sets[0].Changed != 0 || r.Sets[1].Set != "round-1/validate" || r.Sets[1].Changed != 1 {
		t.Fatalf("%+v", r)
	}
	if s := r.Sets[1]; s.JudgedBy != "lake/old" || s.Referee == s.JudgedBy || s.Changes[0].ID != rows[3].ID {
		t.Errorf("%+v", s)
	}
	if err := a.rescore(t.Context(), []string{"none"}, rescoreFlags{}, false); codeOf(t.Context(), err) != exitNotFound {
		t.Errorf("%v", err)
	}
}
