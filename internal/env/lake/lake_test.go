package lake

import (
	"encoding/json"
	"strings"
	"testing"

	"floe/internal/env"
)

func taskOf(t testing.TB, in Instance, objective string, optimum int) env.Task {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return env.Task{
		ID: "t-1", Size: in.SizeName(), Group: groupFree, Objective: objective, Optimum: optimum,
		Prompt: renderPrompt(in), Instance: body,
	}
}

func TestATaskWithoutAnInstanceIsReadFromItsPrompt(t *testing.T) {
	task := taskOf(t, crossing(), objectiveSum, 6)
	task.Instance = nil
	p, err := New().Open(task)
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Judge(renderPlan(best)); !v.Optimal {
		t.Errorf("verdict %+v; want optimal", v)
	}
}

func TestOpenNamesAllFaultsOfATask(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*env.Task)
		want   []string
	}{
		"fields": {
			func(t *env.Task) { t.Size, t.Group, t.Objective, t.Optimum, t.Prompt = "4x4", "hard", "time", 5, "" },
			[]string{`size "4x4" of a 3x3 map`, `group "hard"`, `objective "time"`, "optimum 5; want 6", "no prompt"},
		},
		"optimum too large": {func(t *env.Task) { t.Optimum = 1001 }, []string{"optimum 1001"}},
		"no JSON":           {func(t *env.Task) { t.Instance = []byte("{") }, []string{"decode instance"}},
		"more behind":       {func(t *env.Task) { t.Instance = append(t.Instance, " {}"...) }, []string{"something behind it"}},
		"unknown field":     {instance(`{"n": 3, "size": 3}`), []string{`unknown field "size"`}},
		"an empty instance": {instance(`{}`), []string{"n = 0", "0 starts"}},
		"sizes": {
			instance(`{"n": 11, "grid": ["FFF"], "starts": [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], "goals": [[0, 0]]}`),
			[]string{"n = 11", "6 starts", "1 goals for 6 starts", "grid has 1 rows", `grid row 0 is "FFF"; want 11`},
		},
		"letters": {
			instance(`{"n": 3, "grid": ["FFX", "FÄ", "ffF"], "starts": [[0, 0], [0, 1]], "goals": [[1, 0], [2, 0]]}`),
			[]string{`grid row 0 is "FFX"`, `grid row 1 is "FÄ"`, `grid row 2 is "ffF"`},
		},
		"coordinates": {
			instance(`{"n": 3, "grid": ["FFF", "FFF", "FFF"], "starts": [[0], [0, 1, 2]], "goals": [[], [2, 0]]}`),
			[]string{"start of agent 0 has 1", "start of agent 1 has 3", "goal of agent 0 has 0"},
		},
		"cells": {
			instance(`{"n": 3, "grid": ["FFF", "FHF", "FFF"], "starts": [[-1, 0], [1, 1]], "goals": [[0, 3], [0, 3]]}`),
			[]string{"start of agent 0, (-1, 0), is off", "start of agent 1, (1, 1), is a hole", "goal of agent 0, (0, 3), is off", "agents 0 and 1 have the same goal (0, 3)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			task := taskOf(t, crossing(), objectiveSum, 6)
			c.change(&task)
			_, err := New().Open(task)
			if err == nil {
				t.Fatal("opened")
			}
			for _, want := range append(c.want, `open task "t-1": `) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q says nothing of %q", err, want)
				}
			}
		})
	}
}

func instance(body string) func(*env.Task) {
	return func(t *env.Task) { t.Instance = json.RawMessage(body) }
}
