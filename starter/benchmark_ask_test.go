package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/ask"
	"floe/internal/devtest/binaries"
)

// answersOf reads the answers to a set, by task.
func answersOf(t *testing.T, dir, file string) map[string]ask.Answer {
	t.Helper()
	answers := map[string]ask.Answer{}
	err := ask.ReadFile(t.Context(), filepath.Join(dir, file), func(a ask.Answer) error {
		answers[a.ID] = a
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

func TestEveryTaskIsAskedWithASeedOfItsOwn(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	if _, errOut, code := smallBench(t, m, dir); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	sent := map[string]float64{}
	for _, body := range m.bodies {
		sent[fmt.Sprint(body["messages"])] = body["seed"].(float64)
	}
	answers, seeds := answersOf(t, dir, "answers-5.jsonl"), map[int]bool{}
	for _, item := range tasksOf(t, dir, "set-5.jsonl") {
		seed := answers[item.ID].Seed
		seeds[seed] = true
		if got := sent[fmt.Sprint([]any{map[string]any{"role": "user", "content": item.Prompt}})]; seed == 0 || got != float64(seed) {
			t.Errorf("%s is kept with the seed %d and was asked with %v", item.ID, seed, got)
		}
	}
	if len(seeds) != smallTasks {
		t.Errorf("%d seeds; want %d", len(seeds), smallTasks)
	}
}

// TestAfterAKillNothingThatWasAnsweredIsAskedAgain kills the program when as many
// calls wait for their answers as it may make at one time.
func TestAfterAKillNothingThatWasAnsweredIsAskedAgain(t *testing.T) {
	const answered, atOnce = 7, 4
	dir, m, full := t.TempDir(), newModel(t), make(chan struct{})
	withSet(t, dir)
	m.first(func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n <= answered {
			return false
		}
		if n == answered+atOnce {
			close(full)
		}
		<-r.Context().Done()
		return true
	})
	starter := exec.Command(program(t, binaries.Starter), benchArgs(m, dir)...)
	starter.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	var out bytes.Buffer
	starter.Stdout, starter.Stderr = &out, &out
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-full:
	case <-time.After(time.Minute):
		t.Errorf("%d calls: %s", m.requests(), &out)
	}
	_ = starter.Process.Kill() // SIGKILL
	_ = starter.Wait()
	if n := m.requests(); n != answered+atOnce {
		t.Errorf("%d calls before the kill; want %d", n, answered+atOnce)
	}
	m.first(nil)
	_, errOut, code := smallBench(t, m, dir)
	if want := fmt.Sprintf("resuming in %s: %d of %d", dir, answered, smallTasks); code != exitOK || !strings.Contains(errOut, want) {
		t.Errorf("exit code %d, no %q: %s", code, want, errOut)
	}
	m.askedOnce(t, smallTasks)
}

// TestAFolderOfAnEarlierVersionGoesOn has answers as they were kept before: without
// seeds, and with every field written out.
func TestAFolderOfAnEarlierVersionGoesOn(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir)
	var kept strings.Builder
	for _, item := range tasksOf(t, dir, "set-5.jsonl")[:5] {
		fmt.Fprintf(&kept, `{"id":%q,"answer":"","finish_reason":"length","prompt_tokens":1000,"completion_tokens":0,"latency_ms":0}`+"\n", item.ID)
	}
	if err := os.WriteFile(filepath.Join(dir, "answers-5.jsonl"), []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := smallBench(t, m, dir, "--max-cost-tokens", "5000"); code != exitFailed || m.requests() > 0 {
		t.Errorf("exit code %d, %d requests within a budget that is used up: %s", code, m.requests(), errOut)
	}
	out, errOut, code := smallBench(t, m, dir, "-o", "json")
	if r := parsed(t, out); code != exitOK || !r.Complete || r.Tally.Truncated != 5 || r.Tally.OK != smallTasks-5 || r.Tally.SpentTokens != 5*1000+13*350 {
		t.Errorf("exit code %d, %+v: %s", code, r.Tally, errOut)
	}
	m.askedOnce(t, smallTasks-5)
}

func TestOneBudgetIsOverAllSetsAndEachKeepsItsOwnAnswers(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	args := []string{"benchmark", "--endpoint", m.URL, "--model", "m", "--out", dir, "--agents", "4,3", "--instances", "1", "--max-tokens", "100", "-o", "json"}
	out, errOut, code := cli(t, append(args, "--max-cost-tokens", "3500")...)
	r := parsed(t, out)
	if code != exitFailed || r.Complete || r.Tally.Answered == 0 || r.Tally.SpentTokens > 3500 || r.Tally.Answered != r.Sets[0].Answered+r.Sets[1].Answered {
		t.Errorf("exit code %d, %+v: %s", code, r.Tally, errOut)
	}
	out, errOut, code = cli(t, args...)
	if r = parsed(t, out); code != exitOK || !r.Complete || len(r.Sets) != 2 || r.Sets[0].Agents != 3 {
		t.Errorf("exit code %d, complete %v: %s", code, r.Complete, errOut)
	}
	tasks := 0
	for _, set := range r.Sets {
		answers := answersOf(t, dir, fmt.Sprintf("answers-%d.jsonl", set.Agents))
		for _, item := range tasksOf(t, dir, fmt.Sprintf("set-%d.jsonl", set.Agents)) {
			if answers[item.ID].Answer == "" {
				t.Errorf("no answer to %s is kept with its set", item.ID)
			}
			tasks++
		}
	}
	if tasks != r.Total.N || tasks != r.Tally.Answered {
		t.Errorf("%d of %d tasks are scored", r.Total.N, tasks)
	}
	m.askedOnce(t, tasks)
}

func TestAKilledRunGoesOnAndAsksNothingTwice(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	m.first(func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n < 8 {
			return false
		}
		kill()
		<-r.Context().Done()
		return true
	})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	withSet(t, dir)
	var out, errOut bytes.Buffer
	args := []string{"benchmark", "--endpoint", m.URL, "--model", "tiny/model", "--out", dir, "--agents", "5", "--instances", "3", "--concurrency", "1"} // of two, one could be answered as the other kills
	if code := run(ctx, args, strings.NewReader(""), &out, &errOut); code != exitInterrupted || out.Len() > 0 || !strings.Contains(errOut.String(), "answers are kept in "+dir) {
		t.Errorf("exit code %d, %s: %s", code, &out, &errOut)
	}
	// What a kill in the middle of a write leaves:
	file := filepath.Join(dir, "answers-5.jsonl")
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.Count(body, []byte("\n"))
	lost := body[:bytes.LastIndexByte(body[:len(body)-1], '\n')+1]
	torn := body[:len(body)-20]
	var last ask.Answer
	if err := json.Unmarshal(body[len(lost):], &last); err != nil {
		t.Fatal(err)
	}
	for _, item := range tasksOf(t, dir, "set-5.jsonl") {
		if item.ID == last.ID {
			delete(m.prompts, item.Prompt) // its answer is torn, so it is asked again
		}
	}
	if err := os.WriteFile(file, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	scored, _, code := cli(t, "benchmark", "--out", dir, "--score-only", "-o", "json")
	if r := parsed(t, scored); code != exitOK || r.Complete || r.Sets[0].Answered != whole-1 {
		t.Errorf("exit code %d: %d of %d answers are whole", code, r.Sets[0].Answered, whole-1)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, torn) {
		t.Errorf("scoring touched the answers (%v)", err)
	}
	m.first(nil)
	scored, text, code := smallBench(t, m, dir, "-o", "json")
	if r := parsed(t, scored); code != exitOK || !r.Complete || !strings.Contains(text, fmt.Sprintf("resuming in %s: %d of 18", dir, whole-1)) {
		t.Errorf("exit code %d, complete %v: %s", code, r.Complete, text)
	}
	m.askedOnce(t, smallTasks)
}

func TestTheBudgetStopsAndALargerOneGoesOn(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	out, errOut, code := smallBench(t, m, dir, "--max-cost-tokens", "12000", "-o", "json")
	r := parsed(t, out)
	used := r.Sets[0].SpentTokens
	if code != exitFailed || r.Complete || used == 0 || used > 12000 {
		t.Errorf("exit code %d, complete %v, %d tokens used", code, r.Complete, used)
	}
	for _, want := range []string{"budget of 12000 tokens", "a larger --max-cost-tokens", fmt.Sprintf("%d of 18 answers", r.Sets[0].Answered)} {
		if !strings.Contains(errOut, want) {
			t.Errorf("stderr has no %q: %s", want, errOut)
		}
	}
	asked := m.requests()
	if _, _, code := smallBench(t, m, dir, "--max-cost-tokens", "12000"); code != exitFailed || m.requests() != asked {
		t.Errorf("exit code %d; %d more requests within the same budget", code, m.requests()-asked)
	}
	if _, errOut, code := smallBench(t, m, dir, "--max-cost-tokens", "1000000"); code != exitOK {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	m.askedOnce(t, smallTasks)
}

func TestTroubleIsWaitedOutOrSaid(t *testing.T) {
	status := func(code int, retry, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", retry)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name   string
		first  []func(http.ResponseWriter)
		code   int
		stderr string
	}{
		{"busy, then not", []func(http.ResponseWriter){status(429, "0.01", "slow down"), status(500, "0.01", "oops")}, exitOK, "takes no more requests now"},
		{"away for too long", []func(http.ResponseWriter){status(503, "3600", "later")}, exitUnreachable, "the same command goes on"},
		{"no such model", []func(http.ResponseWriter){status(404, "", "what?")}, exitFailed, "has no model tiny/model"},
		{"a prompt is filtered", []func(http.ResponseWriter){status(400, "", `{"error":{"code":"content_filter","message":"no"}}`)}, exitOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t)
			m.first(func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n <= len(c.first) {
					c.first[n-1](w)
				}
				return n <= len(c.first)
			})
			out, errOut, code := smallBench(t, m, t.TempDir(), "--concurrency", "1", "-o", "json")
			if code != c.code || !strings.Contains(errOut, c.stderr) {
				t.Errorf("exit code %d, want %d, and %q: %s", code, c.code, c.stderr, errOut)
			}
			if code != exitOK {
				return
			}
			r, refused := parsed(t, out), 0
			if c.first[0] != nil && strings.Contains(c.name, "filtered") {
				refused = 1
			}
			if !r.Complete || r.Sets[0].Refused != refused {
				t.Errorf("complete %v, %+v", r.Complete, r.Sets[0].Tally)
			}
		})
	}
}
