package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"floe/internal/disk"
	"floe/internal/endpoint"
	"floe/internal/job"
	"floe/internal/pause"
)

// Local starts servers on this machine.
type Local struct {
	Jobs job.Backend // starts programs on this machine: job/backend/process
	Root string      // folder of what is to be known of servers, on a local disk
	// Guard is the argument vector of a program that calls Guard with one more
	// argument, the last; this program under Verb when empty.
	Guard []string
}

// Server is a server by its settings. It is not started yet.
func (l Local) Server(s Settings) (Server, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(l.Root)
	if err != nil {
		return nil, err
	}
	l.Root = root
	if len(l.Guard) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		l.Guard = []string{self, Verb}
	}
	return &local{Local: l, settings: s, dialect: dialects[s.Kind]}, nil
}

// local is one server. The running attempt is found again by name.
type local struct {
	Local

	settings Settings
	dialect  dialect

	mu      sync.Mutex
	attempt int    // that is held; 0: none
	url     string // of it
	lease   *lease
}

func (s *local) job() string { return "serve-" + s.settings.Name }

func (s *local) dir(attempt int) string {
	return filepath.Join(s.Root, s.settings.Name, fmt.Sprintf("a%d", attempt))
}

const (
	pollStart = 200 * time.Millisecond
	stopGrace = 30 * time.Second
	logTail   = 4 << 10

	watchEvery = time.Second
)

// Start implements Server.
func (s *local) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(s.settings.StartWithin, startWithin),
		fmt.Errorf("server %s was not ready within %s", s.settings.Name, cmp.Or(s.settings.StartWithin, startWithin)))
	defer cancel()
	for {
		adopted, err := s.hold(ctx)
		if err == nil {
			err = s.ready(ctx)
		}
		if err == nil {
			return nil
		}
		if adopted && ctx.Err() == nil && errors.Is(err, errEnded) || errors.Is(err, errEnding) {
			if err := s.gone(ctx); err != nil {
				return err
			}
			continue // what was adopted has ended meanwhile: start one
		}
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		// It may still become ready: who tries again before its guard ends it adopts it.
		return fmt.Errorf("start server %s: %w", s.settings.Name, errors.Join(err, s.release()))
	}
}

// hold makes sure that an attempt runs whose lease is ours: the last one, if it has
// not ended, or the next.
func (s *local) hold(ctx context.Context) (adopted bool, err error) {
	if err := s.release(); err != nil {
		return false, err
	}
	attempt, live, err := s.last(ctx)
	if err != nil {
		return false, err
	}
	if !live {
		attempt++
	}
	r, err := s.request(attempt)
	if err != nil {
		return live, err
	}
	if err := os.MkdirAll(r.Dir, 0o750); err != nil {
		return live, err
	}
	if s.lease, err = holdLease(ctx, r.Dir); err != nil {
		return live, err
	}
	s.attempt = attempt
	_, err = s.Jobs.Submit(ctx, r)
	return live, err
}

// last finds the newest attempt, and whether it can still be at work.
func (s *local) last(ctx context.Context) (attempt int, live bool, err error) {
	for n := 1; ; n++ {
		st, err := s.Jobs.Status(ctx, job.Name(s.job(), n))
		if errors.Is(err, job.ErrUnknown) {
			return n - 1, live, nil
		}
		if err != nil {
			return 0, false, err
		}
		live = !st.State.Final()
	}
}

// request is the guard as a job. Settings that come to the same command are the same
// server; others are a conflict.
func (s *local) request(attempt int) (job.Request, error) {
	body, err := s.settings.command()
	if err != nil {
		return job.Request{}, err
	}
	sum := job.Digest(body)
	spec := filepath.Join(s.Root, s.settings.Name, sum+".json")
	if err := os.MkdirAll(filepath.Dir(spec), 0o750); err != nil {
		return job.Request{}, err
	}
	if old, err := os.ReadFile(spec); err != nil || !bytes.Equal(old, body) { //nolint:gosec // a path of our own
		if err := disk.WriteAtomic(spec, body); err != nil {
			return job.Request{}, err
		}
	}
	return job.Request{
		Job: s.job(), Attempt: attempt, Command: append(slices.Clip(s.Guard), spec),
		Spec: spec, SpecSHA256: sum, Dir: s.dir(attempt), Grace: stopGrace,
	}, nil
}

// errEnded is an attempt that ended before it was ready.
var errEnded = errors.New("it ended")

// ready waits until the server is healthy and proven.
func (s *local) ready(ctx context.Context) error {
	var last error
	for {
		st, err := s.Jobs.Status(ctx, job.Name(s.job(), s.attempt))
		if err != nil {
			return errors.Join(err, last)
		}
		if st.State.Final() {
			return fmt.Errorf("%w: %s; the end of its log:\n%s", errEnded, st, s.tail(ctx, job.Name(s.job(), s.attempt)))
		}
		if last = s.look(ctx); last == nil {
			return s.prove(ctx)
		}
		if err := pause.For(ctx, pollStart); err != nil {
			return last
		}
	}
}

// look finds the address and asks whether the server is healthy.
func (s *local) look(ctx context.Context) error {
	body, err := os.ReadFile(filepath.Join(s.dir(s.attempt), fileAddress))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it has not said where it listens")
	}
	if err != nil {
		return err
	}
	var at address
	if err := json.Unmarshal(body, &at); err != nil {
		return err
	}
	s.url = at.URL
	return s.admin().call(ctx, quickCall, http.MethodGet, s.dialect.health, nil, nil)
}

// prove wakes a server that was left asleep and checks which model it serves.
func (s *local) prove(ctx context.Context) error {
	if s.settings.Sleep && s.dialect.sleeping != nil {
		asleep, err := s.dialect.sleeping(ctx, s.admin())
		if err != nil {
			return err
		}
		if asleep {
			if err := s.dialect.wake(ctx, s.admin()); err != nil {
				return err
			}
		}
	}
	return s.dialect.verify(ctx, s.admin(), s.settings)
}

func (s *local) tail(ctx context.Context, name string) string {
	var log bytes.Buffer
	if err := s.Jobs.Logs(context.WithoutCancel(ctx), name, job.LogOptions{}, &log); err != nil {
		return "(" + err.Error() + ")"
	}
	text := log.Bytes()
	if len(text) > logTail {
		text = text[len(text)-logTail:]
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(text), nil))
}

// gone waits until the attempt has ended that was found ending.
func (s *local) gone(ctx context.Context) error {
	n, live, err := s.last(ctx)
	if err != nil || !live {
		return err
	}
	return s.Jobs.Stop(ctx, job.Name(s.job(), n), stopGrace)
}

// admin speaks to the server. It wants no key, and gets none.
func (s *local) admin() admin {
	e, _ := endpoint.New(s.url+"/v1", "") // not started: speaking to it says that it has no address
	return admin{name: "server " + s.settings.Name, at: e}
}
