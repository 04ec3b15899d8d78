package runner_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/devtest/binaries"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/job/files"
	"floe/internal/job/runner"
)

// TestMain makes the test program a supervisor or a worker where it is called as
// one.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == process.Verb:
		os.Exit(process.Supervise(os.Args[2], os.Stderr))
	case len(os.Args) == 3 && os.Args[1] == verbWatch:
		os.Exit(watchAsWorker(os.Args[2]))
	}
	os.Exit(binaries.Run(m))
}

// trainer is the program that the back end's suite starts, too.
func trainer(t *testing.T) string {
	t.Helper()
	dir, err := binaries.Build(binaries.Trainer)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, binaries.Trainer)
}

const (
	steps    = 3
	every    = 20 * time.Millisecond
	patience = 2 * time.Minute // of the tests
)

// world is a job on the process back end with all that surrounds it.
type world struct {
	t      *testing.T
	root   string // of the back end's records
	record string // file
	runner.Job
	heard *notes
}

// newWorld makes a job that plays a part. The script runs before the trainer, in
// its directory, and may end the attempt itself.
func newWorld(t *testing.T, play, script string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, root: filepath.Join(dir, "process"), record: filepath.Join(dir, "attempts.json"), heard: &notes{}}
	w.Job = w.job("train-"+strings.ToLower(rand.Text()[:8]), filepath.Join(dir, "job"), play, script)
	return w
}

// job is one of the step, in a directory of its own.
func (w *world) job(name, dir, play, script string) runner.Job {
	w.t.Helper()
	settings, err := json.Marshal(map[string]string{"play": play})
	if err != nil {
		w.t.Fatal(err)
	}
	spec := job.Spec{
		Schema: job.SpecSchema, Trainer: "jobtest", BaseModel: job.Model{URI: "none"},
		Dataset: job.Dataset{URI: "none", SHA256: strings.Repeat("0", 64), Rows: steps},
		Reward: job.Reward{
			Referee: []string{"none"}, Environment: "none", Settings: experiment.RewardSpec{FullTokens: 1, LengthOf: "valid"},
		},
		Epochs: 1, Seed: name, ExpectedSteps: steps, Resume: job.ResumeLatest, Settings: settings,
	}
	body, digest, err := spec.Marshal()
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := process.New(process.Settings{Root: w.root})
	if err != nil {
		w.t.Fatal(err)
	}
	j := runner.Job{
		Backend: b, Files: files.Disk(dir), Spec: spec, Digest: digest,
		Request: job.Request{
			Job: name, Command: []string{"sh", "-c", `cd "$FLOE_JOB_DIR"; ` + script + "\nexec \"$0\"", trainer(w.t)},
			Spec: filepath.Join(dir, "spec.json"), Dir: dir, Resources: job.Resources{GPUs: 2}, Grace: time.Minute,
		},
		Record: file(w.record), Work: "work", Host: "here", Attempts: 3, Resumes: 2, Every: every, Report: w.heard.hear,
		Put: func(ctx context.Context) error { return files.Disk(dir).Put(ctx, "spec.json", body) },
	}
	w.t.Cleanup(func() { w.tidy(j) })
	return j
}

// tidy ends what a failed test left running.
func (w *world) tidy(j runner.Job) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for n := 1; ; n++ {
		name := job.Name(j.Request.Job, n)
		if _, err := j.Backend.Status(ctx, name); err != nil {
			return
		}
		if err := j.Backend.Stop(ctx, name, 0); err != nil {
			w.t.Errorf("stop %s after the test: %v", name, err)
		}
	}
}

// run brings the job to its end.
func (w *world) run() (job.Verdict, runner.History, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return w.Run(ctx)
}

// succeed runs the job to a success.
func (w *world) succeed() runner.History {
	w.t.Helper()
	v, h, err := w.run()
	if err != nil || v.Outcome != job.Success || v.Result == nil || v.Manifest == nil || v.Result.StepsDone != steps {
		w.t.Fatalf("got %+v, %v; want success after %d steps. Attempts:\n%s", v, err, steps, shown(h))
	}
	return h
}

// ended runs the job to an end without success.
func (w *world) ended() (*runner.EndedError, runner.History) {
	w.t.Helper()
	v, h, err := w.run()
	ended, ok := errors.AsType[*runner.EndedError](err)
	if !ok {
		w.t.Fatalf("got %+v, %v; want an *EndedError. Attempts:\n%s", v, err, shown(h))
	}
	return ended, h
}

// background runs the job until the context that it returns the end of.
func (w *world) background() (end context.CancelFunc, result <-chan error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Run(ctx)
		done <- err
	}()
	return cancel, done
}

// left runs the job until an attempt makes a step, then leaves it alone.
func (w *world) left(attempt int) {
	w.t.Helper()
	end, done := w.background()
	defer end()
	w.training(attempt)
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		w.t.Fatalf("a watcher that is sent home returns %v; want its context's error", err)
	}
}

// training waits until an attempt has made a step and the record says it runs.
func (w *world) training(attempt int) {
	w.t.Helper()
	w.until(fmt.Sprintf("a step of attempt %d", attempt), func() bool {
		p, err := job.ReadProgress(w.Files)
		if err != nil || p.Attempt != attempt || p.Step == 0 {
			return false
		}
		a := w.history().Attempts
		return len(a) > 0 && a[len(a)-1].Status.State == job.Running
	})
}

func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// history is what the record says.
func (w *world) history() runner.History {
	w.t.Helper()
	body, err := w.Record.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := runner.ReadHistory(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// keep writes the record.
func (w *world) keep(h runner.History) {
	w.t.Helper()
	body, err := h.Marshal()
	if err == nil {
		err = w.Record.Save(w.t.Context(), body)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// letGo lets a job that holds run to its end.
func (w *world) letGo() {
	w.t.Helper()
	if err := w.Files.Put(w.t.Context(), "go", nil); err != nil {
		w.t.Fatal(err)
	}
}

// starts are the attempts whose trainer started, in order.
func (w *world) starts() []string {
	body, err := fs.ReadFile(w.Files, "starts")
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(body)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, strings.TrimPrefix(name, w.Request.Job+"-"))
	}
	return names
}

func (w *world) state(attempt int) job.State {
	w.t.Helper()
	s, err := w.Backend.Status(w.t.Context(), job.Name(w.Request.Job, attempt))
	if err != nil {
		w.t.Fatal(err)
	}
	return s.State
}

// outcomes of a history, in order.
func outcomes(h runner.History) string {
	list := make([]string, len(h.Attempts))
	for i, a := range h.Attempts {
		list[i] = string(a.Outcome)
	}
	return strings.Join(list, " ")
}

func shown(h runner.History) string {
	body, err := h.Marshal()
	if err != nil {
		return err.Error()
	}
	return string(body)
}
