package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const stopWithin = 45 * time.Second // a worker gives its steps 20 s

// program is a process that is started again whenever it ends, as a service
// manager would do it.
type program struct {
	name string
	args func() (path string, args []string)
	env  []string
	dir  string
	log  string // file
	say  func(format string, args ...any)

	victim sync.Mutex // held while an event is about this program

	mu     sync.Mutex
	proc   *os.Process   // nil while none runs
	starts int           // so far
	hold   time.Duration // before the next start

	stop context.CancelFunc
	gone chan struct{}
}

// run starts the program and keeps it running until end.
func (p *program) run() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.gone = stop, make(chan struct{})
	go func() {
		defer close(p.gone)
		runtime.LockOSThread() // the kernel kills the children of a thread that ends
		for ctx.Err() == nil {
			err := p.once(ctx)
			p.mu.Lock()
			p.proc = nil
			wait := max(p.hold, time.Second)
			p.hold = 0
			p.mu.Unlock()
			if ctx.Err() == nil {
				p.say("%s ended (%v) and is started again", p.name, err)
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
	}()
}

func (p *program) once(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has it too
	path, args := p.args()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.proc = cmd.Process
	p.starts++
	p.mu.Unlock()
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("exit code 0")
}

// end stops the program for good and returns when it is gone.
func (p *program) end() {
	p.stop()
	<-p.gone
}

// running is the pid of the process; 0 while there is none.
func (p *program) running() (pid, starts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc != nil {
		pid = p.proc.Pid
	}
	return pid, p.starts
}

// signal signals the process; the pid is 0 if there is none, as between two
// starts. One that is killed stays down for a while.
func (p *program) signal(sig os.Signal, down time.Duration) (pid int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc == nil {
		return 0, nil
	}
	switch err := p.proc.Signal(sig); {
	case errors.Is(err, os.ErrProcessDone):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%s to %s: %w", sig, p.name, err)
	}
	p.hold = down
	return p.proc.Pid, nil
}

// marked are the processes whose environment has a mark, with their command lines.
func marked(mark string) map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(env), mark) { // somebody else's, or gone
			continue
		}
		dir := filepath.Dir(file)
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if pid, no := strconv.Atoi(filepath.Base(dir)); err == nil && no == nil && len(line) > 0 && pid != os.Getpid() {
			found[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// childOf finds the child of a process whose command line has a word.
func childOf(pid int, word string) (int, error) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	for _, file := range files {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // digits
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), word) && parentOf(child) == pid {
			return child, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child %s", pid, word)
}
