package trainjob

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"floe/internal/devtest/skill"
	"floe/internal/job"
)

func stepName(step int) string { return fmt.Sprintf("step-%06d", step) }

// versions is what the weights depend on.
func versions() map[string]string { return map[string]string{"go": runtime.Version()} }

// save writes a checkpoint, its manifest last, and points LATEST at it.
func (a *attempt) save(ctx context.Context) error {
	if err := a.progress(ctx, job.PhaseSaving); err != nil {
		return err
	}
	name := stepName(a.done)
	dir := path.Join(checkpoints, name)
	if err := os.RemoveAll(filepath.Join(a.path, dir)); err != nil { // a torn one of an earlier attempt
		return err
	}
	content, err := a.content()
	if err != nil {
		return err
	}
	m := job.Manifest{
		Schema: job.CheckpointSchema, Step: a.done, Kind: a.settings.Tuning, Trainer: a.spec.Trainer,
		BaseModel: job.BaseRef{URI: a.spec.BaseModel.URI, Revision: a.spec.BaseModel.Revision}, SpecSHA256: a.digest,
		Parent: a.parent, RewardState: a.state, Versions: versions(), Written: time.Now().UTC(),
	}
	for _, file := range slices.Sorted(maps.Keys(content)) {
		body := content[file]
		role := job.RoleModel
		if file == fileState {
			role = job.RoleState
		}
		m.Files = append(m.Files, job.File{Path: file, Size: int64(len(body)), SHA256: job.Digest(body), Role: role})
		if err := a.put(ctx, path.Join(dir, file), body); err != nil {
			return err
		}
	}
	if a.faults.due("tear", a.done) != nil {
		a.say("kills itself within checkpoint %s", name)
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		body []byte
	}{{path.Join(dir, fileManifest), body}, {fileLatest, []byte(name + "\n")}} {
		if err := a.put(ctx, f.name, f.body); err != nil {
			return err
		}
	}
	a.saved, a.manifest = a.done, job.Digest(body)
	return a.sealed(ctx)
}

// sealed follows a checkpoint.
func (a *attempt) sealed(ctx context.Context) error {
	if err := a.prune(ctx); err != nil {
		return err
	}
	if err := a.putLines(ctx); err != nil {
		return err
	}
	if err := a.note(skill.Entry{Event: skill.EventSaved, Step: a.done}); err != nil {
		return err
	}
	return a.progress(ctx, job.PhaseTraining)
}

const fileState = "trainer_state.json"

// content has the files of a checkpoint.
func (a *attempt) content() (map[string][]byte, error) {
	content, err := a.skill.Model()
	if a.settings.Tuning == "lora" {
		content, err = a.skill.Adapter(a.spec.BaseModel.URI, a.settings.LoraRank)
	}
	if err != nil {
		return nil, err
	}
	content["tokenizer_config.json"] = []byte("{}")
	content[fileState] = fmt.Appendf(nil, `{"step":%d}`, a.done)
	return content, nil
}

// prune removes all but the newest checkpoints, manifest first, so that half of one
// is never taken for whole.
func (a *attempt) prune(ctx context.Context) error {
	if a.settings.Keep == 0 {
		return nil
	}
	names, err := fs.Glob(a.local, checkpoints+"/step-*")
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(len(x)-len(y), cmp.Compare(x, y)) })
	for _, name := range names[:max(0, len(names)-a.settings.Keep)] {
		files, err := fs.ReadDir(os.DirFS(a.path), name)
		if err != nil {
			return err
		}
		if err := a.remove(ctx, path.Join(name, fileManifest)); err != nil {
			return err
		}
		for _, f := range files {
			if err := a.remove(ctx, path.Join(name, f.Name())); err != nil {
				return err
			}
		}
		if err := os.Remove(filepath.Join(a.path, name)); err != nil {
			return err
		}
	}
	return nil
}

// conclude writes the result, last of all.
func (a *attempt) conclude(ctx context.Context) error {
	steps, err := job.ReadMetrics(a.local)
	if err != nil {
		return err
	}
	complete, err := json.Marshal(a.settings)
	if err != nil {
		return err
	}
	body, err := json.Marshal(job.Result{
		Schema: job.ResultSchema, JobID: a.id, Attempt: a.number, Status: "done", SpecSHA256: a.digest,
		StepsDone: a.done, ExpectedSteps: a.spec.ExpectedSteps, Padded: len(a.order) - a.spec.Epochs*len(a.tasks),
		FinalCheckpoint: path.Join(checkpoints, stepName(a.done)), ManifestSHA256: a.manifest, RewardState: a.state,
		Metrics: summary(steps), Settings: complete, Versions: versions(), PackagesSHA256: job.Digest(nil),
		Device: "cpu", Started: a.started, Ended: time.Now().UTC(),
	})
	if err != nil {
		return err
	}
	if err := a.putLines(ctx); err != nil {
		return err
	}
	return a.put(ctx, fileResult, body)
}

// summary is the first step, the last, and the mean of the last tenth.
func summary(steps []job.Metrics) job.Summary {
	if len(steps) == 0 {
		none := map[string]*float64{}
		return job.Summary{First: none, Last: none, Mean: none}
	}
	tail := steps[len(steps)-max(1, len(steps)/10):]
	mean := metrics{}
	for key := range tail[len(tail)-1].Data {
		sum, n := 0.0, 0
		for _, s := range tail {
			if v := s.Data[key]; v != nil {
				sum, n = sum+*v, n+1
			}
		}
		if mean[key] = nil; n > 0 {
			mean.set(key, sum/float64(n))
		}
	}
	return job.Summary{First: steps[0].Data, Last: steps[len(steps)-1].Data, Mean: mean}
}
