package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// verdictLine is a reply as a trainer reads it.
type verdictLine struct {
	ID        string   `json:"id"`
	Valid     bool     `json:"valid"`
	Optimal   bool     `json:"optimal"`
	Truncated bool     `json:"truncated"`
	Failed    []string `json:"failed"`
	Faults    []string `json:"faults"`
	Cost      int      `json:"cost"`
	Optimum   int      `json:"optimum"`
	Tokens    int      `json:"tokens"`
	Reward    struct {
		Total    float64 `json:"total"`
		Accuracy float64 `json:"accuracy"`
		Length   float64 `json:"length"`
	} `json:"reward"`
	Weights struct {
		Accuracy float64 `json:"accuracy"`
		Length   float64 `json:"length"`
	} `json:"weights"`
	Line        int              `json:"line"`
	Error       string           `json:"error"`
	RewardState *env.RewardState `json:"reward_state"`
}

// drawTasks are tasks with optimal answers.
func drawTasks(t testing.TB, size string, agents, n int) (tasks []env.Task, answers []string) {
	t.Helper()
	e, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	knobs := []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.25}}
	order := env.Order{
		Split: env.SplitTrain, Seed: "score test", IDPrefix: "t-", Agents: agents, Objective: "sum_of_costs", Samples: n,
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{{Size: size, DataRatio: 1, Knobs: knobs}}},
	}
	tasks, _, err = env.Tasks(t.Context(), e, order, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		p, err := e.Open(task)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := optimalAnswer(p)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	return tasks, answers
}

