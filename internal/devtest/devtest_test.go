package devtest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/devtest"
)

func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }

func TestWhatWasStoredSurvivesAKill(t *testing.T) {
	s := devtest.Start(t)
	store := s.Store()
	before := s.Info
	if err := store.Put(t.Context(), "a/b", strings.NewReader("kept")); err != nil {
		t.Fatal(err)
	}
	s.Kill9()
	if s.Alive() {
		t.Error("killed, and still alive")
	}
	if _, err := store.Get(t.Context(), "a/b"); err == nil || errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("get from a dead server: %v; want an error that is not ErrNotFound", err)
	}
	s.Restart()
	if !s.Alive() || s.PID == before.PID || s.S3 != before.S3 || s.Temporal != before.Temporal || s.UI != before.UI {
		t.Errorf("restarted as %+v; want another pid on the ports of %+v", s.Info, before)
	}
	r, err := store.Get(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(got) != "kept" {
		t.Errorf("got %q, %v", got, err)
	}
	s.Stop()
	s.Stop()
	if s.Alive() {
		t.Error("stopped, and still alive")
	}
}

func TestTestsShareAStack(t *testing.T) {
	a, b := devtest.Shared(t), devtest.Shared(t)
	if a.PID != b.PID || a.Dir != b.Dir {
		t.Errorf("two stacks: %+v, %+v", a.Info, b.Info)
	}
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", a.Temporal)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Store().Check(t.Context()); err != nil {
		t.Error(err)
	}
}
