package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A service that lasts this long has started; one that ends sooner, this often in
// a row, will not get better.
const (
	lasting  = 5 * time.Second
	restarts = 20
)

// process is one of floe's programs that is kept running.
type process struct {
	name    string
	program string
	args    func() []string
	log     *os.File
	say     func(string, ...any)
	runs    func(name string, pid int) // hears of each start, and with 0 of each end
	cancel  context.CancelFunc
	done    chan struct{}
}

// startProcess starts a program and keeps it running until stop. What makes it
// give up is sent to failed.
func startProcess(name, log string, args func() []string, say func(string, ...any), runs func(string, int), failed chan<- error) (*process, error) {
	program, err := sibling(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // inside the person's own data folder
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background()) // stop ends it, not the caller: services stop in order
	p := &process{name: name, program: program, args: args, log: f, say: say, runs: runs, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		err := errors.Join(p.keep(ctx), f.Close())
		if err != nil {
			failed <- err
		}
	}()
	return p, nil
}

// stop ends the program and waits until it is gone.
func (p *process) stop() {
	p.cancel()
	<-p.done
}

// sibling finds a program of floe: beside this one, or on the PATH.
func sibling(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return "", fmt.Errorf("the program %s is neither beside %s nor on the PATH; `make build` builds it", name, self)
}

// keep runs the program again and again until the context ends. One that ends by
// itself at its first start has said what is wrong and is given up.
func (p *process) keep(ctx context.Context) error {
	// The parent-death signal is tied to the thread that starts the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	brief := 0 // starts in a row that did not last
	for again := false; ; again = true {
		started := time.Now()
		err := p.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if brief++; time.Since(started) >= lasting {
			brief = 0
		}
		exit, ok := errors.AsType[*exec.ExitError](err)
		passing := ok && (!exit.Exited() || exit.ExitCode() == exitUnreachable) // killed, or the stack is away
		if brief > 0 && !passing && !again || brief == restarts {
			return fmt.Errorf("%s ended (%w); last log lines (%s):\n%s", p.name, err, p.log.Name(), tail(p.log.Name(), 8))
		}
		p.say("%s ended (%v); restarting it", p.name, err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// once runs the program until it ends or the context does; then it gets SIGTERM,
// and SIGKILL if it does not listen.
func (p *process) once(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.program, p.args()...) //nolint:gosec // floe's own programs
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.runs(p.name, cmd.Process.Pid)
	defer p.runs(p.name, 0)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("exit code 0")
}

// tail is the end of a log, for an error message.
func tail(file string, lines int) string {
	body, err := os.ReadFile(file) //nolint:gosec // a log of ours
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(body), "\n"), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
