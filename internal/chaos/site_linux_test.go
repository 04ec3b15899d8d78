package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/devtest"
	"floe/internal/devtest/binaries"
	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/stack"
)

// canary is a key that the workers have and nobody may ever see again.
const canary = "sk-canary-7c21b9"

// programs is the folder with worker, starter, devstack and scripted, once a site
// needs them.
var programs string

// site is a devstack with workers. Each worker reaches Temporal and the store
// over lines of its own.
type site struct {
	t     *testing.T
	say   func(format string, args ...any)
	data  string // of devstack
	logs  string
	mark  string                     // in the environment of all its processes
	info  stack.Info                 // once it is up; the same after restarts
	ports atomic.Pointer[stack.Info] // what devstack is to be started again with
	stack *program
	work  []*program
	wires []*devtest.Wire // to Temporal
	lines []*storeLine    // to the store
	disk  *disk           // of the store, where it can be filled
}

// newSite starts a devstack, and workers once it is up. Prepare may ready its data
// folder before.
func newSite(t *testing.T, logs string, say func(string, ...any), prepare func(*site)) *site {
	t.Helper()
	var err error
	if programs, err = binaries.Build(binaries.Worker, binaries.Starter, binaries.Scripted, binaries.Devstack); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, say: say, logs: logs, data: filepath.Join(t.TempDir(), "data")}
	s.mark = fmt.Sprintf("FLOE_CHAOS_SITE=%s-%d", filepath.Base(filepath.Dir(s.data)), os.Getpid())
	for _, dir := range []string{filepath.Join(s.data, "s3"), logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	prepare(s)
	s.stack = s.program("devstack", s.stackArgs)
	s.stack.run()
	t.Cleanup(s.close)
	s.until("devstack to be up", s.up)
	if s.info, err = stack.Read(s.data); err != nil {
		t.Fatal(err)
	}
	s.ports.Store(&s.info)
	for i := range workers {
		s.connect(i)
	}
	return s
}

// connect starts a worker and its lines.
func (s *site) connect(i int) {
	s.t.Helper()
	wire, err := devtest.NewWire(s.info.Temporal)
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := newStoreLine(s.info.S3)
	if err != nil {
		s.t.Fatal(err)
	}
	w := s.program(fmt.Sprintf("worker-%d", i), func() (string, []string) {
		return filepath.Join(programs, "worker"), []string{
			"--address", wire.Address(), "--namespace", s.info.Namespace,
			"--s3-endpoint", line.server.URL, "--bucket", s.info.Bucket, "--folder", s.home(fmt.Sprintf("worker-%d", i)),
		}
	})
	w.env = append(w.env, skill.EnvDiary+"="+s.home(fileDiary), skill.EnvDevice+"="+s.home(fmt.Sprintf("device-%d", i)), trainjob.EnvSlow+"=150ms", "OPENAI_API_KEY="+canary, "AWS_SHARED_CREDENTIALS_FILE="+s.info.Credentials, "AWS_REGION="+s.info.Region)
	s.wires, s.lines, s.work = append(s.wires, wire), append(s.lines, line), append(s.work, w)
	w.run()
}

func (s *site) program(name string, args func() (string, []string)) *program {
	home := filepath.Dir(s.data)
	return &program{
		name: name, args: args, say: s.say, dir: home, log: filepath.Join(s.logs, name+".log"),
		env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home, s.mark},
	}
}

// home is a file or folder of the site.
func (s *site) home(name string) string { return filepath.Join(filepath.Dir(s.data), name) }

// stackArgs keeps the ports over restarts.
func (s *site) stackArgs() (string, []string) {
	var known stack.Info
	if p := s.ports.Load(); p != nil {
		known = *p
	}
	return filepath.Join(programs, "devstack"), []string{
		"--data", s.data, "-q", "--temporal-port", portOf(known.Temporal), "--ui-port", portOf(known.UI), "--s3-port", portOf(known.S3),
	}
}

// portOf is the port of an address or URL; "0", any, where there is none yet.
func portOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		return port
	}
	return "0"
}

func (s *site) up() bool {
	info, err := stack.Read(s.data)
	return err == nil && info.Alive()
}

// bucket is where the store keeps its objects on the disk.
func (s *site) bucket() string { return filepath.Join(s.data, "s3", s.info.Bucket) }

// stopWorkers ends the workers, and the lines with them.
func (s *site) stopWorkers() {
	for i, w := range s.work {
		w.end()
		s.lines[i].server.CloseClientConnections()
		s.lines[i].server.Close()
		if err := s.wires[i].Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.work = nil
}

// close ends everything. A second time it does nothing.
func (s *site) close() {
	s.stopWorkers()
	s.stack.end()
}

// starter runs the command line to its end. It goes to the servers directly.
func (s *site) starter(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "starter"), append(args, "--data", s.data)...)
	cmd.Dir = filepath.Dir(s.data)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "NO_COLOR=1", s.mark}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Errorf("starter %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// ask runs the command line with JSON as its output; false if it failed or the
// answer is not what it should be, as while servers are down.
func (s *site) ask(into any, args ...string) bool {
	s.t.Helper()
	out, _, _ := s.starter(append(args, "-o", "json")...)
	return out != "" && json.Unmarshal([]byte(out), into) == nil
}

// until polls a condition.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	if err := reach(what, ok); err != nil {
		s.t.Fatal(err)
	}
}

func reach(what string, ok func() bool) error {
	if !within(2*time.Minute, ok) {
		return fmt.Errorf("waited two minutes for %s", what)
	}
	return nil
}

// within polls a condition until it holds or time is up.
func within(patience time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			return false
		}
		<-time.After(100 * time.Millisecond)
	}
	return true
}
