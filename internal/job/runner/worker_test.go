package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/job/files"
	"floe/internal/job/runner"
)

const verbWatch = "watch"

// parcel is what a worker of its own process needs to know of a world.
type parcel struct {
	Root, Record string
	Spec         job.Spec
	Digest       string
	Request      job.Request
	Dies         int  // at which of its deeds, from 1; 0: at none
	Done         bool // the deed is done first
}

func (w *world) parcel() parcel {
	return parcel{Root: w.root, Record: w.record, Spec: w.Spec, Digest: w.Digest, Request: w.Request}
}

// mortal is the back end and the record of a worker that is killed at a deed:
// when it submits, or when it writes the record.
type mortal struct {
	job.Backend
	runner.Record
	parcel
	deeds int
}

func (m *mortal) do(deed func() error) error {
	m.deeds++
	if m.deeds != m.Dies {
		return deed()
	}
	var err error
	if m.Done {
		err = deed()
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return err
}

// Submit implements job.Backend.
func (m *mortal) Submit(ctx context.Context, r job.Request) (s job.Status, err error) {
	err = m.do(func() error { s, err = m.Backend.Submit(ctx, r); return err })
	return s, err
}

// Save implements runner.Record.
func (m *mortal) Save(ctx context.Context, body []byte) error {
	return m.do(func() error { return m.Record.Save(ctx, body) })
}

// watchAsWorker is a worker until it is killed.
func watchAsWorker(text string) int {
	var p parcel
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	b, err := process.New(process.Settings{Root: p.Root})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := &mortal{Backend: b, Record: file(p.Record), parcel: p}
	_, _, err = runner.Job{
		Backend: m, Files: files.Disk(p.Request.Dir), Request: p.Request, Spec: p.Spec, Digest: p.Digest,
		Record: m, Work: "work of the dead", Host: "here", Every: every,
	}.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// worker starts a worker in a process and a group of its own.
func (w *world) worker(p parcel) *exec.Cmd {
	w.t.Helper()
	if err := w.Put(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	worker := exec.Command(os.Args[0], verbWatch, string(text))
	worker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	worker.Stderr = os.Stderr
	if err := worker.Start(); err != nil {
		w.t.Fatal(err)
	}
	return worker
}

// killedWorker watches the job until it has made a step, and is killed with its
// group, as a service manager would.
func (w *world) killedWorker() {
	w.t.Helper()
	worker := w.worker(w.parcel())
	w.training(1)
	if err := syscall.Kill(-worker.Process.Pid, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	_ = worker.Wait()
}
