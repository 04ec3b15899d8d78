package activities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"floe/internal/artifact"
	"floe/internal/checkpoint"
	"floe/internal/disk"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/runner"
)

// FileHistory has the attempts of a training's job.
const FileHistory = "attempts.json"

// collectOutputs makes the files of a step of what its finished job left: the checkpoint,
// what it measured, and the logs of all attempts.
func (a *Activities) collectOutputs(ctx context.Context, t training, j runner.Job, d jobDir, v job.Verdict, history runner.History) (found []artifact.Body, err error) {
	defer func() { err = disk.Outage(d.path(), err) }()
	where := d.files(ctx)
	out, err := whole(where, v.Result.FinalCheckpoint, *v.Manifest)
	if err != nil {
		return nil, err
	}
	metrics, err := job.ReadMetrics(where)
	if err != nil {
		return nil, err
	}
	trained := experiment.Model{
		Base:    t.init.Base,
		Answers: v.Result.RewardState.Answers, Within: v.Result.RewardState.Within,
		Checkpoint: &experiment.Checkpoint{Kind: v.Manifest.Kind, Step: v.Manifest.Step, ManifestSHA256: v.Result.ManifestSHA256},
	}
	training := trainingOf(t, j.Spec, *v.Result, metrics)
	training.Job = jobOf(t.in.Spec, *v.Result, history, metrics)
	said, err := jsonFiles(FileModel, trained, FileTraining, training, FileHistory, history)
	if err != nil {
		return nil, err
	}
	out = append(out, said...)
	for _, pattern := range []string{"result.json", "spec.json", "metrics/a*.jsonl", "samples/a*.jsonl", "log/a*.log"} {
		some, err := copies(where, pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return append(out, backendLogs(ctx, j, history, where)...), nil
}

// whole is a checkpoint, file by file, below checkpoint.Prefix.
func whole(where job.Files, dir string, m job.Manifest) ([]artifact.Body, error) {
	manifest, err := fs.ReadFile(where, path.Join(dir, "manifest.json"))
	if err != nil {
		return nil, err
	}
	out := []artifact.Body{artifact.Bytes(checkpoint.Prefix+"manifest.json", manifest)}
	for _, f := range m.Files {
		name := path.Join(dir, f.Path)
		out = append(out, artifact.Stream(checkpoint.Prefix+f.Path, f.Size, func() (io.ReadCloser, error) { return where.Open(name) }))
	}
	return out, nil
}

// copies are the files of a job that a pattern finds, as they are.
func copies(where job.Files, pattern string) ([]artifact.Body, error) {
	names, err := fs.Glob(where, pattern)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pattern, err)
	}
	var out []artifact.Body
	for _, name := range names {
		body, err := fs.ReadFile(where, name)
		if err != nil {
			return nil, err
		}
		out = append(out, artifact.Bytes(name, body))
	}
	return out, nil
}

// backendLogs is what the attempts printed, as far as the back end still knows it and
// the trainer has not kept the same. A log that is gone costs the log, not the training.
func backendLogs(ctx context.Context, j runner.Job, history runner.History, where job.Files) []artifact.Body {
	var out []artifact.Body
	for _, at := range history.Attempts {
		var log bytes.Buffer
		if err := j.Backend.Logs(ctx, at.Name(), job.LogOptions{}, &log); err != nil || log.Len() == 0 {
			continue
		}
		if kept, err := fs.ReadFile(where, fmt.Sprintf("log/a%d.log", at.Number)); err == nil && bytes.Equal(kept, log.Bytes()) {
			continue
		}
		out = append(out, artifact.Bytes("log/"+at.Name()+".backend.log", log.Bytes()))
	}
	return out
}

// jobOf is where and how a training ran.
func jobOf(s experiment.Spec, r job.Result, history runner.History, metrics []job.Metrics) *experiment.TrainingJob {
	out := &experiment.TrainingJob{
		Backend: s.Job.Backend, Device: r.Device, GPUs: s.Job.GPUs, Attempts: len(history.Attempts),
		GPUSeconds: history.GPUTime(time.Now()).Seconds(), Checkpoint: r.ManifestSHA256, Versions: r.Versions,
	}
	if r.PeakMemoryBytes != nil {
		out.PeakMemoryBytes = *r.PeakMemoryBytes
	}
	var tokens, seconds float64
	for _, m := range metrics {
		rate, took := m.Data["tokens_per_second"], m.Data["step_seconds"]
		if rate != nil && took != nil {
			tokens += *rate * *took
			seconds += *took
		}
	}
	if seconds > 0 {
		out.TokensPerSecond = tokens / seconds
	}
	return out
}

const mostPoints = 500 // of a training's curve

// trainingOf sums a job up as all trainings are.
func trainingOf(t training, spec job.Spec, r job.Result, metrics []job.Metrics) experiment.Training {
	s := t.in.Spec
	out := experiment.Training{
		Trainer: s.Trainer.Kind, Samples: spec.Dataset.Rows, Epochs: spec.Epochs,
		Steps: r.StepsDone * s.Trainer.Recipe.Updates, Rollouts: r.RewardState.Answers - spec.Reward.State.Answers,
	}
	every := (len(metrics) + mostPoints - 1) / mostPoints
	for i, m := range metrics {
		value := func(key string) float64 {
			if x := m.Data[key]; x != nil {
				return *x
			}
			return 0
		}
		// Each token of an answer is a decision of the policy.
		out.Decisions += int64(value("answers") * value("answer_tokens"))
		if i%every != 0 && i != len(metrics)-1 {
			continue
		}
		out.Curve = append(out.Curve, experiment.TrainingPoint{
			Step: m.Step, Epoch: value("epoch"), Reward: value("reward"), ValidRate: value("valid_rate"), Spread: value("spread"),
			Entropy: value("entropy"), GradNorm: value("grad_norm"), WeightAcc: value("weight_acc"), WeightLen: value("weight_len"),
		})
	}
	return out
}
