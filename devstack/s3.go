package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const (
	s3StartTimeout = 20 * time.Second
	s3StopTimeout  = s3DrainTime + 2*time.Second

	// A child that dies this often within restartWindow will not get better.
	maxRestarts   = 3
	restartWindow = time.Minute
)

// s3Server keeps one S3 child running.
type s3Server struct {
	cfg s3Config
	log *rollingLog
	out *console

	cancel  context.CancelFunc // asks supervise to stop
	done    chan struct{}      // closed when no child runs and none will
	failure error              // set before done; nil after a stop
}

// startS3 returns when the first child accepts connections.
func startS3(ctx context.Context, cfg s3Config, log *rollingLog, out *console) (*s3Server, error) {
	s := &s3Server{cfg: cfg, log: log, out: out, done: make(chan struct{})}
	first, err := s.spawn(ctx)
	if err != nil {
		return nil, fmt.Errorf("S3 server: %w; its log is %s", err, log.path())
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.supervise(life, first)
	return s, nil
}

// stop ends the child, gently first, and returns when it is gone.
func (s *s3Server) stop() {
	s.cancel()
	<-s.done
}

// supervise replaces children that die until there were too many of them.
func (s *s3Server) supervise(ctx context.Context, c *s3Child) {
	defer close(s.done)
	var deaths []time.Time
	for {
		select {
		case <-ctx.Done():
			c.end()
			return
		case <-c.exited:
		}
		deaths = recent(append(deaths, time.Now()))
		if len(deaths) > maxRestarts {
			s.failure = fmt.Errorf("S3 server died %d times within %v, last with: %w; its log is %s",
				len(deaths), restartWindow, c.err, s.log.path())
			return
		}
		s.out.warn("S3 server pid %d died (%v); starting it again", c.pid, c.err)
		next, err := s.spawn(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.failure = fmt.Errorf("S3 server died and did not come back: %w; its log is %s", err, s.log.path())
			return
		}
		c = next
	}
}

// recent drops the deaths that are too long ago to count.
func recent(deaths []time.Time) []time.Time {
	for len(deaths) > 0 && time.Since(deaths[0]) > restartWindow {
		deaths = deaths[1:]
	}
	return deaths
}

// s3Child is one process.
type s3Child struct {
	pid    int
	stdin  io.Closer
	kill   func() error
	exited chan struct{}
	err    error // set before exited is closed
}

// end closes the child's standard input, which asks it to stop, and kills it if
// it does not.
func (c *s3Child) end() {
	_ = c.stdin.Close()
	select {
	case <-c.exited:
	case <-time.After(s3StopTimeout):
		_ = c.kill()
		<-c.exited
	}
}

// spawn starts a child and waits until it accepts connections.
func (s *s3Server) spawn(ctx context.Context) (*s3Child, error) {
	settings, err := json.Marshal(s.cfg) // #nosec G117 -- the pipe is how the child gets its keys
	if err != nil {
		return nil, err
	}
	answer, answerEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()

	c, stdin, err := s.exec(answerEnd)
	_ = answerEnd.Close() // the child has its own; ours would hide its death
	if err != nil {
		return nil, err
	}
	if _, err := stdin.Write(append(settings, '\n')); err != nil {
		c.end()
		return nil, err
	}
	if err := awaitReady(ctx, answer); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// exec runs our own binary as the child. One goroutine, tied to its thread,
// starts the process and waits for it: the kernel sends the parent-death signal
// when the starting thread ends, and Go ends idle threads.
func (s *s3Server) exec(answerEnd *os.File) (*s3Child, io.Writer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, s3ChildCommand) // #nosec G204 -- ourselves
	cmd.SysProcAttr = childAttributes()
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.ExtraFiles = []*os.File{answerEnd} // becomes s3ReadyFD
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}

	c := &s3Child{stdin: stdin, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = exitReason(cmd.Wait())
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, nil, err
	}
	c.pid, c.kill = cmd.Process.Pid, cmd.Process.Kill
	return c, stdin, nil
}

func exitReason(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// awaitReady reads the child's one answer.
func awaitReady(ctx context.Context, answer *os.File) error {
	if err := answer.SetReadDeadline(time.Now().Add(s3StartTimeout)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = answer.SetReadDeadline(time.Now()) })
	defer stop()
	text, err := io.ReadAll(answer)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("not ready after %v: %w", s3StartTimeout, err)
	case string(text) == s3Ready:
		return nil
	case len(text) == 0:
		return errors.New("exited before it was ready")
	default:
		return errors.New(string(text))
	}
}
