package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/command"
	"floe/internal/job/jobtest"
	"floe/internal/outage"
)

// settings drive testdata/batch, a little batch system in shell.
func settings(t *testing.T, root, spool string) command.Settings {
	t.Helper()
	batch, err := filepath.Abs("testdata/batch")
	if err != nil {
		t.Fatal(err)
	}
	with := func(args ...string) []string { return append([]string{batch, spool}, args...) }
	return command.Settings{
		Root:     root,
		Submit:   with("submit", "{name}", "{env...}", "--", "{command...}"),
		Status:   with("status", "{id}"),
		Logs:     with("logs", "{id}"),
		Ask:      with("ask", "{id}"),
		Stop:     with("kill", "{id}"),
		Find:     with("find", "{name}"),
		States:   map[string]job.State{"QUEUED": job.Pending, "RUNNING": job.Running, "DONE": job.Ended, "EVICTED": job.Preempted},
		GoneExit: 44,
	}
}

func open(t *testing.T, s command.Settings) *command.Backend {
	t.Helper()
	b, err := command.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBackend(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	jobtest.Run(t, jobtest.World{
		Open: func(t *testing.T) job.Backend { return open(t, s) },
		Preempt: func(t *testing.T, name string) {
			t.Helper()
			spool := s.Submit[1]
			if err := os.WriteFile(filepath.Join(spool, name, "evicted"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestBackendThatCanOnlyKill(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Ask = nil
	jobtest.Run(t, jobtest.World{Open: func(t *testing.T) job.Backend { return open(t, s) }})
}

// A line for a shell is what ssh wants.
func TestBackendWithAShellsLine(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Submit = []string{s.Submit[0], s.Submit[1], "submit", "{name}", "--", "sh", "-c", "exec env {env} {command}"}
	b := open(t, s)
	r := request(t, `printf %s "$1" > "$FLOE_JOB_DIR/said"`, "sh", "it's $HOME \"quoted\"")
	r.Env = []job.Var{{Name: "ODD", Value: "a 'b' $c"}}
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	end(t, b, r)
	body, err := os.ReadFile(filepath.Join(r.Dir, "said"))
	if err != nil || string(body) != r.Command[4] {
		t.Errorf("the job got %q, %v; want %q", body, err, r.Command[4])
	}
}

func request(t *testing.T, script string, args ...string) job.Request {
	t.Helper()
	dir := t.TempDir()
	return job.Request{
		Job: "command", Attempt: 1, Command: append([]string{"sh", "-c", script}, args...), Spec: filepath.Join(dir, "spec.json"),
		SpecSHA256: job.Digest(nil), Dir: dir, Grace: time.Minute,
	}
}

func end(t *testing.T, b *command.Backend, r job.Request) job.Status {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := b.Status(t.Context(), r.Name())
		if err != nil {
			t.Fatal(err)
		}
		if s.State.Final() {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not ended: %s", s)
		}
	}
}

// crashed leaves what a worker leaves that dies between submitting and noting
// the id.
func crashed(t *testing.T, s command.Settings, r job.Request) {
	t.Helper()
	if _, err := open(t, s).Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.Root, r.Name(), "submitted.json")); err != nil {
		t.Fatal(err)
	}
}

const countAndHold = `echo x >> "$FLOE_JOB_DIR/starts"; while [ ! -e "$FLOE_JOB_DIR/go" ]; do sleep 0.05; done`

func TestAJobWhoseIDWasLostIsFoundByName(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	r := request(t, countAndHold)
	crashed(t, s, r)
	b := open(t, s)
	if st, err := b.Submit(t.Context(), r); err != nil || st.State.Final() {
		t.Fatalf("got %s, %v; want the job that was submitted", st, err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, b, r)
	if body, err := os.ReadFile(filepath.Join(r.Dir, "starts")); err != nil || string(body) != "x\n" {
		t.Errorf("it was started %q, %v; want once", body, err)
	}
}

func TestWithoutAFindCommandALostIDIsNoReasonToGuess(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	r := request(t, "exit 0")
	crashed(t, s, r)
	s.Find = nil
	_, err := open(t, s).Submit(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "submitted.json") {
		t.Errorf("got %v; want to be told what a person must do", err)
	}
}

func TestARefusedSubmissionIsTriedAgain(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Find = nil
	good := s.Submit
	s.Submit = []string{"sh", "-c", "echo quota exceeded >&2; exit 3"}
	r := request(t, "exit 0")
	if _, err := open(t, s).Submit(t.Context(), r); err == nil || !strings.Contains(err.Error(), "quota exceeded") {
		t.Fatalf("got %v; want what the command said", err)
	}
	s.Submit = good
	b := open(t, s)
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if st := end(t, b, r); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("got %s; want it done", st)
	}
}

func TestAJobThatTheSystemForgotIsLost(t *testing.T) {
	spool := t.TempDir()
	s := settings(t, t.TempDir(), spool)
	r := request(t, "exit 0")
	b := open(t, s)
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(spool, r.Name()), filepath.Join(spool, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if st, err := b.Status(t.Context(), r.Name()); err != nil || (st.State != job.Lost && st.State != job.Ended) {
		t.Errorf("got %s, %v; want it lost", st, err)
	}
}

func TestAStateThatNobodyExplainedIsAnError(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Status = []string{"echo", "HIBERNATING"}
	_, err := open(t, s).Submit(t.Context(), request(t, "exit 0"))
	if err == nil || !strings.Contains(err.Error(), "HIBERNATING") {
		t.Errorf("got %v; want the state named", err)
	}
}

func TestAStateIsFoundInJSON(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Submit = []string{"echo", "7"}
	s.Status = []string{"echo", `{{"job": 7, "status": "FAILED", "code": -9, "why": "out of memory"}}`}
	s.StateForm = `"status": "(?P<state>\w+)", "code": (?P<exit>-?\d+), "why": "(?P<reason>[^"]*)"`
	s.States = map[string]job.State{"failed": job.Ended}
	st, err := open(t, s).Submit(t.Context(), request(t, "exit 0"))
	if err != nil || st.State != job.Ended || *st.ExitCode != job.ExitKilled || st.Reason != "out of memory" || st.Where != "job 7" {
		t.Errorf("got %+v, %v; want it killed for its memory", st, err)
	}
}

func TestAnIDThatAnotherJobHasIsNotStopped(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	stopped := filepath.Join(t.TempDir(), "stopped")
	s.Submit, s.Stop, s.Ask = []string{"echo", "7"}, []string{"touch", stopped}, nil
	s.StateForm = `(?P<name>\S+) (?P<state>\S+)`
	s.Status = []string{"echo", "{name}", "RUNNING"}
	r := request(t, "exit 0")
	if st, err := open(t, s).Submit(t.Context(), r); err != nil || st.State != job.Running {
		t.Fatalf("got %s, %v; want it running under its own name", st, err)
	}
	s.Status = []string{"echo", "my-other-project", "RUNNING"}
	b := open(t, s)
	if err := b.Stop(t.Context(), r.Name(), 0); err != nil {
		t.Fatal(err)
	}
	if st, err := b.Status(t.Context(), r.Name()); err != nil || st.State != job.Lost || !strings.Contains(st.Reason, "my-other-project") {
		t.Errorf("got %s, %v; want it lost", st, err)
	}
	if _, err := os.Stat(stopped); err == nil {
		t.Error("the other job was stopped")
	}
}

func TestASystemThatCannotBeAskedIsAnOutage(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Submit, s.Find, s.GoneExit = []string{"echo", "7"}, nil, 44
	for code, want := range map[string]bool{"75": true, "1": false} {
		s.Status = []string{"sh", "-c", "echo no route to the head node >&2; exit " + code}
		r := request(t, "exit 0")
		r.Job += "-" + code
		_, err := open(t, s).Submit(t.Context(), r)
		if _, is := outage.As(err); is != want || err == nil || !strings.Contains(err.Error(), "no route") {
			t.Errorf("exit code %s: %v, an outage: %t; want %t", code, err, is, want)
		}
	}
}

func TestACommandThatDoesNotAnswerIsGivenUp(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Timeout = 200 * time.Millisecond
	s.Submit = []string{"sleep", "1000"}
	_, err := open(t, s).Submit(t.Context(), request(t, "exit 0"))
	if _, away := outage.As(err); !away || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("got %v; want that it gave no answer, which is an outage", err)
	}
}

func TestBadSettingsAreAllNamed(t *testing.T) {
	_, err := command.New(command.Settings{
		Submit: []string{"run", "{naem}", "{command...} x", "{argv...}"}, Logs: []string{"{"},
		StateForm: "(", States: map[string]job.State{"A": "finished"},
	})
	if err == nil {
		t.Fatal("bad settings were taken; want an error")
	}
	for _, want := range []string{"root", "{naem}", "{command...} x", "{argv...}", "logs", "status: no command", "stop: no command", "state_form", `"finished"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in:\n%v", want, err)
		}
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	s := settings(t, t.TempDir(), t.TempDir())
	s.Stop = []string{"no-such-program-anywhere"}
	if err := open(t, s).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("got %v; want the program named", err)
	}
}
