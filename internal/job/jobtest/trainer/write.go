package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"floe/internal/job"
)

// step makes a step: a line of metrics, and progress.
func (a *attempt) step(n int) error {
	reward := float64(n) / 10
	line, err := json.Marshal(job.Metrics{Step: n, Time: time.Now().UTC(), Attempt: a.number, Data: map[string]*float64{"reward": &reward, "loss": nil}})
	if err != nil {
		return err
	}
	if err := a.appendLine(fmt.Sprintf("metrics/a%d.jsonl", a.number), string(line)); err != nil {
		return err
	}
	return a.progress(job.PhaseTraining, n)
}

func (a *attempt) progress(phase string, step int) error {
	return a.write("progress.json", job.Progress{
		Schema: job.ProgressSchema, JobID: a.id, Attempt: a.number, Phase: phase, Step: step,
		TotalSteps: a.spec.ExpectedSteps, Updated: time.Now().UTC(), Metrics: map[string]*float64{},
	})
}

// latest is the step of the newest whole checkpoint.
func (a *attempt) latest() int {
	name, err := job.Latest(a.files())
	if err != nil {
		return 0
	}
	m, _, err := job.ReadManifest(a.files(), name)
	if err != nil || job.VerifyFiles(a.files(), name, m, nil) != nil {
		return 0
	}
	return m.Step
}

// save writes a checkpoint, its manifest last, and returns the manifest's digest.
func (a *attempt) save(step int) (digest string, err error) {
	weights := fmt.Appendf(nil, "weights after %d steps\n", step)
	dir := fmt.Sprintf("checkpoints/step-%06d", step)
	body, err := json.Marshal(job.Manifest{
		Schema: job.CheckpointSchema, Step: step, Kind: "lora", Trainer: a.spec.Trainer,
		BaseModel: job.BaseRef{URI: a.spec.BaseModel.URI}, SpecSHA256: a.digest,
		Files:    []job.File{{Path: "adapter.bin", Size: int64(len(weights)), SHA256: job.Digest(weights), Role: job.RoleModel}},
		Versions: map[string]string{}, Written: time.Now().UTC(),
	})
	if err != nil {
		return "", err
	}
	for _, f := range []struct {
		name string
		body []byte
	}{
		{dir + "/adapter.bin", weights},
		{dir + "/manifest.json", body},
		{"LATEST", fmt.Appendf(nil, "step-%06d\n", step)},
	} {
		if err := a.files().Put(context.Background(), f.name, f.body); err != nil {
			return "", err
		}
	}
	return job.Digest(body), nil
}

// conclude writes checkpoint and result, or spoils them as the play wants.
func (a *attempt) conclude(step int) (int, error) {
	digest, err := a.save(step)
	if err != nil {
		return job.ExitInternal, err
	}
	dir := fmt.Sprintf("checkpoints/step-%06d", step)
	r := job.Result{
		Schema: job.ResultSchema, JobID: a.id, Attempt: a.number, Status: "done", SpecSHA256: a.digest, StepsDone: step,
		ExpectedSteps: a.spec.ExpectedSteps, FinalCheckpoint: dir, ManifestSHA256: digest, Settings: a.spec.Settings,
		Versions: map[string]string{}, Device: "cpu", Started: time.Now().UTC(), Ended: time.Now().UTC(),
	}
	r.Metrics = job.Summary{First: map[string]*float64{}, Last: map[string]*float64{}, Mean: map[string]*float64{}}
	switch a.play {
	case "no-steps":
		r.StepsDone = 0
	case "damaged":
		err = os.WriteFile(filepath.Join(a.dir, dir, "adapter.bin"), fmt.Appendf(nil, "Weights after %d steps\n", step), 0o600)
	case "torn":
		return job.ExitDone, os.WriteFile(filepath.Join(a.dir, "result.json"), []byte(`{"schema":"floe.res`), 0o600)
	}
	if err != nil {
		return job.ExitInternal, err
	}
	if err := a.write("result.json", r); err != nil {
		return job.ExitInternal, err
	}
	return job.ExitDone, a.progress(job.PhaseDone, step)
}

func (a *attempt) write(name string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return a.files().Put(context.Background(), name, body)
}

func (a *attempt) appendLine(name, line string) error {
	to := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the directory is what the contract says
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
