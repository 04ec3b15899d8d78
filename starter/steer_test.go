package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/connect"
	"floe/internal/devtest/binaries"
	"floe/internal/stack"
	"floe/workflows"
)

// look asks how an experiment stands.
func (m *machine) look(name string) shown {
	m.t.Helper()
	out, _, code := m.starter("show", name, "-o", "json")
	var s shown
	if code != exitOK {
		return s
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		m.t.Fatal(err)
	}
	return s
}

// reaches waits for a state.
func (m *machine) reaches(name, state string) shown {
	m.t.Helper()
	var s shown
	m.until(name+" to be "+state, func() bool { s = m.look(name); return s.State == state })
	return s
}

// attempts lists the attempts of an experiment's steps.
func (m *machine) attempts(name string) []activities.Attempt {
	m.t.Helper()
	var all []activities.Attempt
	if err := json.Unmarshal([]byte(m.must("show", name, "--attempts", "-o", "json")), &all); err != nil {
		m.t.Fatal(err)
	}
	return all
}

// dial connects to the machine's Temporal.
func (m *machine) dial() client.Client {
	m.t.Helper()
	to, err := connect.Resolve(connect.Flags{Data: m.data})
	if err != nil {
		m.t.Fatal(err)
	}
	c, err := to.Dial(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// says runs the command line and wants an exit code and words.
func (m *machine) says(code int, words string, args ...string) {
	m.t.Helper()
	out, errOut, got := m.starter(args...)
	if got != code || !strings.Contains(out+errOut, words) {
		m.t.Errorf("starter %s: exit code %d; want %d and %q\n%s%s", strings.Join(args, " "), got, code, words, out, errOut)
	}
}

// chat is an endpoint that answers as it is told to.
func chat(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func refuses(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
}

func designedBy(url string) []string {
	return []string{"--set", "designer.kind=openai", "--set", "designer.model=any", "--set", "designer.endpoint=" + url}
}

func TestAFailureWaitsForADecision(t *testing.T) {
	t.Parallel()
	m := boot(t, "OPENAI_API_KEY=sk-wrong")
	spec := specFile(t, small)
	_, errOut, code := m.starter(append([]string{"run", spec}, designedBy(chat(t, refuses))...)...)
	if code != exitFailed || !strings.Contains(errOut, "small needs attention: round 0, design, attempt 1 of 5: ") || !strings.Contains(errOut, "OPENAI_API_KEY") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	out := m.must("show", "small")
	if first, _, _ := strings.Cut(out, "\n"); !strings.HasPrefix(first, "small needs attention: round 0, design, ") || !strings.Contains(first, "starter retry small") || !strings.Contains(first, "starter skip small") {
		t.Errorf("show begins %q", first)
	}
	if out := m.must("list", "-o", "jsonl", "--state", workflows.StateAttention); strings.Count(out, "\n") != 1 || !strings.Contains(out, `"small"`) {
		t.Errorf("list: %s", out)
	}
	m.says(exitFailed, "not paused", "resume", "small")
	m.says(exitFailed, "seed cannot change", "retry", "small", "--set", "seed=6")
	m.says(exitUsage, "changes nothing", "retry", "small", "--set", "seed=5")
	m.says(exitFailed, "want one of generate", "retry", "small", "--from", "sleep")

	m.must("skip", "small", "--reason", "no key today")
	m.until("the second design to fail", func() bool {
		s := m.look("small")
		return s.Status != nil && s.Status.Failure != nil && s.Status.Failure.Round == 1
	})
	m.must("retry", "small", "--set", "designer.kind=learnability", "--reason", "a rule will do")
	m.reaches("small", workflows.StateDone)
	m.says(exitFailed, "nothing to retry", "retry", "small")
	s := m.look("small")
	if len(s.Events) != 4 || s.Events[1].Reason != "no key today" || len(s.Events[3].Set) == 0 || s.Events[3].Set[0] != "designer.kind: openai -> learnability" {
		t.Errorf("events %+v", s.Events)
	}
	if got := s.Results.Rounds[0].Transcript; got.Outcome != activities.OutcomeSkipped || got.Rationale != "left out: no key today" {
		t.Errorf("round 0's design: %s, %q", got.Outcome, got.Rationale)
	}
	failed := 0
	for _, at := range m.attempts("small") {
		if at.Outcome == activities.OutcomeFailed {
			failed++
			if at.Step != "design" || at.Kind != activities.KindModel || !strings.Contains(at.Error, "401") || at.Worker == "" || !strings.HasSuffix(at.Started, "Z") {
				t.Errorf("failed attempt %+v", at)
			}
		}
	}
	if failed != 2 {
		t.Errorf("%d failed attempts are shown; want 2", failed)
	}
	if *record {
		m.record("exp-small", "experiment-attention.json")
		m.record("exp-small-round-1", "round-retried.json")
	}
}

func TestARetryBringsBackWhatHasEnded(t *testing.T) {
	t.Parallel()
	m := boot(t, "OPENAI_API_KEY=sk-wrong")
	c := m.dial()
	spec := specFile(t, small)
	m.starter(append([]string{"run", spec}, designedBy(chat(t, refuses))...)...)
	if out := m.must("abort", "small", "--reason", "not today"); !strings.HasPrefix(out, "small: failed") {
		t.Errorf("abort answers %q; want the new state", out)
	}
	m.must("abort", "small")
	s := m.reaches("small", workflows.StateFailed)
	if !strings.Contains(s.Failure, "not today") || !strings.Contains(s.Failure, "401") {
		t.Errorf("failure %q; want the reason and the cause", s.Failure)
	}
	m.says(exitFailed, "is not running: failed", "pause", "small")
	m.must("retry", "small", "--set", "designer.kind=fixed", "--set", "trainer.rollouts=8", "--set", "epochs=30")
	m.until("training", func() bool { p := m.progress("small"); return p.Step == "train" && p.Round == 1 })
	generated := func() (n int) {
		for _, at := range m.attempts("small") {
			if at.Round == 0 && at.Step == "train" {
				n++
			}
		}
		return n
	}
	before := generated()

	// Terminated and started again at once: the old round is still there.
	if err := c.TerminateWorkflow(t.Context(), "exp-small", "", "a test"); err != nil {
		t.Fatal(err)
	}
	m.must("retry", "small", "--reason", "that was a mistake")
	m.until("training in a round of the new run", func() bool {
		d, err := c.DescribeWorkflow(t.Context(), "exp-small-round-1", "")
		return err == nil && d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && m.progress("small").Done > 0
	})
	if after := generated(); after > before+1 {
		t.Errorf("round 0 was trained in %d attempts before and %d after", before, after)
	}
	m.must("cancel", "small")
}

func TestPauseResumeAndStop(t *testing.T) {
	t.Parallel()
	m := boot(t)
	spec := specFile(t, strings.Replace(small, "epochs: 2", "epochs: 20", 1))
	m.must("run", spec, "--detach")
	m.until("training", func() bool { return m.progress("small").Step == "train" })
	m.says(exitOK, "pauses after this step (lunch)", "pause", "small", "--reason", "lunch")
	m.reaches("small", workflows.StatePaused)
	for _, at := range m.attempts("small") {
		if at.Round == 0 && at.Step != "generate" && at.Step != "train" || at.Outcome != activities.OutcomeDone {
			t.Errorf("paused, and there is %s of round %d: %s", at.Step, at.Round, at.Outcome)
		}
	}
	m.says(exitOK, "small: paused", "pause", "small")
	if out := m.must("resume", "small"); !strings.HasPrefix(out, "small: running; ") {
		t.Errorf("resume answers %q; want the new state", out)
	}
	m.must("resume", "small")
	m.until("round 1's training", func() bool { p := m.progress("small"); return p.Round == 1 && p.Step == "train" })
	m.must("pause", "small")
	m.reaches("small", workflows.StatePaused)
	if out := m.must("stop", "small", "--reason", "enough for today"); strings.HasPrefix(out, "small: paused") || !strings.Contains(out, "stop") {
		t.Errorf("stop answers %q; want the new state", out)
	}
	m.must("stop", "small")
	m.must("watch", "small")
	m.must("stop", "small")
	s := m.reaches("small", workflows.StateStopped)
	if len(s.Results.Rounds) != 2 || len(s.Results.Benchmarks) != 0 || s.Results.State != workflows.StateStopped {
		t.Errorf("stopped after %d rounds and %d benchmarks, the report says %q; want the round to be finished and nothing more",
			len(s.Results.Rounds), len(s.Results.Benchmarks), s.Results.State)
	}
	if *record {
		m.record("exp-small", "experiment-stopped.json")
		m.record("exp-small-round-1", "round-paused.json")
	}
	m.says(exitOK, "ended early (stopped)", "run", spec)
	if s := m.look("small"); s.State != workflows.StateDone || len(s.Results.Benchmarks) != 1 {
		t.Errorf("run again: %s with %d benchmarks", s.State, len(s.Results.Benchmarks))
	}
}

// TestCancelInEveryPhase cancels in each phase of an experiment. Afterwards the
// worker has nothing left to do: it takes up the next experiment.
func TestCancelInEveryPhase(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	hangs := make(chan struct{})
	defer close(hangs)
	silent := chat(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
		case <-hangs:
		}
	})
	busy := chat(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3000")
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
	})
	m := boot(t, "OPENAI_API_KEY=sk-test")
	step := func(step string) func(shown) bool {
		return func(s shown) bool {
			return s.Status != nil && s.Status.Progress.Step == step && s.Status.Progress.Done > 0
		}
	}
	for _, c := range []struct {
		phase   string
		args    []string
		reached func(shown) bool
	}{
		{"generating", []string{"--set", "samples=500000"}, step("generate")},
		{"training", []string{"--set", "epochs=100"}, step("train")},
		{"scoring", []string{"--set", "validation.instances=10000", "--set", "validation.sizes=[7x7, 8x8, 9x9, 10x10]"}, func(s shown) bool {
			return m.running(s.Name) == "validate" // it is over before progress is told
		}},
		{"a model call", designedBy(silent), func(s shown) bool { return s.Status != nil && s.Status.Progress.Step == "design" }},
		{"a retry's back-off", designedBy(busy), func(s shown) bool { return m.pending(s.Name) == outcomeWaiting }},
		{"a wait for a decision", designedBy(chat(t, refuses)), func(s shown) bool { return s.State == workflows.StateAttention }},
	} {
		t.Run(c.phase, func(t *testing.T) {
			m := *m
			m.t = t
			name := strings.Trim(strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' {
					return r
				}
				return '-'
			}, c.phase), "-")
			m.must(append([]string{"run", specFile(t, small), "--detach", "--name", name}, c.args...)...)
			m.until(c.phase, func() bool { return c.reached(m.look(name)) })
			m.must("cancel", name, "--reason", "a test of cancelling")
			m.gone(name)
		})
	}
	m.must("run", specFile(t, small), "--name", "after")
}

