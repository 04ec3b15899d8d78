package jobtest

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"floe/internal/job"
)

func (s *suite) aStopLetsTheJobSave() {
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	if err := job.Stop(s.Context(), s.Backend, t.files(), t.Request); err != nil {
		s.Fatal(err)
	}
	st := s.status(t)
	s.wantExit(st, job.ExitStopped)
	s.wantOutcome(t, st, job.Interrupted)
	if latest, err := job.Latest(t.files()); err != nil || latest != "checkpoints/step-000001" {
		s.Errorf("the latest checkpoint is %q, %v; want that of step 1", latest, err)
	}
	again := t.next()
	s.letGo(again)
	s.submit(again)
	st = s.end(again)
	s.wantOutcome(again, st, job.Success)
	m, err := job.ReadMetrics(t.files())
	if err != nil || len(m) != steps || m[0].Attempt != 1 || m[1].Attempt != 2 {
		s.Errorf("metrics are %+v, %v; want step 1 of attempt 1 and the others of attempt 2", m, err)
	}
}

func (s *suite) aStopKills() {
	t := s.task("deaf")
	s.submit(t)
	var pids []string
	s.until("the deaf job", func() bool { pids = s.lines(t, "pids"); return len(pids) == 2 })
	t.Grace = time.Second
	if err := job.Stop(s.Context(), s.Backend, t.files(), t.Request); err != nil {
		s.Fatal(err)
	}
	st := s.status(t)
	if !st.State.Final() || (st.ExitCode != nil && *st.ExitCode != job.ExitKilled) || (st.ExitCode == nil && !s.NoExitAfterStop) {
		s.Errorf("got %s; want it killed", st)
	}
	s.wantOutcome(t, st, job.Interrupted)
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			s.Fatal(err)
		}
		s.until("process "+pid+" to be gone", func() bool { return !alive(n) })
	}
}

func (s *suite) stoppingTheEnded() {
	t := s.task("")
	s.submit(t)
	before := s.end(t)
	for range 2 {
		if err := s.Stop(s.Context(), t.Name(), time.Minute); err != nil {
			s.Fatal(err)
		}
	}
	after := s.status(t)
	s.wantExit(after, job.ExitDone)
	if !after.Ended.Equal(before.Ended) {
		s.Errorf("it had ended at %s, and after a stop at %s", before.Ended, after.Ended)
	}
	s.wantOutcome(t, after, job.Success)
}

func (s *suite) anotherWorker() {
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	other := &suite{T: s.T, World: s.World, Backend: s.Open(s.T), trainer: s.trainer}
	if st := other.status(t); st.State != job.Running || st.Where == "" {
		s.Errorf("another worker sees %+v; want it running somewhere", st)
	}
	if st := other.submit(t); st.State != job.Running {
		s.Errorf("submitted by another worker it is %s; want the running one", st)
	}
	var log bytes.Buffer
	if err := other.Logs(s.Context(), t.Name(), job.LogOptions{}, &log); err != nil || !strings.Contains(log.String(), "goes on from step 0") {
		s.Errorf("another worker reads the log %q, %v", log.String(), err)
	}
	if err := job.Stop(s.Context(), other.Backend, t.files(), t.Request); err != nil {
		s.Fatal(err)
	}
	s.wantExit(s.status(t), job.ExitStopped)
	if starts := s.lines(t, "starts"); len(starts) != 1 {
		s.Errorf("it was started %d times; want once", len(starts))
	}
}

func (s *suite) noTwoAttempts() {
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	_, err := job.Launch(s.Context(), s.Backend, t.next().Request)
	if busy, ok := errors.AsType[*job.BusyError](err); !ok || busy.Status.Name != t.Name() {
		s.Errorf("launching the next attempt: %v; want to be told that the first runs", err)
	}
	// Without the check the second finds the directory held.
	second := t.next()
	if _, err := s.Submit(s.Context(), second.Request); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.tidy(second) })
	s.wantExit(s.end(second), job.ExitBusy)
}

