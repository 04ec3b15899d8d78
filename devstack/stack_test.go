package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

func TestReadyLineAndStateFileAgree(t *testing.T) {
	s := shared.state(t)
	want := fmt.Sprintf("devstack ready: temporal %s · ui %s · s3 %s · data %s\n", s.Temporal, s.UI, s.S3, shared.dir)
	if got := shared.stdout.String(); got != want {
		t.Errorf("stdout %q; want %q", got, want)
	}
	if age := time.Since(s.Started); age < 0 || age > time.Hour {
		t.Errorf("started %v; want a moment ago", s.Started)
	}
	s.Started = time.Time{}
	constant := state{
		Schema: "floe.devstack/v1", PID: shared.pid(), Temporal: s.Temporal, Namespace: "default", UI: s.UI, S3: s.S3,
		Region: "us-east-1", Bucket: "floe", Credentials: filepath.Join(string(shared.dir), "credentials"), Version: "dev",
	}
	if s != constant {
		t.Errorf("state %+v; want %+v", s, constant)
	}
}

func TestCleanStopLeavesNothingBehind(t *testing.T) {
	p := start(t, t.TempDir(), "--bucket", "other")
	s, child := p.state(t), p.child(t)
	if s.Bucket != "other" {
		t.Errorf("bucket %q; want other", s.Bucket)
	}
	// A worker that keeps polling must not hold up the stop.
	w := worker.New(p.client(t), "idle", worker.Options{})
	w.RegisterWorkflow(greet)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)

	began := time.Now()
	if code := p.stop(t); code != exitOK {
		t.Errorf("exit code %d; want 0; stderr:\n%s", code, p.stderr.String())
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("stop took %v; want a few seconds", took)
	}
	for _, addr := range []string{s.Temporal, s.UI, s.S3} {
		checkFree(t, addr)
	}
	awaitGone(t, child)
	if _, err := os.Stat(p.dir.state()); !os.IsNotExist(err) {
		t.Errorf("stack.json after the stop: %v; want it gone", err)
	}
}

func TestInterruptDuringStartIsACleanStop(t *testing.T) {
	p, err := launch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	eventually(t, func() error {
		if !strings.Contains(p.stderr.String(), "starting in") {
			return fmt.Errorf("stderr %q", p.stderr.String())
		}
		return nil
	})
	if code := p.stop(t); code != exitOK {
		t.Errorf("exit code %d; want 0; stderr:\n%s", code, p.stderr.String())
	}
}

func TestKillLosesNothing(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	put(t, p.s3(t), "kept/object", "precious")
	run, err := p.client(t).ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "kept-workflow", TaskQueue: "nobody-listens"}, greet)
	if err != nil {
		t.Fatal(err)
	}
	before, child, keys := p.state(t), p.child(t), p.keys(t)
	p.kill()
	awaitGone(t, child)
	checkFree(t, before.S3)

	// stack.json is still there; the lock, not the file, says who is alive.
	again := start(t, dir)
	if got := again.state(t).PID; got != again.pid() {
		t.Errorf("stack.json names pid %d; want %d", got, again.pid())
	}
	if again.keys(t) != keys {
		t.Error("the keys changed")
	}
	checkObject(t, again.s3(t), "kept/object", "precious")
	got, err := again.client(t).DescribeWorkflowExecution(t.Context(), "kept-workflow", run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if status := got.WorkflowExecutionInfo.Status; status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("workflow is %v; want running", status)
	}
}

func TestSecondStartOnAFolderIsRefused(t *testing.T) {
	began := time.Now()
	code, stdout, stderr := devstack(t, "--data", string(shared.dir))
	if took := time.Since(began); took > 2*time.Second { // a busy machine's share included
		t.Errorf("refusal took %v; want well under a second", took)
	}
	if code != exitFailure || stdout != "" {
		t.Errorf("exit %d, stdout %q; want %d and nothing", code, stdout, exitFailure)
	}
	for _, want := range []string{fmt.Sprintf("pid %d", shared.pid()), shared.state(t).Started.Format("2006-01-02T15:04"), "--data"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr %q; want %q in it", stderr, want)
		}
	}
}

func TestEveryTakenPortIsNamedWithItsHolder(t *testing.T) {
	needsProc(t)
	self, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", t.TempDir()}
	var want []string
	for _, flag := range []string{"--temporal-port", "--s3-port"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		args = append(args, flag, port)
		want = append(want, "port "+port, flag)
	}
	want = append(want, fmt.Sprintf("pid %d (%s)", os.Getpid(), strings.TrimSpace(string(self))))
	code, _, stderr := devstack(t, append(args, "--ui-port", "0")...)
	if code != exitFailure {
		t.Errorf("exit %d; want %d", code, exitFailure)
	}
	for _, w := range want {
		if !strings.Contains(stderr, w) {
			t.Errorf("stderr %q; want %q in it", stderr, w)
		}
	}
}

func TestSecretIsInItsFileOnly(t *testing.T) {
	needsProc(t)
	p := start(t, t.TempDir())
	keys, child := p.keys(t), p.child(t)
	if info, err := os.Stat(p.dir.credentials()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials file: %v, %v; want mode 0600", info.Mode(), err)
	}
	// Give the servers something to complain about.
	wrong := newS3Client(p.state(t).S3, credentials{keys.access, "wrong"})
	_, _ = wrong.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("floe")})

	places := map[string]string{"stdout": p.stdout.String(), "stderr": p.stderr.String()}
	for _, pid := range []int{p.pid(), child} {
		for _, file := range []string{"cmdline", "environ"} {
			path := fmt.Sprintf("/proc/%d/%s", pid, file)
			places[path] = readFile(t, path)
		}
	}
	places["stack.json"] = readFile(t, p.dir.state())
	if code := p.stop(t); code != exitOK {
		t.Errorf("exit code %d; want 0", code)
	}
	logs, err := filepath.Glob(filepath.Join(p.dir.logs(), "*"))
	if err != nil || len(logs) < 2 {
		t.Fatalf("logs %v, %v; want two at least", logs, err)
	}
	for _, path := range logs {
		places[path] = readFile(t, path)
	}
	for place, text := range places {
		if strings.Contains(text, keys.secret) {
			t.Errorf("the secret is in %s", place)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSecondSignalForces(t *testing.T) {
	p := start(t, t.TempDir())
	child := p.child(t)
	// A stopped child cannot drain, so only force ends the stack quickly.
	if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if !strings.Contains(p.stderr.String(), "stopping") {
			return fmt.Errorf("stderr %q", p.stderr.String())
		}
		return nil
	})
	if code := p.stop(t); code != exitFailure {
		t.Errorf("exit code %d; want %d", code, exitFailure)
	}
	awaitGone(t, child)
}