// running is the step of an experiment that a worker is at.
func (m *machine) running(name string) string {
	for _, at := range m.attempts(name) {
		if at.Outcome == outcomeRunning {
			return at.Step
		}
	}
	return ""
}

// pending is the outcome of the attempt that a step of an experiment is at.
func (m *machine) pending(name string) string {
	for _, at := range m.attempts(name) {
		if at.Outcome == outcomeWaiting || at.Outcome == outcomeRunning {
			return at.Outcome
		}
	}
	return ""
}

// gone checks that a cancelled experiment left nothing.
func (m *machine) gone(name string) {
	m.t.Helper()
	s := m.look(name)
	if s.State != workflows.StateCancelled || s.Results != nil && s.Results.State != workflows.StateCancelled {
		m.t.Errorf("state %q after the cancellation", s.State)
	}
	if n := len(s.Events); n == 0 || s.Events[n-1].Verb != workflows.VerbCancel || s.Events[n-1].Reason != "a test of cancelling" {
		m.t.Errorf("events %+v; want the reason of the cancellation", s.Events)
	}
	c := m.dial()
	for _, id := range []string{"exp-" + name, "exp-" + name + "-round-0"} {
		d, err := c.DescribeWorkflow(m.t.Context(), id, "")
		if err != nil {
			continue // no round was begun
		}
		if d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || len(d.RawResponse.PendingActivities) > 0 {
			m.t.Errorf("%s is %v with %d activities", id, d.Status, len(d.RawResponse.PendingActivities))
		}
	}
	if at := m.pending(name); at != "" {
		m.t.Errorf("an attempt is %s", at)
	}
}