func jsonl(t testing.TB, rows ...any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// taskFile writes a dataset, packed if the name says so.
func taskFile(t testing.TB, name string, tasks []env.Task) string {
	t.Helper()
	rows := make([]any, len(tasks))
	for i := range tasks {
		rows[i] = tasks[i]
	}
	body := []byte(jsonl(t, rows...))
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		body = z.EncodeAll(body, nil)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// scoreText runs the verb on a text.
func scoreText(t *testing.T, in string, args ...string) (replies []verdictLine, errOut string, code int) {
	t.Helper()
	var out, e bytes.Buffer
	code = run(t.Context(), append([]string{"score"}, args...), strings.NewReader(in), &out, &e)
	for l := range strings.Lines(out.String()) {
		var v verdictLine
		d := json.NewDecoder(strings.NewReader(l))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("reply %s: %v", l, err)
		}
		replies = append(replies, v)
	}
	return replies, e.String(), code
}

func row(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func TestAnswersAreScoredByIDAndInline(t *testing.T) {
	tasks, answers := drawTasks(t, "4x4", 2, 3)
	in := jsonl(t,
		row("id", tasks[0].ID, "answer", answers[0]),
		row("id", tasks[1].ID, "answer", "I do not know."),
		row("answer", answers[2], "task", tasks[2], "tokens", 4096),
		row("id", "rollout 7", "answer", answers[2], "task", tasks[2].ID, "tokens", nil, "truncated", true),
	)
	for _, name := range []string{"tasks.jsonl", "tasks.jsonl.zst"} {
		got, errOut, code := scoreText(t, in, "--tasks", taskFile(t, name, tasks))
		if code != exitOK || len(got) != 4 {
			t.Fatalf("exit code %d, %d replies: %s", code, len(got), errOut)
		}
		if v := got[0]; v.ID != tasks[0].ID || !v.Optimal || v.Cost != tasks[0].Optimum || v.Reward.Total != 1 || v.Weights.Accuracy != 0.5 || v.Failed == nil || v.Faults == nil {
			t.Errorf("optimal answer: %+v", v)
		}
		if v := got[1]; v.Valid || len(v.Failed) != 1 || v.Failed[0] != "parse" || len(v.Faults) != 1 || v.Reward.Total != 0 || v.Optimum != tasks[1].Optimum {
			t.Errorf("no answer: %+v", v)
		}
		if v := got[2]; v.ID != tasks[2].ID || v.Tokens != 4096 || v.Reward.Length != 0 || v.Reward.Total != 0.5 {
			t.Errorf("long answer: %+v", v)
		}
		if v := got[3]; v.ID != "rollout 7" || !v.Truncated || v.Tokens == 0 || !v.Optimal {
			t.Errorf("answer with a name of its own: %+v", v)
		}
		if !strings.Contains(errOut, "4 answers: 75.0 % valid") {
			t.Errorf("stderr: %s", errOut)
		}
	}
}

func TestBadLinesAreAnsweredAndEndNothing(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 1)
	good := jsonl(t, row("id", tasks[0].ID, "answer", answers[0]))
	for line, want := range map[string]string{
		`nonsense`:                                  "want a JSON object",
		`[1]`:                                       "want a JSON object",
		`{"id":"x","answer":"a"`:                    "not JSON",
		`{"id":"x","answer":"a"} {}`:                "behind the object",
		`{"id":"x","answer":"a","id":"y"}`:          `found key "id" twice`,
		`{"id":"x","answer":"a","token":3}`:         "did you mean tokens?",
		`{"id":"x","answer":"a","tokens":-3}`:       "found -3 tokens",
		`{"id":"x","answer":"a","tokens":1.5}`:      "tokens: found a number 1.5; want a whole number",
		`{"id":"x","answer":"a","truncated":"no"}`:  "truncated: found a string; want a bool, true or false",
		`{"id":7,"answer":"a"}`:                     "id: found a number; want a string",
		`{"id":"x"}`:                                "found no answer",
		`{"id":"x","answer":null}`:                  "found no answer",
		`{"answer":"a"}`:                            "found neither id nor task",
		`{"id":"x","answer":"a"}`:                   `task "x" is not in the dataset`,
		`{"answer":"a","task":{"id":"t"}}`:          `open task "t"`,
		`{"answer":"a","task":{"idd":"t"}}`:         `unknown field "idd"`,
		`{"answer":"a","task":7}`:                   "task: found",
		`{"reward_state":{"answers":1}}`:            "reward state is",
		`{"reward_state":{"answers":1,"within":2}}`: "reward state is",
		`{"reward_state":null,"answer":"a"}`:        "on a line of its own",
	} {
		in := good + line + "\n\n" + good
		got, errOut, code := scoreText(t, in, "--tasks", taskFile(t, "t.jsonl", tasks))
		if code != exitUsage || len(got) != 3 || !got[0].Optimal || !got[2].Optimal {
			t.Fatalf("%s: exit code %d, replies %+v", line, code, got)
		}
		if got[1].Line != 2 || !strings.Contains(got[1].Error, want) || !strings.Contains(errOut, "stdin:2: "+got[1].Error) {
			t.Errorf("%s: %+v\nwant %q\nstderr %s", line, got[1], want, errOut)
		}
	}
}

func TestWithoutADatasetTheLineMustBringTheTask(t *testing.T) {
	got, _, code := scoreText(t, `{"id":"x","answer":"a"}`)
	if code != exitUsage || len(got) != 1 || !strings.Contains(got[0].Error, "--tasks") || got[0].ID != "x" {
		t.Errorf("exit code %d, %+v", code, got)
	}
}

func TestDynamicWeightsDependOnTheAnswersBefore(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 1)
	spec := experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"}
	var in strings.Builder
	var want []float64
	state := env.RewardState{}
	for i := range 500 {
		tokens := 1400 + 200*(i%3)
		in.WriteString(jsonl(t, row("id", tasks[0].ID, "answer", answers[0], "tokens", tokens)))
		accuracy, _ := env.Weights(spec, state)
		want = append(want, accuracy)
		state = state.Seen(1, map[bool]int64{true: 1}[tokens <= 1500])
	}
	in.WriteString(`{"reward_state":null}`)
	got, errOut, code := scoreText(t, in.String(), "--tasks", taskFile(t, "t.jsonl", tasks), "--dynamic")
	if code != exitOK || len(got) != 501 {
		t.Fatalf("exit code %d, %d replies: %s", code, len(got), errOut)
	}
	for i, w := range want {
		if got[i].Weights.Accuracy != w {
			t.Fatalf("answer %d weighs accuracy with %v; want %v", i, got[i].Weights.Accuracy, w)
		}
	}
	if s := got[500].RewardState; s == nil || *s != state {
		t.Errorf("reward state %+v; want %+v", s, state)
	}
}

func TestAResumedTrainerGoesOnWithItsWeights(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 1)
	file := taskFile(t, "t.jsonl", tasks)
	answer := jsonl(t, row("id", tasks[0].ID, "answer", answers[0]))
	byFlag, _, _ := scoreText(t, answer, "--tasks", file, "--reward-state", `{"answers":8,"within":4}`)
	byLine, _, _ := scoreText(t, `{"reward_state":{"answers":8,"within":4}}`+"\n"+answer, "--tasks", file)
	if len(byFlag) != 1 || len(byLine) != 2 || byFlag[0].Weights.Accuracy != 0.65 || byLine[1].Weights != byFlag[0].Weights || byLine[0].Weights != byFlag[0].Weights {
		t.Errorf("by flag %+v\nby line %+v\nwant weights 0.65 and 0.35", byFlag, byLine)
	}
}

func TestRewardFieldsCanBeSet(t *testing.T) {
	tasks, _ := drawTasks(t, "3x3", 2, 1)
	in := jsonl(t, row("id", tasks[0].ID, "answer", "no"))
	got, _, code := scoreText(t, in, "--tasks", taskFile(t, "t.jsonl", tasks), "--set", "reward.length_of=all", "--set", "reward.accuracy_low=0.25")
	if code != exitOK || got[0].Reward.Total != 0.75 {
		t.Errorf("exit code %d, %+v; want a reward of 0.75 for being short", code, got)
	}
}

