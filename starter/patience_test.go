package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOnlyServicesThatAreBeingStartedAreWaitedFor asks another server while a
// starter supervises the services of this machine.
func TestOnlyServicesThatAreBeingStartedAreWaitedFor(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	data := filepath.Join(state, "floe")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := takeLock(filepath.Join(data, "dev.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !supervised(data) {
		t.Fatal("the folder does not look supervised")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := func(args ...string) {
		t.Helper()
		var out, errOut bytes.Buffer
		began := time.Now()
		code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
		if code != exitUnreachable || strings.Contains(errOut.String(), "being started") || time.Since(began) > readyWithin/2 {
			t.Errorf("%v: exit code %d after %v: %s", args, code, time.Since(began), errOut.String())
		}
	}
	elsewhere("list", "--address", gone)
	elsewhere("artifacts", "ls", "x", "--s3-endpoint", "http://"+gone)
	t.Setenv("TEMPORAL_ADDRESS", gone)
	elsewhere("list")
}
