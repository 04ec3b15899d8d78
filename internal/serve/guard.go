package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"floe/internal/disk"
)

// Verb is what a program is called with to be a guard, with one more argument: the
// file of a guarded command.
const Verb = "serve-guard"

// guarded is what a guard runs. The file's name is the digest of its content.
type guarded struct {
	Command []string      `json:"command"` // with {port} where the port belongs
	Env     []string      `json:"env"`
	Linger  time.Duration `json:"linger"` // nanoseconds
}

// address is where a guarded server listens.
type address struct {
	URL string `json:"url"`
}

const (
	fileAddress = "address.json"
	guardPoll   = 250 * time.Millisecond
	exitUnheld  = 75  // ended because nobody held the lease
	exitBroken  = 70  // the guard itself could not go on
	exitNoStart = 127 // as shells have it
)

// Guard runs a model server until it ends, is told to end, or nobody has held its
// lease for a while. It is the whole of a process, started as a job: what the server
// leaves behind is killed by the job's supervisor. FLOE_JOB_DIR is where the lease
// lies and where the guard says at which address the server listens.
func Guard(file string, stderr io.Writer) int {
	// The kernel kills the server when the thread that started it ends.
	runtime.LockOSThread()
	code, err := guard(file, os.Getenv("FLOE_JOB_DIR"), stderr)
	if err != nil {
		fmt.Fprintf(stderr, "guard of %s: %v\n", file, err)
	}
	return code
}

func guard(file, dir string, stderr io.Writer) (int, error) {
	body, err := os.ReadFile(file) //nolint:gosec // written by the worker that started this
	if err != nil {
		return exitBroken, err
	}
	var g guarded
	if err := json.Unmarshal(body, &g); err != nil {
		return exitBroken, fmt.Errorf("%s: %w", file, err)
	}
	if len(g.Command) == 0 {
		return exitBroken, fmt.Errorf("%s holds no command", file)
	}
	lease, err := watchLease(dir, g.Linger)
	if err != nil {
		return exitBroken, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	cmd, err := g.start(dir)
	if err != nil {
		return exitNoStart, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return watchServer(cmd.Process, lease, signals, done, stderr)
}

// start picks a port, says so, and starts the server on it. Another program can take
// the port in between: then the server ends at once, and is started anew on another.
func (g guarded) start(dir string) (*exec.Cmd, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	argv := make([]string, len(g.Command))
	for i, arg := range g.Command {
		argv[i] = strings.ReplaceAll(arg, portHole, port)
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // it is what the user wants to run, until it is told to end
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ours), g.Env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = diesWithUs()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(address{"http://" + at})
	if err == nil {
		err = disk.WriteAtomic(filepath.Join(dir, fileAddress), append(body, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, nil
}

// secrets are variables of the worker that are none of a model server's business. A
// key of vLLM's own would keep us out of it.
var secrets = []string{"OPENAI_", "AWS_", "TEMPORAL_", "FLOE_", "VLLM_API_KEY"}

func ours(variable string) bool {
	return slices.ContainsFunc(secrets, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
}

// watchServer waits for the server's end and brings it about. Killing it, where it
// does not end when asked, is for the supervisor: it knows what the server started.
func watchServer(server *os.Process, lease *unheld, signals <-chan os.Signal, done <-chan error, stderr io.Writer) (int, error) {
	tick := time.NewTicker(guardPoll)
	defer tick.Stop()
	left := time.Duration(0) // since the server was told to end unheld
	unheld := false
	for {
		select {
		case err := <-done:
			if unheld {
				return exitUnheld, nil
			}
			return exitOf(err), nil
		case s := <-signals:
			_ = server.Signal(s) // ended already, which is as well
		case now := <-tick.C:
			switch {
			case unheld && left >= endWithin:
				return exitUnheld, errors.New("the server did not stop when asked to")
			case unheld:
				left += guardPoll
			case lease.tooLong(now):
				unheld = true
				fmt.Fprintln(stderr, "guard: no worker has held the lease for "+lease.linger.String()+"; stopping the server")
				_ = server.Signal(syscall.SIGTERM) // ended already, which is as well
			}
		}
	}
}

// endWithin is how long a server may take to end that nobody holds.
const endWithin = 30 * time.Second

func exitOf(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case !ok:
		return exitBroken
	case exit.ExitCode() < 0:
		return 128 + int(signalOf(exit))
	}
	return exit.ExitCode()
}

func signalOf(exit *exec.ExitError) syscall.Signal {
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal()
	}
	return 0
}
