package job_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"floe/internal/experiment"
	"floe/internal/job"
)

// example is a spec that is whole.
func example() job.Spec {
	return job.Spec{
		Schema: job.SpecSchema, Trainer: "trl", BaseModel: job.Model{URI: "Qwen/Qwen3-4B"},
		Dataset: job.Dataset{URI: "/data/d.jsonl.zst", SHA256: strings.Repeat("d", 64), Rows: 4000},
		Reward: job.Reward{
			Referee: []string{"starter", "score"}, Environment: "lake",
			Settings: experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
			State:    job.RewardState{Answers: 10, Within: 3},
		},
		Epochs: 2, Seed: "paper/1/train/1", ExpectedSteps: 2, Resume: job.ResumeLatest,
		Limits: job.Limits{GraceSeconds: 120}, Settings: json.RawMessage(`{"tuning":"lora"}`),
	}
}

// finished is what a job leaves that did all it should.
type finished struct {
	spec     job.Spec
	digest   string
	manifest job.Manifest
	result   job.Result
	files    fstest.MapFS
}

func finish(t *testing.T) *finished {
	t.Helper()
	f := &finished{spec: example(), files: fstest.MapFS{}}
	var err error
	if _, f.digest, err = f.spec.Marshal(); err != nil {
		t.Fatal(err)
	}
	weights := []byte("weights")
	f.put("checkpoints/step-000002/adapter.bin", weights)
	f.manifest = job.Manifest{
		Schema: job.CheckpointSchema, Step: 2, Kind: "lora", Trainer: "trl", BaseModel: job.BaseRef{URI: "x"}, SpecSHA256: f.digest,
		Files:    []job.File{{Path: "adapter.bin", Size: int64(len(weights)), SHA256: job.Digest(weights), Role: job.RoleModel}},
		Versions: map[string]string{}, Written: time.Unix(1e9, 0).UTC(),
	}
	f.result = job.Result{
		Schema: job.ResultSchema, JobID: "train-a1", Attempt: 1, Status: "done", SpecSHA256: f.digest, StepsDone: 2, ExpectedSteps: 2,
		FinalCheckpoint: "checkpoints/step-000002", Settings: json.RawMessage("{}"), Versions: map[string]string{}, Device: "cpu",
		Metrics: job.Summary{First: map[string]*float64{}, Last: map[string]*float64{}, Mean: map[string]*float64{}},
	}
	f.seal(t)
	return f
}

// seal writes manifest and result as they are now.
func (f *finished) seal(t *testing.T) {
	t.Helper()
	body, err := json.Marshal(f.manifest)
	if err != nil {
		t.Fatal(err)
	}
	f.put("checkpoints/step-000002/manifest.json", body)
	f.result.ManifestSHA256 = job.Digest(body)
	f.writeResult(t)
}

func (f *finished) writeResult(t *testing.T) {
	t.Helper()
	body, err := json.Marshal(f.result)
	if err != nil {
		t.Fatal(err)
	}
	f.put("result.json", body)
}

func (f *finished) put(name string, body []byte) { f.files[name] = &fstest.MapFile{Data: body} }

func (f *finished) judge(t *testing.T, s job.Status) job.Verdict {
	t.Helper()
	v, err := job.Judge(s, f.spec, f.digest, f.files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func exited(code int) job.Status {
	return job.Status{Name: "train-a1", State: job.Ended, ExitCode: &code}
}

// documented is the example of spec.json in docs/jobs.md, its shortened digests
// filled up.
func documented(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "## In: spec.json\n\n```json\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("docs/jobs.md has no example of spec.json")
	}
	for _, short := range []string{"5f0c…", "df06…"} {
		text = strings.ReplaceAll(text, short, fmt.Sprintf("%064s", strings.TrimSuffix(short, "…")))
	}
	return text
}
