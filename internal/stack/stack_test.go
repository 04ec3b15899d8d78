package stack_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"floe/internal/stack"
)

const whole = `{"schema":"floe.devstack/v1","pid":%d,"temporal":"127.0.0.1:7233","namespace":"default",
"ui":"http://127.0.0.1:8233","s3":"http://127.0.0.1:9233","region":"us-east-1","bucket":"floe","credentials":"/d/credentials","new":1}`

func write(t *testing.T, body string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stack.json"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, pid int) (stack.Info, string) {
	t.Helper()
	dir := write(t, fmt.Sprintf(whole, pid))
	info, err := stack.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return info, dir
}

func TestAStackIsRead(t *testing.T) {
	info, _ := read(t, 4711)
	if info.PID != 4711 || info.Temporal != "127.0.0.1:7233" || info.S3 != "http://127.0.0.1:9233" || info.Credentials != "/d/credentials" {
		t.Errorf("read %+v", info)
	}
}

func TestNoStackIsNotExist(t *testing.T) {
	if _, err := stack.Read(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v; want os.ErrNotExist", err)
	}
}

func TestABadStateIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		"{":                             "stack.json",
		`{"schema":"floe.devstack/v9"}`: "another version",
		`{"schema":"floe.devstack/v1"}`: "no temporal\nno namespace\nno ui\nno s3\nno region\nno bucket\nno credentials\npid 0",
	} {
		if _, err := stack.Read(write(t, body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want it to say %q", body, err, want)
		}
	}
}

func TestTheLockTellsWhetherAStackLives(t *testing.T) {
	info, dir := read(t, os.Getpid())
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Alive() {
		t.Error("nobody holds the lock; want it dead although the pid lives")
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if !info.Alive() {
		t.Error("the lock is held; want it alive")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if info.Alive() {
		t.Error("the lock was given back; want it dead")
	}
}

func TestWithoutALockThePidTells(t *testing.T) {
	if info, _ := read(t, os.Getpid()); !info.Alive() {
		t.Error("this process lives")
	}
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Skip("no program true here")
	}
	if info, _ := read(t, gone.Process.Pid); info.Alive() {
		t.Error("a process that has ended is called alive")
	}
}

func TestTheDefaultFolderFollowsXDG(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for state, want := range map[string]string{
		"/var/state": "/var/state/floe",
		"":           "/home/ada/.local/state/floe",
		"relative":   "/home/ada/.local/state/floe",
	} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := stack.DefaultDir(); err != nil || got != want {
			t.Errorf("XDG_STATE_HOME=%q: %q, %v; want %q", state, got, err, want)
		}
	}
}

func TestAUserWithoutAHomeSeesWhatToSet(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	if got, err := stack.DefaultDir(); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_STATE_HOME, or name a folder with --data") {
		t.Errorf("%q, %v", got, err)
	}
}
