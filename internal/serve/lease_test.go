package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
)

// submission is what another process, a worker for our purpose, starts.
type submission struct {
	Root     string
	Settings serve.Settings
}

// work is a worker: it starts a server, says so, and waits to be killed.
func work(text, how string) int {
	var s submission
	err := json.Unmarshal([]byte(text), &s)
	var l serve.Local
	if err == nil {
		l, err = local(s.Root)
	}
	var server serve.Server
	if err == nil {
		server, err = l.Server(s.Settings)
	}
	if err == nil {
		err = server.Start(context.Background())
	}
	if err == nil && how == "release" {
		err = server.Release()
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "started")
	select {}
}

// worker starts a server from a process of its own and hands over its kill.
func worker(t *testing.T, root, how string, s serve.Settings) (kill func()) {
	t.Helper()
	text, err := json.Marshal(submission{root, s})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "worker", string(text), how)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := false
	kill = func() {
		if !gone {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			gone = true
		}
	}
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the worker said %q, %v", line, err)
	}
	return kill
}

func TestAServerOutlivesItsWorkerAndIsAdopted(t *testing.T) {
	root, s := t.TempDir(), settings("vllm")
	kill := worker(t, root, "hold", s)
	server := opened(t, root, s)
	started(t, server)
	before := says(t, server.Base())
	if err := server.Release(); err != nil {
		t.Fatal(err)
	}
	kill()
	started(t, server)
	if after := says(t, server.Base()); after != before {
		t.Errorf("%s after the kill, %s before; want the same server", after, before)
	}
	other := s
	other.Context = 99
	l, err := local(root)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := l.Server(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*job.ConflictError](changed.Start(t.Context())); !ok {
		t.Error("a server with other settings was adopted")
	}
}

func TestAServerThatNobodyHoldsIsEnded(t *testing.T) {
	for how, end := range map[string]bool{"hold": true, "release": false} {
		t.Run(how, func(t *testing.T) {
			root, s := t.TempDir(), settings("vllm")
			s.Linger = 500 * time.Millisecond
			kill := worker(t, root, how, s)
			b, err := process.New(process.Settings{Root: filepath.Join(root, "jobs")})
			if err != nil {
				t.Fatal(err)
			}
			if end {
				// Held, it stays: for several times as long as it would linger.
				deadline := time.Now().Add(4 * s.Linger)
				until(t, "a while", func() bool { return time.Now().After(deadline) })
				if st, err := b.Status(t.Context(), "serve-one-a1"); err != nil || st.State != job.Running {
					t.Fatalf("held by a worker it is %s, %v", st, err)
				}
				kill()
			}
			var st job.Status
			until(t, "the end of a server that nobody holds", func() bool {
				st, err = b.Status(t.Context(), "serve-one-a1")
				return err != nil || st.State.Final()
			})
			if err != nil || st.ExitCode == nil || *st.ExitCode != 75 {
				t.Errorf("got %s, %v; want exit code 75", st, err)
			}
			server := opened(t, root, s)
			started(t, server)
			if st, err := b.Status(t.Context(), "serve-one-a2"); err != nil || st.State != job.Running {
				t.Errorf("started again it is %s, %v; want a second attempt", st, err)
			}
		})
	}
}

func TestAServerThatIsLeftStaysWhereAnotherWorkerHoldsIt(t *testing.T) {
	root, s := t.TempDir(), settings("vllm")
	kill := worker(t, root, "hold", s)
	guest := opened(t, root, s)
	started(t, guest)
	pid := pidIn(t, says(t, guest.Base()))
	if err := guest.Leave(t.Context(), patience); err != nil || !alive(pid) {
		t.Fatalf("%v; alive %t beside a worker that holds it", err, alive(pid))
	}
	started(t, guest)
	kill()
	if err := guest.Leave(t.Context(), patience); err != nil || alive(pid) {
		t.Errorf("%v; alive %t with nobody who holds it", err, alive(pid))
	}
	if err := guest.Leave(t.Context(), patience); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestWhatOthersLeftIsSweptAway(t *testing.T) {
	root, s := t.TempDir(), settings("vllm")
	s.Name = "exp-one"
	worker(t, root, "hold", s)() // killed
	s.Name = "exp-two"
	kept := opened(t, root, s)
	started(t, kept)
	l, err := local(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Sweep(t.Context(), "exp-", func(name string) bool { return name == "exp-two" }, time.Minute); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Jobs.Status(t.Context(), "serve-exp-one-a1"); err != nil || !st.State.Final() {
		t.Errorf("%s, %v; want it ended", st, err)
	}
	says(t, kept.Base())
	if err := l.Sweep(t.Context(), "", func(string) bool { return false }, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := kept.Health(t.Context()); err == nil {
		t.Error("a server that was swept away is healthy")
	}
}
