package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"floe/internal/env/all"
)

// canary is a key that must be found nowhere but in the Authorization header.
const canary = "sk-canary-91b7e0d2"

// model is a scripted endpoint: it answers by the prompt, and counts how often
// each was asked.
type model struct {
	*httptest.Server
	mu      sync.Mutex
	prompts map[string]int
	auth    map[string]bool
	bodies  []map[string]any
	before  hook
	answer  func(prompt string) (text, finish string)
}

// hook may answer the n-th request instead of a model, and says whether it did.
type hook func(n int, w http.ResponseWriter, r *http.Request) bool

// first has a hook look at requests first. Calls that were given up may be under
// way still.
func (m *model) first(h hook) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = h
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{prompts: map[string]int{}, auth: map[string]bool{}, answer: func(string) (string, string) { return "I do not know.", "stop" }}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.auth[r.Header.Get("Authorization")] = true
			_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var asked map[string]any
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Errorf("request %s: %v", body, err)
			return
		}
		prompt := fmt.Sprint(asked["messages"].([]any)[0].(map[string]any)["content"])
		m.mu.Lock()
		m.bodies = append(m.bodies, asked)
		n, before := len(m.bodies), m.before
		m.auth[r.Header.Get("Authorization")] = true
		m.mu.Unlock()
		if before != nil && before(n, w, r) {
			return
		}
		m.mu.Lock()
		m.prompts[prompt]++
		m.mu.Unlock()
		text, finish := m.answer(prompt)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": finish}},
			"usage":   map[string]any{"prompt_tokens": 300, "completion_tokens": 50},
		})
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *model) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.bodies)
}

// askedOnce fails for prompts that were answered more than once.
func (m *model) askedOnce(t *testing.T, want int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := 0
	for prompt, n := range m.prompts {
		sum += n
		if n > 1 {
			t.Errorf("asked %d times: %.60s", n, prompt)
		}
	}
	if sum != want {
		t.Errorf("%d answers were given; want %d", sum, want)
	}
}

// smallBench runs a benchmark of three instances per size, with more arguments.
// The set is drawn once for all tests that do not look at its drawing.
func smallBench(t *testing.T, m *model, dir string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, benchFile)); err != nil {
		withSet(t, dir)
	}
	return drawnBench(t, m, dir, more...)
}

// drawnBench is smallBench with a set of its own.
func drawnBench(t *testing.T, m *model, dir string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", canary)
	t.Setenv("OPENAI_BASE_URL", "")
	return cli(t, benchArgs(m, dir, more...)...)
}

func benchArgs(m *model, dir string, more ...string) []string {
	return append([]string{
		"benchmark", "--endpoint", m.URL, "--model", "tiny/model", "--out", dir,
		"--agents", "5", "--instances", "3", "--concurrency", "4",
	}, more...)
}

// smallSet has the files of a folder in which nothing was asked yet.
var smallSet = map[string][]byte{}

