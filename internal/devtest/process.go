package devtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyWithin = time.Minute // a start takes about a second, unless the machine is busy
	stopWithin  = 30 * time.Second
	readyLine   = "devstack ready:"
)

// process is a running devstack.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when it has ended
}

// launch starts devstack and waits until it says that it is ready.
func launch(binary string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(binary, args...), log: &tail{}, done: make(chan struct{})} //nolint:gosec // built by us
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = attributes()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	ready := make(chan struct{})
	go p.run(started, out, ready)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start devstack: %w", err)
	}
	patience := time.NewTimer(readyWithin)
	defer patience.Stop()
	select {
	case <-ready:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("devstack ended before it was ready: %s\n%s", p.cmd.ProcessState, p.log)
	case <-patience.C:
		return nil, errors.Join(fmt.Errorf("devstack was not ready within %s\n%s", readyWithin, p.log), p.kill())
	}
}

// run starts the process and waits for its end, on one thread: the kernel kills
// the child of a thread that ends, so that a test program that is killed leaves
// nothing behind, and any other thread may end before.
func (p *process) run(started chan<- error, out io.Reader, ready chan<- struct{}) {
	runtime.LockOSThread() // never unlocked: the thread ends with this function
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	watch(out, ready)
	_ = p.cmd.Wait() // how it ended is in the process state
	close(p.done)
}

// watch reads all of standard output, and tells when the ready line came.
func watch(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if ready != nil && strings.HasPrefix(lines.Text(), readyLine) {
			close(ready)
			ready = nil
		}
	}
}

// stop asks the process to end, and kills it when it does not.
func (p *process) stop() error {
	if p.ended() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !p.ended() {
		return fmt.Errorf("stop devstack: %w", err)
	}
	patience := time.NewTimer(stopWithin)
	defer patience.Stop()
	select {
	case <-p.done:
		return nil
	case <-patience.C:
		return errors.Join(fmt.Errorf("devstack did not stop within %s", stopWithin), p.kill())
	}
}

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !p.ended() {
		return fmt.Errorf("kill devstack: %w", err)
	}
	<-p.done
	return nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
