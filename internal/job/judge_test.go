package job_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"floe/internal/job"
)

func TestAJobSucceedsIfEverythingAgrees(t *testing.T) {
	f := finish(t)
	v := f.judge(t, exited(0))
	if v.Outcome != job.Success || v.Result == nil || v.Manifest == nil || v.Manifest.Step != 2 {
		t.Errorf("got %+v; want a success with result and manifest", v)
	}
	if v := f.judge(t, job.Status{State: job.Lost}); v.Outcome != job.Success {
		t.Errorf("with its back end gone: %+v; want a success, for the files prove it", v)
	}
}

func TestAnythingThatDoesNotAgreeIsNoSuccess(t *testing.T) {
	other := strings.Repeat("0", 64)
	for name, spoil := range map[string]func(*finished){
		"no result":           func(f *finished) { delete(f.files, "result.json") },
		"torn result":         func(f *finished) { f.put("result.json", f.files["result.json"].Data[:40]) },
		"status":              func(f *finished) { f.result.Status = "failed"; f.writeResult(t) },
		"another spec":        func(f *finished) { f.result.SpecSHA256 = other; f.writeResult(t) },
		"no steps":            func(f *finished) { f.result.StepsDone = 0; f.writeResult(t) },
		"a step too few":      func(f *finished) { f.result.StepsDone = 1; f.writeResult(t) },
		"other expectation":   func(f *finished) { f.result.ExpectedSteps = 3; f.writeResult(t) },
		"outside":             func(f *finished) { f.result.FinalCheckpoint = "../elsewhere"; f.writeResult(t) },
		"manifest of another": func(f *finished) { f.result.ManifestSHA256 = other; f.writeResult(t) },
		"no manifest":         func(f *finished) { delete(f.files, "checkpoints/step-000002/manifest.json") },
		"manifest's step":     func(f *finished) { f.manifest.Step = 1; f.seal(t) },
		"manifest's spec":     func(f *finished) { f.manifest.SpecSHA256 = other; f.seal(t) },
		"manifest's state":    func(f *finished) { f.manifest.RewardState.Answers = 1; f.seal(t) },
		"nothing to serve":    func(f *finished) { f.manifest.Files[0].Role = job.RoleState; f.seal(t) },
		"a path that climbs":  func(f *finished) { f.manifest.Files[0].Path = "../adapter.bin"; f.seal(t) },
		"a file is missing":   func(f *finished) { delete(f.files, "checkpoints/step-000002/adapter.bin") },
		"a file is too long":  func(f *finished) { f.put("checkpoints/step-000002/adapter.bin", []byte("weights!")) },
		"a byte has turned":   func(f *finished) { f.put("checkpoints/step-000002/adapter.bin", []byte("Weights")) },
		"a repeated key": func(f *finished) {
			f.put("result.json", []byte(`{"schema":"floe.result/v1","schema":"floe.result/v1"}`))
		},
		"a number out of range": func(f *finished) { f.put("result.json", []byte(`{"steps_done":1e99}`)) },
	} {
		f := finish(t)
		spoil(f)
		if v := f.judge(t, exited(0)); v.Outcome != job.Failed || v.Result != nil {
			t.Errorf("%s: judged %+v; want a failure", name, v)
		}
		if v := f.judge(t, job.Status{State: job.Lost}); v.Outcome != job.Interrupted {
			t.Errorf("%s, and lost: judged %+v; want it interrupted", name, v)
		}
	}
}

func TestAnExitCodeSpeaksAgainstAWholeResult(t *testing.T) {
	f := finish(t)
	f.put("failure", []byte("out of memory\nsecond line"))
	for code, want := range map[int]job.Outcome{
		1: job.Failed, 65: job.Hopeless, 69: job.Busy, 70: job.Failed, 75: job.Interrupted, 78: job.Hopeless, 137: job.Interrupted, 143: job.Interrupted,
	} {
		if v := f.judge(t, exited(code)); v.Outcome != want || !strings.HasSuffix(v.Reason, ": out of memory") {
			t.Errorf("exit code %d is judged %+v; want %s with the reason that the job left", code, v, want)
		}
	}
	if v := f.judge(t, job.Status{State: job.Preempted, Reason: "priority"}); v.Outcome != job.Interrupted || !strings.Contains(v.Reason, "priority") {
		t.Errorf("preempted: judged %+v; want it interrupted", v)
	}
}

func TestARunningJobIsNotJudged(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.Running} {
		if v, err := job.Judge(job.Status{State: s}, example(), "", fstest.MapFS{}, nil); err == nil {
			t.Errorf("%s is judged %+v; want an error", s, v)
		}
	}
}

// away is a store that does not answer.
type away struct{ fs.FS }

var errAway = errors.New("the store is away")

func (away) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errAway}
}

func TestAStoreThatIsAwaySaysNothingAboutTheJob(t *testing.T) {
	if v, err := job.Judge(exited(0), example(), "", away{}, nil); !errors.Is(err, errAway) {
		t.Errorf("judged %+v, %v; want the store's trouble", v, err)
	}
}

func TestTheWholeCheckpointIsRead(t *testing.T) {
	f := finish(t)
	var last, of int64
	if _, err := job.Judge(exited(0), f.spec, f.digest, f.files, func(done, total int64) { last, of = done, total }); err != nil {
		t.Fatal(err)
	}
	if last != 7 || of != 7 {
		t.Errorf("told of %d of %d bytes; want 7 of 7", last, of)
	}
}

func FuzzReadResult(f *testing.F) {
	body, err := json.Marshal(job.Result{Schema: job.ResultSchema})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, body)
	f.Fuzz(func(t *testing.T, result, manifest []byte) {
		files := fstest.MapFS{"result.json": {Data: result}, "checkpoints/step-000001/manifest.json": {Data: manifest}, "progress.json": {Data: result}}
		v, err := job.Judge(exited(0), example(), "", files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.Outcome == job.Success {
			t.Fatalf("noise is judged %+v", v)
		}
		_, _ = job.ReadProgress(files) // must not panic
	})
}
