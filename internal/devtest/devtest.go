// Package devtest runs the real Temporal and S3 servers for tests: the program
// devstack, built from this repository, on free ports, in a folder of the test.
//
// A test that kills servers takes one of its own with Start. Others share one
// per package with Shared, which needs a TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }
package devtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"floe/internal/artifact/s3"
	"floe/internal/devtest/binaries"
	"floe/internal/stack"
)

// Stack is a running devstack.
type Stack struct {
	stack.Info        // where it listens; the same after Restart
	Dir        string // its data folder

	t testing.TB
	p *process
}

// Start runs a devstack until the test ends.
func Start(t testing.TB) *Stack {
	t.Helper()
	notWithShort(t)
	s := &Stack{t: t, Dir: t.TempDir()}
	if err := s.start("0", "0", "0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.p.stop(); err != nil {
			t.Error(err)
		}
		s.tellIfFailed(t)
	})
	return s
}

// notWithShort leaves servers to the long run of the tests.
func notWithShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Temporal and an S3 store: not with -short")
	}
}

func (s *Stack) start(temporal, ui, s3 string) error {
	programs, err := binaries.Build(binaries.Devstack)
	if err != nil {
		return err
	}
	s.p, err = launch(filepath.Join(programs, binaries.Devstack), "--data", s.Dir, "--temporal-port", temporal, "--ui-port", ui, "--s3-port", s3)
	if err != nil {
		return err
	}
	if s.Info, err = stack.Read(s.Dir); err != nil {
		return errors.Join(err, s.p.stop())
	}
	return nil
}

// Kill9 kills devstack as a lost battery would, and returns when it is dead.
func (s *Stack) Kill9() {
	s.t.Helper()
	if err := s.p.kill(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop stops devstack as a person would. Stopping twice is fine.
func (s *Stack) Stop() {
	s.t.Helper()
	if err := s.p.stop(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts devstack again on the same folder and ports, after stopping it
// if it runs.
func (s *Stack) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(portOf(s.Temporal), portOf(s.UI), portOf(s.S3)); err != nil {
		s.t.Fatal(err)
	}
}

func portOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "0"
	}
	return port
}

// Settings reach the stack's bucket.
func (s *Stack) Settings() s3.Settings {
	return s3.Settings{Bucket: s.Bucket, Endpoint: s.S3, Region: s.Region, CredentialsFile: s.Credentials}
}

// Store opens the stack's bucket.
func (s *Stack) Store() *s3.Store {
	s.t.Helper()
	store, err := s3.Open(s.t.Context(), s.Settings())
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// tellIfFailed shows the end of what the servers logged.
func (s *Stack) tellIfFailed(t testing.TB) {
	if !t.Failed() {
		return
	}
	t.Logf("devstack said:\n%s", s.p.log)
	logs, _ := filepath.Glob(filepath.Join(s.Dir, "logs", "*")) // the pattern is well-formed
	for _, file := range logs {
		content, err := os.ReadFile(file) //nolint:gosec // of our own folder
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%s ends:\n%s", filepath.Base(file), content[max(0, len(content)-tailBytes/2):])
	}
}

// shared is the one stack of this test program.
var shared struct {
	sync.Mutex
	usable bool // Run is there to stop it
	stack  *Stack
	err    error
}

// Shared is one stack for all tests of a package, started when the first asks.
// Leave it running, and keep apart by names what tests store in it.
func Shared(t testing.TB) *Stack {
	t.Helper()
	notWithShort(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.usable {
		t.Fatal("devtest.Shared needs: func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }")
	}
	if shared.stack == nil && shared.err == nil {
		shared.stack, shared.err = startShared()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := *shared.stack
	s.t = t
	t.Cleanup(func() { s.tellIfFailed(t) })
	return &s
}

func startShared() (*Stack, error) {
	dir, err := os.MkdirTemp("", "floe-devtest-")
	if err != nil {
		return nil, err
	}
	s := &Stack{Dir: dir}
	if err := s.start("0", "0", "0"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Run runs the tests of a package and stops the stack they shared.
func Run(m *testing.M) (exitCode int) {
	shared.usable = true
	exitCode = binaries.Run(m)
	if shared.stack == nil {
		return exitCode
	}
	if err := errors.Join(shared.stack.p.stop(), os.RemoveAll(shared.stack.Dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(exitCode, 1)
	}
	return exitCode
}
