package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"floe/internal/designer/replay"
	"floe/internal/experiment"
)

// parrot is a scripted endpoint that repeats the key it is given wherever it can:
// first in an error, then in every reply and its reasoning. It proposes two
// curricula in turn, by the seed of the request.
type parrot struct {
	*httptest.Server
	mu     sync.Mutex
	keys   map[string]bool
	bodies []string
}

func newParrot(t *testing.T) *parrot {
	p := &parrot{keys: map[string]bool{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		p.mu.Lock()
		p.keys[key] = true
		if r.Method == http.MethodGet {
			p.mu.Unlock()
			_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
			return
		}
		p.bodies = append(p.bodies, string(body))
		n := len(p.bodies)
		p.mu.Unlock()
		if n == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "no more for " + key}})
			return
		}
		var asked struct{ Seed int }
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Error(err)
		}
		reply := fmt.Sprintf("rationale: the key is %s\nsizes:\n  3x3: {data_ratio: 0.%d}\n  4x4: {data_ratio: 0.%d}\n  5x5: {data_ratio: 0}\n", key, 3+asked.Seed%2, 7-asked.Seed%2)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"model": "scripted", "usage": map[string]any{"prompt_tokens": 1000, "completion_tokens": 100},
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply, "reasoning": key}}},
		})
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *parrot) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bodies)
}

// TestReplayAsksAgainOnStoredEvidence has a model behind a named endpoint design
// an experiment, asks it and rules again, and looks for the key everywhere.
func TestReplayAsksAgainOnStoredEvidence(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	const key = "canary-2b7e15/28ae+d2"
	p := newParrot(t)
	dir := t.TempDir()
	endpoints := filepath.Join(dir, "endpoints.yaml")
	for file, text := range map[string]string{
		endpoints:                     fmt.Sprintf("lab: {url: %q, key_file: lab.key, model: scripted, prompt_price: 1, reply_price: 10}\n", p.URL+"/v1"),
		filepath.Join(dir, "lab.key"): key + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := boot(t, "FLOE_ENDPOINTS="+endpoints)
	said := m.must("run", specFile(t, small), "--set", "designer.kind=openai", "--set", "designer.endpoint=lab", "--set", "limits.model_cost=1")
	var designed experiment.Transcript
	if err := json.Unmarshal([]byte(m.must("artifacts", "get", "small", "round-0/design/transcript.json", "-O", "-")), &designed); err != nil {
		t.Fatal(err)
	}
	if a := designed.Attempts; len(a) != 2 || a[1].Cost != 0.002 || designed.Model != "scripted" || designed.Rationale != "the key is [redacted]" {
		t.Errorf("transcript %+v", designed)
	}

	args := []string{
		"design", "replay", "small", "--round", "0", "--variant", "V3,V1", "--designer", "openai:lab,learnability,random", "--n", "4",
		"--endpoints", endpoints, "--concurrency", "2",
	}
	out, errOut, code := m.starter(append(args, "-o", "json")...)
	said += out + errOut
	var first replay.Result
	if err := json.Unmarshal([]byte(out), &first); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errOut)
	}
	t.Run("every way is asked and summed up", func(t *testing.T) { summedUp(t, first) })
	t.Run("the same command asks nobody again", func(t *testing.T) {
		asked := p.asked()
		again := m.must(append(args, "-o", "json")...)
		if p.asked() != asked || again != out {
			t.Errorf("asked %d times more, or another result", p.asked()-asked)
		}
	})
	t.Run("a larger n keeps the answers that are there", func(t *testing.T) {
		asked := p.asked()
		m.must("design", "replay", "small", "--round", "0", "--variant", "V3", "--designer", "openai:lab", "--n", "6", "--endpoints", endpoints)
		if p.asked() != asked+2 {
			t.Errorf("asked %d times; want twice", p.asked()-asked)
		}
	})
	t.Run("the table", func(t *testing.T) {
		table := m.must(args...)
		for _, want := range []string{"V3 openai:lab", "4 of 4", "NOISE FLOOR", "data_ratio", "ok 4", "AGREEMENT", "identical"} {
			if !strings.Contains(table, want) {
				t.Errorf("the table has no %q:\n%s", want, table)
			}
		}
	})
	t.Run("the budget holds", func(t *testing.T) {
		for _, budget := range [][]string{{"--max-tokens", "30000"}, {"--max-cost", "0.2"}} {
			asked := p.asked()
			flags := append([]string{"design", "replay", "small", "--round", "1", "--variant", "V2", "--designer", "openai:lab", "--endpoints", endpoints, "--n", "50"}, budget...)
			out, errOut, code := m.starter(flags...)
			said += out + errOut
			if code != exitFailed || !strings.Contains(errOut, "has no room for another answer") || p.asked()-asked > 45 {
				t.Errorf("%v: exit code %d after %d calls, %s", budget, code, p.asked()-asked, errOut)
			}
		}
	})
	t.Run("all that is wrong is told at once", func(t *testing.T) { refusedReplays(t, m) })

	said += m.must("transcript", "show", "small", "--round", "0", "--raw") + m.must("show", "small")
	if strings.Contains(said+m.log.String(), "canary-2b7e15") {
		t.Error("the key was printed")
	}
	if !p.keys[key] || len(p.keys) != 1 {
		t.Errorf("the endpoint was sent other keys too: %d", len(p.keys))
	}
	if n := nowhere(t, m.data, "canary-2b7e15"); n < 50 {
		t.Errorf("only %d files were searched for the key", n)
	}
}

