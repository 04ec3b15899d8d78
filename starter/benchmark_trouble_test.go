package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/ask"
	"floe/internal/endpoint"
)

func TestABenchmarkAtADeadAddressEndsBeforeItsSetsAreMade(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	_, errOut, code := cli(t, "benchmark", "--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--out", dir)
	if code != exitUnreachable || time.Since(start) > 20*time.Second || !strings.Contains(errOut, "the model endpoint 127.0.0.1:1 does not answer") || !strings.Contains(errOut, "connection refused") {
		t.Errorf("exit code %d after %s: %s", code, time.Since(start), errOut)
	}
	if sets, _ := filepath.Glob(filepath.Join(dir, "set-*")); len(sets) > 0 {
		t.Errorf("%v were made", sets)
	}
}

func TestAFolderWithOpenTasksReachesItsEndpointFirstAndAFinishedOneNone(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir)
	dead := []string{"benchmark", "--out", dir, "--endpoint", "http://127.0.0.1:1/v1"}
	if _, errOut, code := cli(t, dead...); code != exitUnreachable {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if _, errOut, code := smallBench(t, m, dir); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if _, errOut, code := cli(t, dead...); code != exitOK {
		t.Errorf("with nothing left to ask: exit code %d: %s", code, errOut)
	}
}

func TestOnePromptTooLongIsCountedAndTheBenchmarkGoesOn(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	m.first(func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 1 || n == 9 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 2048 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`)
		}
		return n == 1 || n == 9
	})
	table, errOut, code := smallBench(t, m, dir, "--concurrency", "1")
	if code != exitOK || !strings.Contains(table, "18 of 18 answered: 0 ran into the token limit, 0 refused, 0 empty, 2 not asked, as the prompt is too long for the model") {
		t.Errorf("exit code %d: %s\n%s", code, errOut, table)
	}
	out, _, code := smallBench(t, m, dir, "-o", "json")
	if r := parsed(t, out); code != exitOK || !r.Complete || r.Tally.TooLong != 2 || r.Tally.OK != smallTasks-2 || r.Total.N != smallTasks || m.requests() != smallTasks {
		t.Errorf("exit code %d, %d requests, %+v", code, m.requests(), r.Tally)
	}
}

func TestABenchmarkThatEndsWithTroubleIsGoneOnWithByTheSameCommand(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	m.first(func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 6 {
			http.Error(w, "no", http.StatusForbidden)
		}
		return n == 6
	})
	_, errOut, code := smallBench(t, m, dir, "--concurrency", "1")
	if code != exitFailed || !strings.Contains(errOut, "5 of 18 answers are kept in "+dir+"; the same command goes on") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if _, errOut, code = smallBench(t, m, dir, "--concurrency", "1"); code != exitOK || !strings.Contains(errOut, "5 of 18 tasks answered") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	m.askedOnce(t, smallTasks)
}

func TestRepliesThatAreBrokenOffDoNotCount(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	m.first(func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n%4 == 0 {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"I do"},"finish_reason":"abort"}]}`)
		}
		return n%4 == 0
	})
	out, errOut, code := smallBench(t, m, dir, "-o", "json")
	if r := parsed(t, out); code != exitOK || r.Tally.OK != smallTasks || !strings.Contains(errOut, `broke off its reply (finish_reason "abort")`) {
		t.Errorf("exit code %d, %+v: %s", code, r.Tally, errOut)
	}
	for id, a := range answersOf(t, dir, "answers-5.jsonl") {
		if a.Answer != "I do not know." {
			t.Errorf("%s: %q is kept", id, a.Answer)
		}
	}
}

func TestATemperatureThatIsNotSentIsSaid(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	m.first(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		m.mu.Lock()
		last := m.bodies[len(m.bodies)-1]
		m.mu.Unlock()
		if last["temperature"] == nil {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "Unsupported value: 'temperature' does not support 0", "param": "temperature"}})
		return true
	})
	table, errOut, code := smallBench(t, m, dir, "--concurrency", "1")
	if code != exitOK || !strings.Contains(table, "18 answers were asked without what the endpoint does not take: temperature 0.") || !strings.Contains(errOut, "temperature (it is not sent)") {
		t.Errorf("exit code %d: %s\n%s", code, errOut, table)
	}
}

func TestWaitingForAnEndpointIsShownAgainAndAgain(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out}
	q := &asking{bench: &bench{app: a}, meter: a.meter("asking m")}
	q.answered(3, 9, ask.Tally{})
	q.still("the model endpoint lab", time.Now())
	q.waiting(time.Second, &endpoint.Trouble{Reason: "connection refused"})
	q.still("the model endpoint lab", q.since.Add(90*time.Second))
	q.answered(4, 9, ask.Tally{})
	q.still("the model endpoint lab", time.Now())
	want := fmt.Sprintf("waiting 1s: connection refused\n3 of 9: waiting for the model endpoint lab since %s (1m30s): connection refused\n", q.since.Format("15:04"))
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("said %q; want %q at its end", &out, want)
	}
}

func TestAFolderOfBrokenAnswersIsAskedThemAgain(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir)
	first := tasksOf(t, dir, "set-5.jsonl")[0]
	line := fmt.Sprintf(`{"id":%q,"answer":"half","finish_reason":"abort"}`+"\n", first.ID)
	if err := os.WriteFile(filepath.Join(dir, "answers-5.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := smallBench(t, m, dir, "-o", "json")
	if r := parsed(t, out); code != exitOK || !r.Complete || r.Tally.OK != smallTasks {
		t.Errorf("exit code %d, %+v: %s", code, r.Tally, errOut)
	}
	m.askedOnce(t, smallTasks)
}
