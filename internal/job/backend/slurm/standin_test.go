package slurm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"floe/internal/job"
)

// envStandIn is the folder of a stand-in for Slurm: this test program, called by the
// names of Slurm's commands. It knows what we know of Slurm and proves the back end's
// logic where there is none; make test-slurm asks a real one.
const envStandIn = "STAND_IN_SLURM"

// allocation is a job of the stand-in.
type allocation struct {
	ID                           int
	Name, Comment, User, Command string
	Submitted                    int64
	PID                          int // of its script, which leads a group
	State                        string
	Code, Signal                 int
}

func TestMain(m *testing.M) {
	if root := os.Getenv(envStandIn); root != "" {
		os.Exit(command(fakeCluster{root}, filepath.Base(os.Args[0]), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// standIn puts Slurm's commands into the path.
func standIn(t *testing.T) fakeCluster {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"sbatch", "squeue", "scontrol", "scancel", "sinfo", "sacct"} {
		if err := os.Symlink(os.Args[0], filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", root+":"+os.Getenv("PATH"))
	t.Setenv(envStandIn, root)
	return fakeCluster{root}
}

// fakeCluster is the folder of a cluster, which holds its jobs.
type fakeCluster struct{ root string }

func (c fakeCluster) file(id int) string {
	return filepath.Join(c.root, fmt.Sprintf("job-%d.json", id))
}

// change reads and writes a job while no other command does.
func (c fakeCluster) change(id int, how func(a *allocation)) (a allocation, err error) {
	lock, err := os.OpenFile(filepath.Join(c.root, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return a, err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return a, err
	}
	body, err := os.ReadFile(c.file(id))
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil || how == nil {
		return a, err
	}
	how(&a)
	return a, c.write(a)
}

func (c fakeCluster) write(a allocation) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	next := c.file(a.ID) + ".next"
	if err := os.WriteFile(next, body, 0o600); err != nil {
		return err
	}
	return os.Rename(next, c.file(a.ID))
}

// add makes a job with the next number.
func (c fakeCluster) add(a allocation) (allocation, error) {
	for a.ID = 1; ; a.ID++ {
		f, err := os.OpenFile(c.file(a.ID), os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return a, err
		}
		a.State, a.Submitted = "RUNNING", time.Now().Unix()
		return a, c.startOn(a, f.Close())
	}
}

// startOn starts the job's script under a watcher of its own.
func (c fakeCluster) startOn(a allocation, err error) error {
	if err == nil {
		err = c.write(a)
	}
	if err != nil {
		return err
	}
	watcher := exec.Command(filepath.Join(c.root, "sbatch"), "--watch", strconv.Itoa(a.ID))
	watcher.Env = append(os.Environ(), envStandIn+"="+c.root)
	watcher.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return watcher.Start()
}

// watch runs a job's script to its end.
func (c fakeCluster) watch(id int) error {
	a, err := c.change(id, nil)
	if err != nil {
		return err
	}
	var parts struct{ Script, Log string }
	if err := json.Unmarshal([]byte(a.Command), &parts); err != nil {
		return err
	}
	log, err := os.OpenFile(parts.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	script := exec.Command("sh", "-s")
	script.Stdin, script.Stdout, script.Stderr = strings.NewReader(parts.Script), log, log
	script.Env = append(os.Environ(), envStandIn+"=", "SLURM_JOB_ID="+strconv.Itoa(id))
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := script.Start(); err != nil {
		return err
	}
	if _, err := c.change(id, func(a *allocation) { a.PID = script.Process.Pid }); err != nil {
		return err
	}
	_ = script.Wait()
	_ = syscall.Kill(-script.Process.Pid, syscall.SIGKILL)
	status := script.ProcessState.Sys().(syscall.WaitStatus)
	_, err = c.change(id, func(a *allocation) {
		a.State, a.Code = "COMPLETED", status.ExitStatus()
		if status.Signaled() {
			a.Code, a.Signal = 0, int(status.Signal())
		}
		if a.Code+a.Signal != 0 {
			a.State = "FAILED"
		}
	})
	return err
}

// flags are the options of a command, and what is no option.
func flags(args []string) (of map[string]string, rest []string) {
	of = map[string]string{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		if strings.HasPrefix(a, "--") {
			of[name] = value
			continue
		}
		rest = append(rest, a)
	}
	return of, rest
}

// command is one of Slurm's.
func command(c fakeCluster, name string, args []string) int {
	failed := func(err error) int {
		fmt.Fprintln(os.Stderr, name+": error:", err)
		return 1
	}
	if body, err := os.ReadFile(filepath.Join(c.root, "away")); err == nil {
		return failed(fmt.Errorf("%s", body))
	}
	of, rest := flags(args)
	id := 0
	if len(rest) > 0 {
		id, _ = strconv.Atoi(rest[len(rest)-1])
	}
	switch name {
	case "sinfo":
		fmt.Fprintln(os.Stdout, "main")
	case "sacct":
		return failed(fmt.Errorf("slurm accounting storage is disabled"))
	case "sbatch":
		if _, watch := of["--watch"]; watch {
			if err := c.watch(id); err != nil {
				return failed(err)
			}
			return 0
		}
		script, err := io.ReadAll(os.Stdin)
		if err != nil {
			return failed(err)
		}
		body, _ := json.Marshal(struct{ Script, Log string }{string(script), of["--output"]})
		a, err := c.add(allocation{Name: of["--job-name"], Comment: of["--comment"], User: "floe(1000)", Command: string(body)})
		if err != nil {
			return failed(err)
		}
		fmt.Fprintln(os.Stdout, a.ID)
	case "squeue":
		for id := 1; ; id++ {
			a, err := c.change(id, nil)
			if err != nil {
				return 0
			}
			if a.Name == of["--name"] {
				fmt.Fprintf(os.Stdout, "%d|%s|%d\n", a.ID, a.Comment, a.Submitted)
			}
		}
	case "scontrol":
		a, err := c.change(id, nil)
		if err != nil {
			return failed(fmt.Errorf("slurm_load_jobs error: Invalid job id specified"))
		}
		fmt.Fprintf(os.Stdout, "JobId=%d JobName=%s UserId=%s GroupId=floe(1000) JobState=%s Reason=None Restarts=0 ExitCode=%d:%d SubmitTime=%d StartTime=%d EndTime=%d BatchHost=node1 Comment=%s\n",
			a.ID, a.Name, a.User, a.State, a.Code, a.Signal, a.Submitted, a.Submitted, time.Now().Unix(), a.Comment)
	case "scancel":
		a, err := c.change(id, nil)
		if named, ok := of["--name"]; err != nil || ok && named != a.Name || a.PID == 0 || a.State != "RUNNING" {
			return 0
		}
		target, signal := -a.PID, syscall.SIGKILL
		if of["--signal"] == "TERM" {
			signal = syscall.SIGTERM
		}
		if _, batch := of["--batch"]; batch {
			target = a.PID
		}
		_ = syscall.Kill(target, signal)
	}
	return 0
}

// replace has a job end without a trace, and gives its number to another one of
// another name, as a controller does that has lost its state.
func (c fakeCluster) replace(t *testing.T, id int, name string) (runs func() bool) {
	t.Helper()
	was, err := c.change(id, func(a *allocation) { a.State = "LOST" })
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(-was.PID, syscall.SIGKILL)
	until(t, "the end of the job", func() bool { a, err := c.change(id, nil); return err == nil && a.State == "FAILED" })
	body, _ := json.Marshal(struct{ Script, Log string }{"sleep 1000", "/dev/null"})
	a := allocation{ID: id, Name: name, User: was.User, State: "RUNNING", Submitted: time.Now().Unix() + 1, Command: string(body)}
	if err := c.startOn(a, nil); err != nil {
		t.Fatal(err)
	}
	pid := 0
	until(t, "the other job", func() bool { a, err := c.change(id, nil); pid = a.PID; return err == nil && pid > 0 })
	runs = func() bool { a, err := c.change(id, nil); return err == nil && a.State == "RUNNING" }
	t.Cleanup(func() {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		until(t, "its end", func() bool { return !runs() })
	})
	return runs
}

// numberOf is the number that the back end says an attempt has.
func numberOf(t *testing.T, b job.Backend, name string) int {
	t.Helper()
	s, err := b.Status(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.Fields(s.Where)[2])
	if err != nil {
		t.Fatalf("%q: %v", s.Where, err)
	}
	return id
}
