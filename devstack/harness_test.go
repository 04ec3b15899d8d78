package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// binary is the program under test, built once for all tests.
var binary string

// shared is a stack for tests that leave it as they found it. Its folder has a
// name that breaks whoever forgets to quote it.
var shared *stackProcess

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "devstack")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, ".")
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, text)
		return exitFailure
	}
	shared, err = launch(filepath.Join(dir, "a b?c%41#d[e]"))
	if err == nil {
		err = shared.awaitReady()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	defer shared.kill()
	return m.Run()
}

const patience = 60 * time.Second

// stackProcess is a devstack started by a test.
type stackProcess struct {
	cmd    *exec.Cmd
	dir    dataDir
	stdout lockedBuffer
	stderr lockedBuffer
	exited chan struct{}
}

// launch starts a stack on free ports and does not wait for it.
func launch(dir string, flags ...string) (*stackProcess, error) {
	p := &stackProcess{dir: dataDir(dir), exited: make(chan struct{})}
	args := append([]string{"--data", dir, "--temporal-port", "0", "--ui-port", "0", "--s3-port", "0"}, flags...)
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// The S3 child inherits neither pipe, so Wait does not hang on it.
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// start runs a stack until the test ends.
func start(t *testing.T, dir string, flags ...string) *stackProcess {
	t.Helper()
	p, err := launch(dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if err := p.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *stackProcess) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return poll(ctx, func() error {
		if strings.HasSuffix(p.stdout.String(), "\n") {
			return nil
		}
		select {
		case <-p.exited:
			cancel()
		default:
		}
		return fmt.Errorf("no ready line; stderr:\n%s", p.stderr.String())
	})
}

func (p *stackProcess) pid() int { return p.cmd.Process.Pid }

func (p *stackProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// awaitExit returns the exit code.
func (p *stackProcess) awaitExit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("still running after %v; stderr:\n%s", patience, p.stderr.String())
		return 0
	}
}

// stop asks for a clean stop and returns the exit code.
func (p *stackProcess) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return p.awaitExit(t)
}

func (p *stackProcess) state(t *testing.T) state {
	t.Helper()
	text, err := os.ReadFile(p.dir.state())
	if err != nil {
		t.Fatal(err)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *stackProcess) keys(t *testing.T) credentials {
	t.Helper()
	text, err := os.ReadFile(p.dir.credentials())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := parseCredentials(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func (p *stackProcess) s3(t *testing.T) *s3.Client {
	t.Helper()
	return newS3Client(p.state(t).S3, p.keys(t))
}

func (p *stackProcess) client(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: p.state(t).Temporal,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// child returns the pid of the S3 server.
func (p *stackProcess) child(t *testing.T) int {
	t.Helper()
	children := childrenOf(t, p.pid())
	if len(children) != 1 {
		t.Fatalf("children %v; want one", children)
	}
	return children[0]
}

func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	needsProc(t)
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for _, proc := range processes {
		if state, ppid := processStat(proc); ppid == parent && state != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(proc))
			children = append(children, pid)
		}
	}
	return children
}

// processStat reads state and parent from /proc/PID/stat, where they follow the
// name in parentheses.
func processStat(proc string) (state string, parent int) {
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return "gone", 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// awaitGone waits for a process that nobody may have reaped.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() error {
		if state, _ := processStat(fmt.Sprintf("/proc/%d", pid)); state != "gone" && state != "Z" {
			return fmt.Errorf("process %d is still there, state %s", pid, state)
		}
		return nil
	})
}

func needsProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := poll(ctx, try); err != nil {
		t.Fatal(err)
	}
}

// checkFree fails the test if an address is still listened on.
func checkFree(t *testing.T, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(addr, "http://"))
	if err != nil {
		t.Errorf("%s is not free: %v", addr, err)
		return
	}
	_ = l.Close()
}

// devstack runs the program to its end.
func devstack(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// lockedBuffer is a bytes.Buffer for a writer and a reader at once.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