func TestWrongFlagsOfScoreAreRefused(t *testing.T) {
	tasks, _ := drawTasks(t, "3x3", 2, 1)
	twice := taskFile(t, "twice.jsonl", append(tasks, tasks[0], env.Task{ID: "odd"}))
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--tasks", "no/such.jsonl"}, []string{"no/such.jsonl"}},
		{[]string{"--tasks", twice}, []string{twice + ":2: found task", twice + `:3: open task "odd"`}},
		{[]string{"--in", "no/such.jsonl"}, []string{"no/such.jsonl"}},
		{[]string{"--set", "rounds=2"}, []string{"rounds=2", "reward."}},
		{[]string{"--set", "reward.flor=2"}, []string{"did you mean floor?"}},
		{[]string{"--reward-state", "{"}, []string{"--reward-state"}},
		{[]string{"--reward-state", `{"answers":1,"within":0}x`}, []string{"behind it"}},
		{[]string{"--environment", "pond"}, []string{"pond", "lake"}},
		{[]string{"-o", "yaml"}, []string{"score writes JSONL"}},
	} {
		_, errOut, code := scoreText(t, "", c.args...)
		if code != exitUsage {
			t.Errorf("%v: exit code %d; want %d", c.args, code, exitUsage)
		}
		for _, s := range c.says {
			if !strings.Contains(errOut, s) {
				t.Errorf("%v: stderr has no %q: %s", c.args, s, errOut)
			}
		}
	}
}

func TestManyLinesKeepTheirOrder(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 4)
	var in strings.Builder
	for i := range 5000 {
		k := i * i % len(tasks)
		in.WriteString(jsonl(t, row("id", fmt.Sprint(i), "task", tasks[k].ID, "answer", strings.Repeat("\n", i%300)+answers[k])))
	}
	got, errOut, code := scoreText(t, in.String(), "--tasks", taskFile(t, "t.jsonl", tasks))
	if code != exitOK || len(got) != 5000 {
		t.Fatalf("exit code %d, %d replies: %s", code, len(got), errOut)
	}
	for i, v := range got {
		if v.ID != fmt.Sprint(i) || !v.Optimal {
			t.Fatalf("reply %d is %+v", i, v)
		}
	}
}

// TestATrainerIsAnsweredLineByLine writes a line only when the one before has
// been answered, the second in two pieces.
func TestATrainerIsAnsweredLineByLine(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 1)
	toScore, trainerWrites := io.Pipe()
	trainerReads, fromScore := io.Pipe()
	code := make(chan int, 1)
	go func() {
		var errOut bytes.Buffer
		code <- run(context.WithoutCancel(t.Context()), []string{"score", "--tasks", taskFile(t, "t.jsonl", tasks)}, toScore, fromScore, &errOut)
	}()
	replies := bufio.NewReader(trainerReads)
	line := jsonl(t, row("id", tasks[0].ID, "answer", answers[0]))
	for i, pieces := range [][]string{{line}, {line[:9], line[9:]}, {"what?\n"}, {line + line[:20], line[20:]}, {line}} {
		for k, piece := range pieces {
			if _, err := io.WriteString(trainerWrites, piece); err != nil {
				t.Fatal(err)
			}
			if k == 0 && !strings.Contains(piece, "\n") {
				continue
			}
			reply, err := replies.ReadString('\n')
			if err != nil || strings.Contains(reply, "error") != (i == 2) {
				t.Fatalf("step %d: %q, %v", i, reply, err)
			}
		}
	}
	if err := trainerWrites.Close(); err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != exitUsage {
		t.Errorf("exit code %d; want %d for the bad line", c, exitUsage)
	}
}

func TestScoreEndsWhenInterrupted(t *testing.T) {
	never, _ := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if code := run(ctx, []string{"score"}, never, io.Discard, io.Discard); code != exitInterrupted {
		t.Errorf("exit code %d; want %d", code, exitInterrupted)
	}
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	tasks, answers := drawTasks(t, "3x3", 2, 1)
	good := jsonl(t, row("id", tasks[0].ID, "answer", answers[0]))
	got, _, code := scoreText(t, good+strings.Repeat("x", longestLine+1)+"\n"+good, "--tasks", taskFile(t, "t.jsonl", tasks))
	if code != exitUsage || len(got) != 3 || got[1].Line != 2 || !strings.Contains(got[1].Error, "16 MiB") || !got[2].Optimal {
		t.Errorf("exit code %d, %+v", code, got)
	}
}
