package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
)

func TestImports(t *testing.T) {
	importtest.Check(t, importtest.NoTemporal, importtest.NoAWS, importtest.NoNetwork)
}

func request() job.Request {
	return job.Request{Job: "train-1", Attempt: 1, Command: []string{"true"}, Spec: "/spec.json", SpecSHA256: job.Digest(nil), Dir: "/job"}
}

// known looks for the file that hand leaves.
func known(rec attempt.Folder) (bool, error) {
	_, err := os.Stat(rec.Path(attempt.FileSubmitted))
	return err == nil, nil
}

func TestOfManyWorkersOneHandsAnAttemptOver(t *testing.T) {
	root := t.TempDir()
	var handed atomic.Int32
	hand := func(rec attempt.Folder) error {
		handed.Add(1)
		return rec.Write(attempt.FileSubmitted, map[string]string{"id": "7"})
	}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			if err := attempt.Submit(root, request(), known, hand); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if n := handed.Load(); n != 1 {
		t.Errorf("it was handed over %d times; want once", n)
	}
	other := request()
	other.SpecSHA256 = job.Digest([]byte("another"))
	if _, ok := errors.AsType[*job.ConflictError](attempt.Submit(root, other, known, hand)); !ok {
		t.Error("another spec of the name was taken; want a conflict")
	}
}

func TestAnAttemptThatWasForbiddenIsNeverHandedOver(t *testing.T) {
	root := t.TempDir()
	rec, err := attempt.Claim(root, request())
	if err != nil {
		t.Fatal(err)
	}
	if forbidden, err := rec.Forbid(known); !forbidden || err != nil {
		t.Fatalf("got %v, %v; want it forbidden", forbidden, err)
	}
	hand := func(attempt.Folder) error { return errors.New("handed over") }
	if err := attempt.Submit(root, request(), known, hand); err != nil {
		t.Error(err)
	}
	s, err := rec.Status(func() (job.Status, error) { return job.Status{}, errors.New("asked") })
	if err != nil || s.State != job.Ended || s.ExitCode == nil || *s.ExitCode != job.ExitTerm {
		t.Errorf("got %s, %v; want it ended as by SIGTERM", s, err)
	}
	if forbidden, err := rec.Forbid(known); forbidden || err != nil {
		t.Errorf("again: %v, %v; want no more to do", forbidden, err)
	}
}

func TestAnEndThatWasSeenIsKept(t *testing.T) {
	rec, err := attempt.Claim(t.TempDir(), request())
	if err != nil {
		t.Fatal(err)
	}
	answers := []job.Status{{Name: rec.Name, State: job.Running}, {Name: rec.Name, State: job.Ended, Reason: "the first end"}, {Name: rec.Name, State: job.Lost}}
	for i, want := range []job.State{job.Running, job.Ended, job.Ended} {
		s, err := rec.Status(func() (job.Status, error) { return answers[i], nil })
		if err != nil || s.State != want {
			t.Errorf("answer %d: got %s, %v; want it %s", i, s, err, want)
		}
	}
}

// backend answers Status only.
type backend struct {
	job.Backend
	state job.State
	err   error
}

// Status implements job.Backend.
func (b backend) Status(context.Context, string) (job.Status, error) {
	return job.Status{State: b.state}, b.err
}

func TestWhatHasEndedOrIsNotKnownIsGone(t *testing.T) {
	trouble := errors.New("the network is down")
	for _, c := range []struct {
		b    backend
		gone bool
		err  error
	}{
		{backend{state: job.Running}, false, nil},
		{backend{state: job.Pending}, false, nil},
		{backend{state: job.Ended}, true, nil},
		{backend{state: job.Preempted}, true, nil},
		{backend{err: job.ErrUnknown}, true, nil},
		{backend{err: trouble}, false, trouble},
	} {
		if gone, err := attempt.Gone(c.b, "train-1-a1")(t.Context()); gone != c.gone || !errors.Is(err, c.err) {
			t.Errorf("%+v: got %v, %v; want %v, %v", c.b, gone, err, c.gone, c.err)
		}
	}
}

func TestATailIsWhatComesAfterAByteHoweverItIsWritten(t *testing.T) {
	const text = "0123456789"
	for from := range int64(13) {
		for _, piece := range []int{1, 3, 10} {
			var out bytes.Buffer
			tail := &attempt.Tail{W: &out, Skip: from}
			n, err := io.CopyBuffer(struct{ io.Writer }{tail}, struct{ io.Reader }{strings.NewReader(text)}, make([]byte, piece))
			if want := text[min(from, 10):]; err != nil || n != 10 || out.String() != want || tail.Wrote != int64(len(want)) {
				t.Errorf("from %d by %d: got %q, %v; want %q", from, piece, out.String(), err, want)
			}
		}
	}
}

func TestATailKeepsTheTroubleOfItsWriter(t *testing.T) {
	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tail := &attempt.Tail{W: closed, Skip: 2}
	if _, err := io.WriteString(tail, "0123"); !errors.Is(err, os.ErrClosed) || !errors.Is(tail.Err, os.ErrClosed) || tail.Wrote != 0 {
		t.Errorf("got %v, kept %v; want that its file is closed", err, tail.Err)
	}
}

func TestUntilGivesUpInTimeAndWithItsContext(t *testing.T) {
	never := func(context.Context) (bool, error) { return false, nil }
	if ok, err := attempt.Until(t.Context(), 20*time.Millisecond, never); ok || err != nil {
		t.Errorf("got %v, %v; want that it did not hold", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := attempt.Until(ctx, time.Hour, never); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that the context has ended", err)
	}
}
