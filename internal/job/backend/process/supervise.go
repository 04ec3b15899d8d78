package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"floe/internal/disk"
	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/outage"
)

const (
	fileStarted        = "started.json"
	fileExit           = "exit.json"
	fileLog            = "log"
	fileSupervisorLock = "supervisor.lock"
	fileSupervisorLog  = "supervisor.log"

	killSignal = syscall.SIGUSR1 // tells a supervisor to kill its program

	exitCannotStart = 127 // as shells have it
)

// started is a supervisor. Its number and start time name a process of this machine
// until that goes down.
type started struct {
	PID   int       `json:"pid"`
	Ticks uint64    `json:"ticks"` // since the machine's start, field 22 of /proc/<pid>/stat
	Host  string    `json:"host"`
	Time  time.Time `json:"time"`
	// Numbers names the table that PID is of: this start of the machine, and the
	// container. Both counts begin anew with it.
	Numbers string `json:"numbers,omitempty"`
}

// elsewhere reports whether our process table is not the one that it was started in.
func (s started) elsewhere() bool { return s.Numbers != "" && s.Numbers != numbers() }

func (s started) where() string { return fmt.Sprintf("process %d on %s", s.PID, s.Host) }

// exit is how an attempt ended.
type exit struct {
	Code    int       `json:"code"`
	Reason  string    `json:"reason,omitempty"`
	Where   string    `json:"where,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// Supervise runs the attempt of a record's folder to its end and keeps how it
// ended. SIGTERM is passed on to the program; SIGUSR1 kills it and all that it
// started, as does the end of the supervisor. It is the whole of a process.
func Supervise(dir string, stderr io.Writer) int {
	// The kernel kills the program when the thread that started it ends.
	runtime.LockOSThread()
	if err := supervise(attempt.Folder{Dir: dir, Name: filepath.Base(dir)}); err != nil {
		fmt.Fprintf(stderr, "supervisor of %s: %v\n", dir, err)
		return 1
	}
	return 0
}

func supervise(rec attempt.Folder) error {
	held, mine, err := rec.TryLock(fileSupervisorLock)
	if err != nil || !mine {
		return err
	}
	defer func() { _ = held.Close() }() // the last thing: it says that the supervisor is gone
	var at started
	if was, err := rec.Read(fileStarted, &at); err != nil || was {
		return err
	}
	r, err := rec.Request()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE) // a terminal that closes is no reason to end
	signal.Notify(signals, syscall.SIGTERM, killSignal)
	if err := adoptOrphans(); err != nil {
		return err
	}
	if at, err = self(); err != nil {
		return err
	}
	if err := rec.Write(fileStarted, at); err != nil {
		return err
	}
	e := run(rec, r, at, signals)
	e.Where, e.Started, e.Ended = at.where(), at.Time, time.Now().UTC()
	return persist(func() error { return rec.Write(fileExit, e) })
}

// persist writes how the program ended as long as the disk is full or away: without it
// the attempt would count as lost.
func persist(write func() error) error {
	for began := time.Now(); ; time.Sleep(writeEvery) {
		err := write()
		if _, passes := outage.As(disk.Outage("a job's folder", err)); !passes || time.Since(began) > writeWithin {
			return err // also where the folder is gone: no one will look for it
		}
	}
}

const (
	writeEvery  = time.Second
	writeWithin = 12 * time.Hour
)

func self() (started, error) {
	host, err := os.Hostname()
	if err != nil {
		return started{}, err
	}
	ticks, ok := startTicks(os.Getpid())
	if !ok {
		return started{}, fmt.Errorf("process %d is not in /proc", os.Getpid())
	}
	return started{PID: os.Getpid(), Ticks: ticks, Host: host, Time: time.Now().UTC(), Numbers: numbers()}, nil
}

// run starts the program and waits for its end, and for that of all it started:
// what it leaves behind could hold a GPU.
func run(rec attempt.Folder, r job.Request, at started, signals <-chan os.Signal) exit {
	cmd := exec.Command(r.Command[0], r.Command[1:]...) //nolint:gosec // it is what the user wants to run
	log, err := os.OpenFile(rec.Path(fileLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return exit{Code: exitCannotStart, Reason: err.Error()}
	}
	defer func() { _ = log.Close() }() // written by the program alone
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = diesWithUs()
	if err := cmd.Start(); err != nil {
		return exit{Code: exitCannotStart, Reason: err.Error()}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in the process state
	}()
	reason := watch(cmd.Process, r, at, signals, done)
	killAll(at)
	return exit{Code: exitCode(cmd.ProcessState), Reason: reason}
}

// watch passes on what the supervisor is told until the program has ended. The
// reason says what the supervisor itself did to it.
func watch(program *os.Process, r job.Request, at started, signals <-chan os.Signal, done <-chan struct{}) (reason string) {
	ask := func() { _ = program.Signal(syscall.SIGTERM) } // ended already, which is as well
	var wall, grace <-chan time.Time
	if r.Resources.Wall > 0 {
		wall = time.After(r.Resources.Wall)
	}
	for {
		select {
		case <-done:
			return reason
		case s := <-signals:
			if s == syscall.SIGTERM {
				reason = "asked to stop"
				ask()
				continue
			}
			reason = "killed after it was asked to stop"
			killAll(at)
		case <-wall:
			reason = fmt.Sprintf("stopped after %s, the longest it may run", r.Resources.Wall)
			ask()
			grace = time.After(r.Grace)
		case <-grace:
			reason = fmt.Sprintf("killed after %s, the longest it may run", r.Resources.Wall)
			killAll(at)
		}
	}
}

// exitCode is that of a shell: 128+n after signal n.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
