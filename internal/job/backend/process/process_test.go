package process_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/job/jobtest"
)

// TestMain makes the test program a supervisor where it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == process.Verb {
		os.Exit(process.Supervise(os.Args[2], os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "submit-and-wait" {
		os.Exit(submitAndWait(os.Args[2]))
	}
	os.Exit(m.Run())
}

func TestBackend(t *testing.T) {
	root := t.TempDir()
	jobtest.Run(t, jobtest.World{
		Open: func(t *testing.T) job.Backend { return open(t, root) },
		Stranger: func(t *testing.T, name string) func() bool {
			t.Helper()
			stranger, _ := leader(t)
			vanish(t, root, name, func(started map[string]any) { started["pid"] = stranger })
			return func() bool { return alive(stranger) }
		},
	})
}

// leader is a process that leads a session, with another one in it.
func leader(t *testing.T) (leads, follows int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "echo $$ >"+dir+"/leads; sleep 1000 & echo $! >"+dir+"/follows; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	go func() { _ = cmd.Wait() }()
	return number(t, filepath.Join(dir, "leads")), number(t, filepath.Join(dir, "follows"))
}

// vanish kills an attempt with its supervisor, and changes what is known of that.
func vanish(t *testing.T, root, name string, change func(started map[string]any)) {
	t.Helper()
	at := filepath.Join(root, name, "started.json")
	body, err := os.ReadFile(at)
	var started map[string]any
	if err == nil {
		err = json.Unmarshal(body, &started)
	}
	if err == nil {
		err = syscall.Kill(int(started["pid"].(float64)), syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the job", func() bool {
		s, err := open(t, root).Status(t.Context(), name)
		return err == nil && s.State == job.Lost
	})
	change(started)
	if body, err = json.Marshal(started); err == nil {
		err = os.WriteFile(at, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Numbers begin anew when a machine or a container starts, and so do the ticks of a
// machine. A session whose leader has ended can then look like a job's.
func TestASessionOfAnotherStartOfTheMachineIsNotOurs(t *testing.T) {
	for what, c := range map[string]struct {
		numbers string
		lives   bool
	}{"another start": {"another-boot pid:[1]", true}, "a record of an older floe": {"", false}} {
		root := t.TempDir()
		r := shell(t, "rebooted", "exec sleep 1000")
		if _, err := open(t, root).Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		leads, follows := leader(t)
		if err := syscall.Kill(leads, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, "a session without its leader", func() bool { return !alive(leads) })
		vanish(t, root, r.Name(), func(started map[string]any) { started["pid"], started["numbers"] = leads, c.numbers })
		if err := open(t, root).Stop(t.Context(), r.Name(), 0); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if alive(follows) != c.lives {
			t.Errorf("%s: the process lives: %t; want %t", what, alive(follows), c.lives)
		}
		if s, err := open(t, root).Status(t.Context(), r.Name()); err != nil || s.State != job.Lost {
			t.Errorf("%s: %s, %v; want it lost", what, s, err)
		}
	}
}

func open(t *testing.T, root string) *process.Backend {
	t.Helper()
	b, err := process.New(process.Settings{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