func summedUp(t *testing.T, r replay.Result) {
	if len(r.Cells) != 6 || !r.Complete || r.N != 4 || r.Round != 0 {
		t.Fatalf("result %+v", r)
	}
	for _, c := range r.Cells {
		if c.Usable != 4 || len(c.Settings) != 3*8 {
			t.Errorf("%s: %d usable answers, %d settings", c.Name, c.Usable, len(c.Settings))
		}
		switch spread := c.NoiseFloor > 0; c.Spec.Kind {
		case "learnability":
			if spread || c.Distinct != 1 {
				t.Errorf("%s: noise floor %v of a rule without chance", c.Name, c.NoiseFloor)
			}
		case "random":
			if !spread || c.Distinct != 4 {
				t.Errorf("%s: noise floor %v, %d proposals", c.Name, c.NoiseFloor, c.Distinct)
			}
		case "openai":
			if c.Tokens != 4*1100 || c.Cost < 0.0079 || c.Cost > 0.0081 || c.Draws[0].Server != "scripted" {
				t.Errorf("%s: %d tokens, cost %v, server %q", c.Name, c.Tokens, c.Cost, c.Draws[0].Server)
			}
		}
	}
	if len(r.Agreement) != 15 {
		t.Errorf("%d pairs are compared; want 15", len(r.Agreement))
	}
}

func refusedReplays(t *testing.T, m *machine) {
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--n", "0", "--concurrency", "0"}, exitUsage, []string{"--n is 0", "--concurrency is 0"}},
		{[]string{"--variant", "V1,V9", "--designer", "replay,trained,human,nobody"}, exitUsage, []string{
			"V1 replay: designer.kind: found replay, which reads the section", "V1 trained: designer.kind: found trained", "V1 human: ", "V9 nobody: ", "V9 replay: designer.context",
		}},
		{[]string{"--designer", "random,random"}, exitUsage, []string{"asked for twice"}},
		{[]string{"--round", "7", "--designer", "fixed"}, exitNotFound, []string{"round 7 of small is not finished; rounds 0 to 1 are"}},
		{[]string{"--designer", "openai:nowhere", "--model", "m"}, exitFailed, []string{`no endpoint is called "nowhere"`}},
		{[]string{"--designer", "openai:http://127.0.0.1:1/v1", "--model", "m", "--max-cost", "1"}, exitUsage, []string{"limits.model_cost: found 1", "has no prices"}},
	} {
		_, errOut, code := m.starter(append([]string{"design", "replay", "small"}, c.args...)...)
		if code != c.code {
			t.Errorf("%v: exit code %d; want %d\n%s", c.args, code, c.code, errOut)
		}
		for _, s := range c.says {
			if !strings.Contains(errOut, s) {
				t.Errorf("%v: stderr has no %q:\n%s", c.args, s, errOut)
			}
		}
	}
}

// nowhere looks for a text in all files of a folder: objects, databases, logs.
func nowhere(t *testing.T, dir, text string) (files int) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		body, err := os.ReadFile(path)
		if bytes.Contains(body, []byte(text)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}
