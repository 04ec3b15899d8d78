package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"floe/internal/filelock"
	"floe/internal/stack"
)

// readyWithin bounds the wait for a service to come up.
const readyWithin = 60 * time.Second

// ports of the development stack; 0 is any free one.
type ports struct{ temporal, ui, s3 int }

func (p *ports) register(fs *pflag.FlagSet) {
	fs.IntVar(&p.temporal, "temporal-port", 7233, "`PORT` of the Temporal server that is started (0: any free one)")
	fs.IntVar(&p.ui, "ui-port", 8233, "`PORT` of the Temporal Web UI that is started")
	fs.IntVar(&p.s3, "s3-port", 9233, "`PORT` of the S3 store that is started")
}

// services supervises the development stack and a worker on this machine. Both
// are started again when they die.
type services struct {
	data     string
	mu       sync.Mutex
	ports    ports // as asked for, then as they are; under mu
	say      func(format string, args ...any)
	lock     *os.File
	declared *declaration
	running  []*process // in the order of their start
	failed   chan error // why a service could not be kept up
}

var errOther = errors.New("another starter runs the services")

// startServices brings up what is not running yet. Where another starter
// supervises this folder it waits for that one's stack and returns errOther.
func startServices(ctx context.Context, data string, p ports, say func(string, ...any)) (*services, error) {
	if err := makeDataDir(data); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(data, "dev.lock"))
	if errors.Is(err, errOther) {
		if err := waitStack(ctx, data, nil); err != nil {
			return nil, err
		}
		return nil, errOther
	}
	if err != nil {
		return nil, err
	}
	s := &services{data: data, ports: p, say: say, lock: lock, declared: declareIn(data, say), failed: make(chan error, 2)}
	if err := s.up(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// makeDataDir makes the folder of the services, for this user alone.
func makeDataDir(data string) error {
	err := os.MkdirAll(filepath.Join(data, "logs"), 0o700)
	if err == nil {
		err = unix.Access(filepath.Join(data, "logs"), unix.W_OK|unix.X_OK)
	}
	if err == nil {
		return nil
	}
	if to, link := os.Readlink(data); link == nil {
		if _, gone := os.Stat(data); gone != nil {
			err = fmt.Errorf("it is a link to %s, which does not exist", to)
		}
	}
	return fail(exitUsage, "the data folder %s cannot be used: %w; name another with --data", data, err)
}

// up starts the stack, unless one runs already, and then the worker.
func (s *services) up(ctx context.Context) error {
	if info, err := stack.Read(s.data); err != nil || !info.Alive() {
		if err := s.start("devstack", s.stackArgs); err != nil { //nolint:contextcheck // a service outlives the call that starts it
			return err
		}
	}
	if err := waitStack(ctx, s.data, s.failed); err != nil {
		return err
	}
	s.keepPorts()
	return s.start("worker", //nolint:contextcheck // as above
		func() []string { return []string{"--data", s.data} })
}

// stackArgs are the arguments of the stack, at its first start and later ones.
func (s *services) stackArgs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []string{
		"--data", s.data, "-q", "--temporal-port", strconv.Itoa(s.ports.temporal),
		"--ui-port", strconv.Itoa(s.ports.ui), "--s3-port", strconv.Itoa(s.ports.s3),
	}
}

// keepPorts holds on to the ports of the running stack: when it dies it is started
// again on them, since the worker and everybody else know its addresses.
func (s *services) keepPorts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := stack.Read(s.data); err == nil {
		s.ports = ports{portOf(info.Temporal), portOf(info.UI), portOf(info.S3)}
	}
}

// portOf is the port of an address or URL of this machine; 0 if it has none.
func portOf(address string) int {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

func (s *services) start(name string, args func() []string) error {
	p, err := startProcess(name, filepath.Join(s.data, "logs", name+".log"), args, s.say, s.declared.runs, s.failed)
	if err == nil {
		s.running = append(s.running, p)
	}
	return err
}

// Stop stops what was started, last first, and returns when all of it is gone.
func (s *services) Stop() {
	for _, v := range slices.Backward(s.running) {
		v.stop()
	}
	if err := s.lock.Close(); err != nil {
		s.say("release %s: %v", s.lock.Name(), err)
	}
}

// waitStack waits until the stack's file says that it is up.
func waitStack(ctx context.Context, data string, failed <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if info, err := stack.Read(data); err == nil && info.Alive() {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("wait for the development stack in %s: %w", data, ctx.Err())
		}
	}
}

// takeLock makes this process the one supervisor of a folder. The file holds
// its pid, for `dev --stop` and for people.
func takeLock(file string) (*os.File, error) {
	f, err := filelock.Take(file)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, errOther
	}
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	return f, err
}