// TestCancelWhileNobodyWorks cancels an experiment that no worker has taken up.
func TestCancelWhileNobodyWorks(t *testing.T) {
	t.Parallel()
	m := boot(t, impatient...)
	worker := m.child("worker")
	if err := syscall.Kill(worker, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	m.must("run", specFile(t, small), "--detach")
	m.says(exitOK, "cancelling small", "cancel", "small", "--detach", "--reason", "a test of cancelling")
	if s := m.look("small"); s.State != workflows.StateCancelling {
		t.Errorf("state %q; want cancelling", s.State)
	}
	if err := syscall.Kill(worker, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	m.reaches("small", workflows.StateCancelled)
	for _, at := range m.attempts("small") {
		if at.Step != "publish" && at.Outcome == activities.OutcomeDone {
			t.Errorf("%s was done nevertheless", at.Step)
		}
	}
}

// TestCancelDuringAnUpload holds up the upload of a trained policy.
func TestCancelDuringAnUpload(t *testing.T) {
	t.Parallel()
	m := boot(t)
	info, err := stack.Read(m.data)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := url.Parse(info.S3)
	if err != nil {
		t.Fatal(err)
	}
	var held atomic.Int32
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(origin)
		r.Out.Host = r.In.Host // it is part of the signature
	}}
	door := chat(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, activities.FilePolicy) {
			// All of the body is taken in, and no answer comes.
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				held.Add(1)
				<-r.Context().Done()
			}
			return
		}
		proxy.ServeHTTP(w, r)
	})
	if err := syscall.Kill(m.child("worker"), syscall.SIGSTOP); err != nil { // the other worker is to do the work
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(m.child("worker"), syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := exec.CommandContext(ctx, program(t, binaries.Worker), "--data", m.data, "--s3-endpoint", door, "--bucket", info.Bucket)
	w.Env = append(os.Environ(), "AWS_SHARED_CREDENTIALS_FILE="+info.Credentials, "AWS_REGION="+info.Region)
	w.Stderr = m.log
	w.Cancel = func() error { return w.Process.Signal(os.Interrupt) }
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	m.must("run", specFile(t, small), "--detach")
	m.until("an upload", func() bool { return held.Load() > 0 })
	m.must("cancel", "small", "--reason", "a test of cancelling")
	m.gone("small")
	stop()
	var exit *exec.ExitError
	if err := w.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTagsNotesAndFilters(t *testing.T) {
	t.Parallel()
	m := boot(t)
	spec := specFile(t, small)
	m.must("run", spec)
	m.must("run", spec, "--name", "other", "--set", "designer.context=V3")
	m.must("tag", "small", "paper", "figure=3")
	m.must("tag", "small", "figure=3", "--remove")
	if out := m.must("note", "small", "the GPU was shared \x1b[2J"); out != "noted with small\n" {
		t.Errorf("note answers %q", out)
	}
	m.says(exitUsage, "want letters", "tag", "small", "no spaces")
	m.says(exitNotFound, "nobody", "note", "nobody", "text")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tag", "paper"}, "small"},
		{[]string{"--tag", "figure=3"}, ""},
		{[]string{"--variant", "V3"}, "other"},
		{[]string{"--name", "o*r"}, "other"},
		{[]string{"--since", "1h", "--name", "s*"}, "small"},
		{[]string{"--since", "2099-01-01"}, ""},
		{[]string{"--state", "done", "--variant", "V6"}, "small"},
	} {
		var got []string
		var all []listed
		if err := json.Unmarshal([]byte(m.must(append([]string{"list", "-o", "json"}, c.args...)...)), &all); err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			got = append(got, l.Name)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("list %v: %v; want %q", c.args, got, c.want)
		}
	}
	s := m.look("small")
	if strings.Join(s.Tags, ",") != "paper" || len(s.Notes) != 1 || s.Notes[0].Text != "the GPU was shared \x1b[2J" || !strings.HasSuffix(s.Notes[0].At, "Z") {
		t.Errorf("tags %v, notes %+v", s.Tags, s.Notes)
	}
	file := filepath.Join(t.TempDir(), "r.html")
	m.must("report", "small", "-O", file)
	if body, err := os.ReadFile(file); err != nil || !strings.Contains(string(body), "the GPU was shared") {
		t.Errorf("the report of %d bytes has no note: %v", len(body), err)
	}
	if out := m.must("report", "small", "-O", "-"); !strings.Contains(out, "the GPU was shared") || !strings.Contains(out, "</html>") {
		t.Errorf("the report on stdout has %d bytes", len(out))
	}
	m.says(exitNotFound, "experiment nope not found", "report", "nope")
	m.says(exitUsage, `--step is "nope"; want one of small's steps: prepare`, "logs", "small", "--step", "nope")
	if n := strings.Count(m.must("artifacts", "ls", "small", "-o", "jsonl"), `"sha256"`); n < 10 {
		t.Errorf("%d artifacts are listed", n)
	}
	shows := m.must("show", "small", "-o", "json")
	if !strings.HasPrefix(shows, "{\n  \"schema\": \"floe.show/v1\"") || !strings.Contains(shows, `"events": []`) || !strings.Contains(shows, `"valid_rate": `) {
		t.Errorf("show -o json: %.2000s", shows)
	}
	var all []listed
	if err := json.Unmarshal([]byte(m.must("list", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Seed == nil || *l.Seed != 5 || l.N == nil || *l.N != 60 || l.OptimalRate == nil || *l.OptimalRate > *l.ValidRate {
			t.Errorf("listed %+v; want seed, optimal rate and n", l)
		}
	}
	var lines []logLine
	for line := range strings.Lines(m.must("logs", "small", "--round", "1", "--step", "train", "-o", "jsonl")) {
		var l logLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if n := len(lines); n < 2 || lines[0].Round != 1 || lines[0].Step != "train" || lines[n-1].Text != activities.OutcomeDone || lines[0].Worker == "" {
		t.Errorf("log %+v", lines)
	}
	if out := m.must("logs", "small", "--follow"); !strings.Contains(out, "benchmark-3 base") {
		t.Errorf("the log of an ended experiment, followed: %s", out)
	}
}