func withSet(t *testing.T, dir string) {
	t.Helper()
	if len(smallSet) == 0 {
		from, m := t.TempDir(), newModel(t)
		m.first(func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "not now", http.StatusForbidden)
			return true
		})
		if _, errOut, code := drawnBench(t, m, from); code != exitFailed {
			t.Fatalf("exit code %d: %s", code, errOut)
		}
		for _, file := range []string{benchFile, "set-5.jsonl"} {
			body, err := os.ReadFile(filepath.Join(from, file))
			if err != nil {
				t.Fatal(err)
			}
			smallSet[file] = body
		}
	}
	for file, body := range smallSet {
		if err := os.WriteFile(filepath.Join(dir, file), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const smallTasks = 18 // six sizes

func parsed(t *testing.T, stdout string) benchResult {
	t.Helper()
	var r benchResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return r
}

// tasksOf reads the set that a benchmark lies on.
func tasksOf(t *testing.T, dir, file string) []benchItem {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var items []benchItem
	for line := range strings.Lines(string(body)) {
		var item benchItem
		if err := json.Unmarshal([]byte(line), &item); err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

// solution is an optimal answer to a prompt of the set.
func solution(t *testing.T, item benchItem) string {
	t.Helper()
	e, err := all.Open(all.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Open(item.Task)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := p.Demonstration()
	if err != nil {
		t.Fatal(err)
	}
	episode := p.Episode()
	for _, action := range actions {
		episode.Act(action)
	}
	return episode.Answer()
}

func TestAModelIsScoredBesideThePaper(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	m.answer = func(prompt string) (string, string) { // of every size one right, one cut off, one refused or empty
		for i, item := range tasksOf(t, dir, "set-5.jsonl") {
			if item.Prompt == prompt {
				switch i % 3 {
				case 0:
					return "<think>hm</think>" + solution(t, item), "stop"
				case 1:
					return "Agent 0: (0, 0) -> ", "length"
				}
				if i%2 == 0 {
					return " \n", "stop"
				}
			}
		}
		return "", "content_filter"
	}
	out, errOut, code := drawnBench(t, m, dir, "-o", "json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	r := parsed(t, out)
	set := r.Sets[0]
	if !r.Complete || set.Answered != smallTasks || set.OK != 6 || set.Truncated != 6 || set.Refused != 3 || set.Empty != 3 || set.Total.Valid != 6 || set.Total.Optimal != 6 || r.Tally != set.Tally {
		t.Errorf("%+v, %+v; %+v", set.Total, set.Tally, r.Tally)
	}
	if len(set.Sizes) != 6 || set.Sizes[0].Valid != 1 || set.Sizes[0].N != 3 || set.Sizes[0].ValidLow <= 0 || set.Sizes[0].ValidHigh >= 1 {
		t.Errorf("sizes %+v", set.Sizes)
	}
	if len(set.Subsets) != 3 || set.Subsets[0].Subset != "wr_025" || set.Subsets[2].N != 6 {
		t.Errorf("subsets %+v", set.Subsets)
	}
	if set.PromptTokens != 300*smallTasks || set.CompletionTokens != 50*smallTasks {
		t.Errorf("tokens %d and %d", set.PromptTokens, set.CompletionTokens)
	}
	m.askedOnce(t, smallTasks)
	if b := m.bodies[0]; b["temperature"] != 0.0 || b["max_tokens"] != 8192.0 || b["model"] != "tiny/model" {
		t.Errorf("sent %v", b)
	}
	table, _, code := smallBench(t, m, dir)
	for _, want := range []string{"GPT-5.4", "18.67/11.00", "> tiny/model", "33.33/33.33", "wr_075", "6 ran into the token limit, 3 refused, 3 empty; 5400 prompt and 900 answer tokens", "arXiv:2606.17682"} {
		if !strings.Contains(table, want) {
			t.Errorf("exit code %d; the table has no %q:\n%s", code, want, table)
		}
	}
	m.askedOnce(t, smallTasks) // nothing was open
}

func TestAFolderIsOneBenchmark(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	if _, errOut, code := smallBench(t, m, dir); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	_, errOut, code := smallBench(t, m, dir, "--model", "other", "--temperature", "0.5")
	for _, want := range []string{"--model tiny/model, not other", "--temperature 0, not 0.5", "--out"} {
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("exit code %d, no %q: %s", code, want, errOut)
		}
	}
	b := &bench{dir: dir}
	if err := b.acquire(); err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := smallBench(t, m, dir); code != exitFailed || !strings.Contains(errOut, "is in use") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	b.close()
	answers := filepath.Join(dir, "answers-5.jsonl")
	body, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(body), "\n")
	for bad, says := range map[string]string{
		"nonsense\n":                            "answers-5.jsonl:1: ",
		first + "\n" + first + "\n":             "answered already",
		first + "\n{\"id\":\"x\",\"more\":1}\n": "answers-5.jsonl:2: ",
		first + "\n{\"id\":\"x\"}\n":            `answers-5.jsonl:2: task "x" is not in the set`,
	} {
		if err := os.WriteFile(answers, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errOut, code := smallBench(t, m, dir); code != exitFailed || !strings.Contains(errOut, says) || strings.Contains(errOut, "goes on") {
			t.Errorf("exit code %d, no %q: %s", code, says, errOut)
		}
		if _, errOut, code := cli(t, "benchmark", "--out", dir, "--score-only"); code != exitFailed || !strings.Contains(errOut, says) {
			t.Errorf("scored: exit code %d, no %q: %s", code, says, errOut)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "set-5.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := smallBench(t, m, dir); code != exitFailed || !strings.Contains(errOut, "has changed") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

func TestWrongFlagsOfABenchmarkAreToldAtOnce(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, exitUsage, []string{"--model"}},
		{[]string{"--model", "m", "--agents", "3,3", "--instances", "0", "--concurrency", "0", "--temperature", "NaN", "--max-tokens", "1"}, exitUsage, []string{"--agents", "--instances", "--concurrency", "--temperature", "--max-tokens"}},
		{[]string{"--model", "m"}, exitUsage, []string{"OPENAI_BASE_URL"}},
		{[]string{"--model", "m", "--endpoint", "ftp://user:secretword@x"}, exitUsage, []string{"no URL"}},
		{[]string{"--out", dir, "--score-only"}, exitNotFound, []string{"holds no benchmark"}},
		{[]string{"--out", dir, "--score-only", "--endpoint", "http://x"}, exitUsage, []string{"leave out --endpoint"}},
		{[]string{"--out", dir, "--endpoint", "http://127.0.0.1:1"}, exitUsage, []string{"start one with --model"}},
		{[]string{"--out", dir, "--endpoint", "http://127.0.0.1:1", "--model", "m", "--agents", "9"}, exitUsage, []string{"no benchmark with 9 agents"}},
		{[]string{"--out", dir, "--endpoint", "http://127.0.0.1:1", "--model", "m", "--import", filepath.Join(dir, "none")}, exitUsage, []string{"none"}},
		{[]string{"--out", dir, "--endpoint", "http://127.0.0.1:1", "--model", "m", "--environment", "sea"}, exitUsage, []string{"sea"}},
	} {
		_, errOut, code := cli(t, append([]string{"benchmark"}, c.args...)...)
		for _, want := range c.says {
			if code != c.code || !strings.Contains(errOut, want) || strings.Contains(errOut, "secretword") {
				t.Errorf("%v: exit code %d, want %d and %q: %s", c.args, code, c.code, want, errOut)
			}
		}
	}
}
