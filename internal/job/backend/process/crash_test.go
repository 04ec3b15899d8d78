package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/process"
)

// submission is what another process, a worker for our purpose, submits.
type submission struct {
	Root    string
	Request job.Request
}

// submitAndWait is a worker: it submits, says so, and watches until it is killed.
func submitAndWait(text string) int {
	var s submission
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	b, err := process.New(process.Settings{Root: s.Root})
	if err == nil {
		_, err = b.Submit(context.Background(), s.Request)
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "submitted")
	select {}
}

const patience = 2 * time.Minute

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// shell is a request that runs a line of shell in a job directory of its own.
func shell(t *testing.T, name, script string) job.Request {
	t.Helper()
	dir := t.TempDir()
	return job.Request{
		Job: name, Attempt: 1, Command: []string{"sh", "-c", script}, Spec: filepath.Join(dir, "spec.json"),
		SpecSHA256: job.Digest([]byte(name)), Dir: dir, Grace: time.Minute,
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func number(t *testing.T, path string) int {
	t.Helper()
	until(t, path, func() bool {
		body, err := os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(body), "\n")
	})
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func alive(pid int) bool {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(body), ") Z ")
}

// killedWorker submits a request from a process of its own and kills that.
func killedWorker(t *testing.T, root string, r job.Request) {
	t.Helper()
	text, err := json.Marshal(submission{root, r})
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(os.Args[0], "submit-and-wait", string(text))
	worker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "submitted\n" {
		t.Fatalf("the worker said %q, %v", line, err)
	}
	// All of its group, as a terminal or a supervisor of services would.
	if err := syscall.Kill(-worker.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
}

func TestAJobSurvivesTheKillOfItsWorker(t *testing.T) {
	root := t.TempDir()
	r := shell(t, "survivor", `echo $$ > "$FLOE_JOB_DIR/pid"; while [ ! -e "$FLOE_JOB_DIR/go" ]; do sleep 0.05; done; exit 42`)
	killedWorker(t, root, r)
	pid := number(t, filepath.Join(r.Dir, "pid"))
	b := open(t, root)
	if s, err := b.Status(t.Context(), r.Name()); err != nil || s.State != job.Running || !alive(pid) {
		t.Fatalf("after the kill of its worker: %s, %v; want it running", s, err)
	}
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Running {
		t.Fatalf("the next worker got %s, %v; want the running job", s, err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := end(t, b, r)
	if s.ExitCode == nil || *s.ExitCode != 42 {
		t.Errorf("got %s; want exit code 42, which no worker waited for", s)
	}
}

func end(t *testing.T, b *process.Backend, r job.Request) job.Status {
	t.Helper()
	var s job.Status
	until(t, "the end of "+r.Name(), func() bool {
		var err error
		if s, err = b.Status(t.Context(), r.Name()); err != nil {
			t.Fatal(err)
		}
		return s.State.Final()
	})
	return s
}

func TestAJobWhoseWorkerWasKilledCanBeStopped(t *testing.T) {
	root := t.TempDir()
	r := shell(t, "stopped", `trap 'exit 75' TERM; echo $$ > "$FLOE_JOB_DIR/pid"; while :; do sleep 0.05; done`)
	killedWorker(t, root, r)
	pid := number(t, filepath.Join(r.Dir, "pid"))
	b := open(t, root)
	if err := b.Stop(t.Context(), r.Name(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != job.ExitStopped || alive(pid) {
		t.Errorf("got %s; want exit code 75 and no process", s)
	}
}

// A worker can die between claiming a name and starting the supervisor.
func TestAClaimThatNeverStartedIsStartedByTheNext(t *testing.T) {
	for _, stop := range []bool{false, true} {
		root := t.TempDir()
		r := shell(t, "claimed", `echo x >> "$FLOE_JOB_DIR/starts"`)
		broken, err := process.New(process.Settings{Root: root, Supervisor: []string{"false"}})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := broken.Submit(t.Context(), r); err == nil {
			t.Fatalf("a supervisor that fails gave %s; want an error", s)
		}
		b := open(t, root)
		if s, err := b.Status(t.Context(), r.Name()); err != nil || s.State != job.Pending {
			t.Fatalf("before its start it is %s, %v; want it pending", s, err)
		}
		if stop {
			if err := b.Stop(t.Context(), r.Name(), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		end(t, b, r)
		if started := exists(filepath.Join(r.Dir, "starts")); started == stop {
			t.Errorf("stopped before its start: %t; it ran: %t", stop, started)
		}
	}
}

func TestTheEndOfTheSupervisorIsTheEndOfTheJob(t *testing.T) {
	root := t.TempDir()
	r := shell(t, "orphan", `echo $$ > "$FLOE_JOB_DIR/pid"; exec sleep 100000`)
	b := open(t, root)
	s, err := b.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	pid := number(t, filepath.Join(r.Dir, "pid"))
	var supervisor int
	if _, err := fmt.Sscanf(s.Where, "process %d", &supervisor); err != nil {
		t.Fatalf("%q names no process", s.Where)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.State != job.Lost || s.ExitCode != nil {
		t.Errorf("got %s; want it lost", s)
	}
	until(t, "the end of the program", func() bool { return !alive(pid) })
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Lost {
		t.Errorf("submitted again it is %s, %v; want the lost one, never a second start", s, err)
	}
}

func TestWhatTheProgramLeavesBehindIsKilled(t *testing.T) {
	r := shell(t, "untidy", `setsid sleep 100000 & echo $! > "$FLOE_JOB_DIR/child"; (setsid sh -c 'echo $$ > "$FLOE_JOB_DIR/grandchild"; exec sleep 100000' &) ; while [ ! -s "$FLOE_JOB_DIR/grandchild" ]; do sleep 0.02; done; exit 3`)
	b := open(t, t.TempDir())
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != 3 {
		t.Errorf("got %s; want exit code 3", s)
	}
	for _, name := range []string{"child", "grandchild"} {
		if pid := number(t, filepath.Join(r.Dir, name)); alive(pid) {
			t.Errorf("the %s, process %d, lives after the job has ended", name, pid)
		}
	}
}

func TestAnAttemptIsStoppedWhenItsTimeIsUp(t *testing.T) {
	r := shell(t, "long", `trap 'exit 75' TERM; while :; do sleep 0.05; done`)
	r.Resources.Wall = 300 * time.Millisecond
	b := open(t, t.TempDir())
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != job.ExitStopped || !strings.Contains(s.Reason, "longest") {
		t.Errorf("got %s; want exit code 75 and the reason", s)
	}
}

func TestVariablesAreKeptInNoFile(t *testing.T) {
	t.Setenv("SOME_TOKEN", "in-the-workers-environment")
	t.Setenv("OPENAI_API_KEY", "a-key-of-the-worker-alone")
	root := t.TempDir()
	r := shell(t, "discreet", `printf '%s %s%s' "$SOME_TOKEN" "$MORE" "$OPENAI_API_KEY" > "$FLOE_JOB_DIR/said"`)
	r.Env = []job.Var{{Name: "MORE", Value: "in-the-request"}}
	b := open(t, root)
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	end(t, b, r)
	if said, err := os.ReadFile(filepath.Join(r.Dir, "said")); err != nil || string(said) != "in-the-workers-environment in-the-request" {
		t.Errorf("the program has the variables %q, %v; want both, and no key of the worker's own", said, err)
	}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if strings.Contains(string(body), "in-the-workers-environment") || strings.Contains(string(body), "in-the-request") {
			t.Errorf("%s holds the value of a variable", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
