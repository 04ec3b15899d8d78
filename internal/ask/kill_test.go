package ask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact/artifacttest"
	"floe/internal/ask"
	"floe/internal/endpoint"
)

// TestMain makes the test program something that asks, where it is called as it.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "ask" {
		os.Exit(askAsProgram(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(m.Run())
}

func askAsProgram(url, journal, model string) int {
	e, err := endpoint.New(url, "")
	if err != nil {
		return 1
	}
	p := plan()
	p.Request.Model = model
	j, err := ask.OpenFile(journal)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	if _, _, err := ask.Run(context.Background(), e, p, questions(200), j, ask.Watch{}); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

func TestAfterAKillNothingThatWasAnsweredAndKeptIsAskedAgain(t *testing.T) {
	m, path := newModel(t), filepath.Join(t.TempDir(), "answers.jsonl")
	for round := range 4 {
		reached := make(chan struct{})
		m.first(func(n int, _ string, _ http.ResponseWriter, _ *http.Request) bool {
			if n == 30*(round+1) {
				close(reached)
			}
			return false
		})
		cmd := exec.Command(os.Args[0], "ask", m.URL+"/v1", path, "killed")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-reached:
		case <-time.After(time.Minute):
			t.Errorf("no call %d: %s", 30*(round+1), &out)
		}
		_ = cmd.Process.Kill() // SIGKILL
		_ = cmd.Wait()
	}
	kept := map[string]bool{}
	if err := ask.ReadFile(t.Context(), path, func(a ask.Answer) error { kept[a.ID] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(kept) < 50 || len(kept) > 200 {
		t.Fatalf("%d answers are kept after four kills", len(kept))
	}
	m.first(nil)
	if out, err := exec.Command(os.Args[0], "ask", m.URL+"/v1", path, "last").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != 200-len(kept) {
		t.Errorf("%d are asked after the kills; want %d", m.last, 200-len(kept))
	}
	// What was under way when it was killed may have been answered, and not be kept.
	twice := 0
	for _, item := range questions(200) {
		if m.prompts[item.Prompt] > 1 {
			twice++
		}
	}
	if most := 4 * plan().Concurrency; twice > most {
		t.Errorf("%d items were answered twice; want at most those under way at a kill, %d", twice, most)
	}
}

func TestATornLineIsNoAnswerAndABadOneIsNamed(t *testing.T) {
	m, items, path := newModel(t), questions(4), filepath.Join(t.TempDir(), "answers.jsonl")
	open := func() *ask.File {
		j, err := ask.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := open()
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items[:3], j, ask.Watch{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ask.OpenFile(path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	_ = j.Close()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body[:len(body)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	j = open()
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err != nil || m.calls() != 5 {
		t.Errorf("%v after %d calls; want the torn answer and the open one asked, 5 in all", err, m.calls())
	}
	_ = j.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(whole), "\n")
	for bad, says := range map[string]string{
		"nonsense\n":                            ":1: ",
		first + "\n" + first + "\n":             ":2: ",
		first + "\n{\"id\":\"x\",\"more\":1}\n": ":2: ",
		"{\"answer\":\"x\"}\n":                  "without an ID",
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		j := open()
		if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("no %q in %v", says, err)
		}
		_ = j.Close()
	}
}

func TestAStoreThatFailsEndsAskingAndWhatIsKeptStays(t *testing.T) {
	m, items, store := newModel(t), questions(40), artifacttest.NewMemory()
	away := errors.New("the store is away")
	store.BeforePut = artifacttest.Nth(5, away)
	j := ask.InStore(store, "answers")
	p := plan()
	p.Concurrency = 1
	if _, tally, err := ask.Run(t.Context(), m.endpoint(t), p, items, j, ask.Watch{}); !errors.Is(err, away) || tally.Answered != 4 {
		t.Fatalf("%v, %+v", err, tally)
	}
	answers, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{})
	if err != nil || len(answers) != 40 || m.calls() != 41 {
		t.Errorf("%v, %d answers, %d calls; want 41, one answer having been lost", err, len(answers), m.calls())
	}
	if err := j.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := store.List(t.Context(), ""); err != nil || len(left) > 0 {
		t.Errorf("%v, %d objects are left", err, len(left))
	}
}

func TestADamagedSegmentIsNamed(t *testing.T) {
	m, items, store := newModel(t), questions(2), artifacttest.NewMemory()
	j := ask.InStore(store, "answers")
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err != nil {
		t.Fatal(err)
	}
	store.OnGet = func(_ string, content []byte) ([]byte, error) {
		bad := bytes.Clone(content)
		bad[len(bad)/2] ^= 1
		return bad, nil
	}
	if _, _, err := ask.Run(t.Context(), m.endpoint(t), plan(), items, j, ask.Watch{}); err == nil || !strings.Contains(err.Error(), "segment ") {
		t.Errorf("%v", err)
	}
}

func FuzzReadFile(f *testing.F) {
	line, err := json.Marshal(ask.Answer{ID: "a", Answer: "x", FinishReason: "stop", Seed: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, '\n'))
	f.Add([]byte("{\"id\":\"a\"}\n{\"id\":\"a\"}\n"))
	f.Add([]byte("{\"id\":\"b\"} {}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "answers.jsonl")
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		seen, lines := map[string]bool{}, 0
		err := ask.ReadFile(t.Context(), path, func(a ask.Answer) error {
			if a.ID == "" || seen[a.ID] {
				t.Errorf("%q again, or no ID", a.ID)
			}
			seen[a.ID] = true
			lines++
			return nil
		})
		if whole := bytes.Count(body, []byte("\n")); err == nil && lines != whole || lines > whole {
			t.Errorf("%d answers in %d whole lines, %v", lines, whole, err)
		}
	})
}