// together is a buffer that is read while it is written.
type together struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *together) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written.
func (b *together) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (s *suite) logsAreFollowed() {
	t := s.task("hold")
	s.submit(t)
	var log together
	told := make(chan error, 1)
	go func() { told <- s.Logs(s.Context(), t.Name(), job.LogOptions{Follow: true}, &log) }()
	s.until("the log of a running job", func() bool { return strings.Contains(log.String(), "step 1 holds") })
	s.letGo(t)
	select {
	case err := <-told:
		if err != nil {
			s.Error(err)
		}
	case <-time.After(Patience):
		s.Fatal("following did not end with the job")
	}
	if st := s.status(t); !st.State.Final() {
		s.Errorf("following ended while it is %s", st)
	}
	for _, want := range []string{"attempt 1 goes on from step 0", "on standard error"} {
		if !strings.Contains(log.String(), want) {
			s.Errorf("the log %q lacks %q", log.String(), want)
		}
	}
}

func (s *suite) logsGoOn() {
	t := s.task("")
	s.submit(t)
	s.end(t)
	var whole, rest bytes.Buffer
	if err := s.Logs(s.Context(), t.Name(), job.LogOptions{Follow: true}, &whole); err != nil {
		s.Fatal(err)
	}
	if whole.Len() < 20 {
		s.Fatalf("the whole log is %q", whole.String())
	}
	for _, from := range []int64{7, int64(whole.Len()), int64(whole.Len()) + 1000} {
		rest.Reset()
		if err := s.Logs(s.Context(), t.Name(), job.LogOptions{From: from}, &rest); err != nil {
			s.Fatal(err)
		}
		if want := whole.String()[min(from, int64(whole.Len())):]; rest.String() != want {
			s.Errorf("from byte %d the log is %q; want %q", from, rest.String(), want)
		}
	}
	if err := s.Logs(s.Context(), t.Name(), job.LogOptions{}, brokenWriter{}); !errors.Is(err, errBroken) {
		s.Errorf("a writer that fails: %v; want its error", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

// Write implements io.Writer.
func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

var _ io.Writer = brokenWriter{}

func (s *suite) preemption() {
	if s.Preempt == nil {
		s.Skip("this system takes no machine away by itself")
	}
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	s.Preempt(s.T, t.Name())
	if !s.Restarts {
		st := s.end(t)
		s.wantOutcome(t, st, job.Interrupted)
		return
	}
	s.until("a restart", func() bool {
		st := s.status(t)
		if st.State.Final() {
			s.Fatalf("after preemption it is %s; want it to wait or run again", st)
		}
		return st.Restarts == 1 && len(s.lines(t, "starts")) == 2
	})
	s.letGo(t)
	s.wantOutcome(t, s.end(t), job.Success)
}

func (s *suite) aStranger() {
	if s.Stranger == nil {
		s.Skip("this system gives nothing twice, or shows nothing to compare")
	}
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	runs := s.Stranger(s.T, t.Name())
	other := &suite{T: s.T, World: s.World, Backend: s.Open(s.T), trainer: s.trainer}
	for range 2 { // before and after a stop
		st, err := other.Status(s.Context(), t.Name())
		if !errors.Is(err, job.ErrUnknown) && (err != nil || !st.State.Final()) {
			s.Errorf("the status is %s, %v; want the attempt gone", st, err)
		}
		if st, err := other.Submit(s.Context(), t.Request); err == nil && !st.State.Final() {
			s.Errorf("submitted again it is %s; want the stranger left alone", st)
		}
		if err := other.Stop(s.Context(), t.Name(), 0); err != nil {
			s.Errorf("stop: %v", err)
		}
		if !runs() {
			s.Fatal("the stranger was stopped")
		}
	}
	if starts := s.lines(t, "starts"); len(starts) != 1 {
		s.Errorf("the attempt was started %d times; want once", len(starts))
	}
}
