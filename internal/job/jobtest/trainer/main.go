// The trainer is a job that trains nothing and keeps the contract of
// docs/jobs.md: what the suite of jobtest starts. The key "play" of its settings
// says what goes wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"floe/internal/job"
	"floe/internal/job/files"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trainer:", err)
	}
	os.Exit(code)
}

// attempt is one start of the job.
type attempt struct {
	dir    string
	id     string
	number int
	spec   job.Spec
	digest string
	play   string
	stop   chan os.Signal
}

func run() (int, error) {
	a := &attempt{dir: os.Getenv("FLOE_JOB_DIR"), id: os.Getenv("FLOE_JOB_ID"), stop: make(chan os.Signal, 8)}
	signal.Notify(a.stop, syscall.SIGTERM)
	var err error
	if a.number, err = strconv.Atoi(os.Getenv("FLOE_ATTEMPT")); err != nil || a.dir == "" || a.id == "" {
		return job.ExitBadSpec, fmt.Errorf("want FLOE_JOB_DIR, FLOE_JOB_ID and FLOE_ATTEMPT: %w", err)
	}
	if err := a.begin(); err != nil {
		return job.ExitBadSpec, err
	}
	lock, err := os.OpenFile(filepath.Join(a.dir, "job.lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the directory is what the contract says
	if err != nil {
		return job.ExitInternal, err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return job.ExitBusy, errors.New("another program holds the job directory")
	}
	if err := a.tellStart(); err != nil {
		return job.ExitInternal, err
	}
	return a.train()
}

// begin reads the spec.
func (a *attempt) begin() error {
	f, err := os.Open(os.Getenv("FLOE_JOB_SPEC")) //nolint:gosec // likewise
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if a.spec, a.digest, err = job.ReadSpec(f); err != nil {
		return err
	}
	var settings struct{ Play string }
	err = json.Unmarshal(a.spec.Settings, &settings)
	a.play = settings.Play
	return err
}

// tellStart leaves what the suite looks at: a line for every start, the
// arguments, and the environment.
func (a *attempt) tellStart() error {
	if err := a.appendLine("starts", fmt.Sprintf("%s %d", a.id, os.Getpid())); err != nil {
		return err
	}
	if err := a.write("args.json", os.Args[1:]); err != nil {
		return err
	}
	return a.write("env.json", os.Environ())
}

// train makes the steps from the latest checkpoint on.
func (a *attempt) train() (int, error) {
	step := a.latest()
	fmt.Fprintf(os.Stdout, "attempt %d goes on from step %d\n", a.number, step)
	fmt.Fprintln(os.Stderr, "on standard error")
	if code, done, err := a.misbehave(); done {
		return code, err
	}
	for step < a.spec.ExpectedSteps {
		step++
		if err := a.step(step); err != nil {
			return job.ExitInternal, err
		}
		if a.wait(step) {
			if _, err := a.save(step); err != nil {
				return job.ExitInternal, err
			}
			return job.ExitStopped, errors.New("stopped with a checkpoint")
		}
	}
	return a.conclude(step)
}

// misbehave does what goes wrong before a step is made.
func (a *attempt) misbehave() (code int, done bool, err error) {
	switch name, arg, _ := strings.Cut(a.play, ":"); name {
	case "exit":
		code, err = strconv.Atoi(arg)
		if err == nil {
			err = a.files().Put(context.Background(), "failure", []byte("meant to end with "+arg+"\n"))
		}
		return code, true, err
	case "kill":
		return 0, true, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		return 0, true, a.beDeaf()
	case "nothing":
		return job.ExitDone, true, nil
	}
	return 0, false, nil
}

// beDeaf ignores everything that asks it to stop, as does a child.
func (a *attempt) beDeaf() error {
	child := exec.Command("sleep", "100000") // inherits that SIGTERM is ignored
	if err := child.Start(); err != nil {
		return err
	}
	if err := a.progress(job.PhaseTraining, 0); err != nil {
		return err
	}
	if err := a.appendLine("pids", fmt.Sprintf("%d\n%d", os.Getpid(), child.Process.Pid)); err != nil {
		return err
	}
	select {}
}

// wait holds a step for as long as the suite wants, or until somebody asks to
// stop: then it is true.
func (a *attempt) wait(step int) bool {
	for {
		if a.asked() {
			return true
		}
		if _, err := os.Stat(filepath.Join(a.dir, "go")); a.play != "hold" || err == nil {
			return false
		}
		fmt.Fprintf(os.Stdout, "step %d holds\n", step)
		time.Sleep(100 * time.Millisecond)
	}
}

func (a *attempt) asked() bool {
	select {
	case <-a.stop:
		return true
	default:
	}
	body, err := os.ReadFile(filepath.Join(a.dir, "stop.requested"))
	if err != nil {
		return false
	}
	text := strings.TrimSpace(string(body))
	n, err := strconv.Atoi(text)
	return text == "" || (err == nil && n >= a.number)
}

func (a *attempt) files() job.Files { return files.Disk(a.dir) }
