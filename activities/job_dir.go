package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"floe/internal/artifact"
	"floe/internal/atomicfile"
	"floe/internal/checkpoint"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/files"
	"floe/internal/job/runner"
	"floe/internal/job/trainspec"
)

// remoteFolder is where a job's directory is on a machine that shares no disk with
// the worker, unless the spec says where.
const remoteFolder = "/tmp/floe"

// jobDir is where a job's files are: below a folder that worker and job see under the
// same path, or in the artifact store.
type jobDir struct {
	folder string         // of job directories, on the job's machine
	store  artifact.Store // nil: the worker sees the folder
	here   bool           // the folder is on the worker's own machine, whoever sees it
	steps  artifact.Steps
	step   experiment.StepID
	job    string
	spec   []byte // spec.json
}

func (a *Activities) jobDir(s experiment.Spec) jobDir {
	d := jobDir{folder: s.Job.Folder, steps: a.Steps}
	if s.Job.InStore() {
		d.store = a.Steps.Store
	}
	d.here = s.Job.Backend == backendProcess
	switch {
	case d.folder != "":
	case s.Job.Backend == "ray" || s.Job.Backend == "kubernetes":
		d.folder = remoteFolder
	default:
		d.folder = filepath.Join(a.Folder, "jobs")
	}
	return d
}

func (d jobDir) path() string { return filepath.Join(d.folder, d.job) }

// prefix is the job's directory in the store.
func (d jobDir) prefix() string { return artifact.WorkFolder(d.step, artifact.FolderJob) + "/" + d.job }

// key is where a file of the job is in the store.
func (d jobDir) key(name string) string { return d.prefix() + "/" + name }

// datasetAt and checkpointAt are where the worker puts inputs into a folder.
func (d jobDir) datasetAt(sum string) string {
	return filepath.Join(d.folder, "inputs", sum+".jsonl.zst")
}

func (d jobDir) checkpoints() string { return filepath.Join(d.folder, "inputs") }

// inputs are the addresses of a training's inputs for its job.
func (d jobDir) inputs(a *Activities, t training) (trainspec.Inputs, error) {
	data, ok := t.data.File(FileDataset)
	if !ok {
		return trainspec.Inputs{}, fmt.Errorf("step %s has no %s", t.data.ID, FileDataset)
	}
	in := trainspec.Inputs{
		Dataset: job.Dataset{URI: d.datasetAt(data.SHA256), SHA256: data.SHA256, Rows: t.rows},
		State:   job.RewardState{Answers: t.init.Answers, Within: t.init.Within},
		Seed:    t.inputs.Seed,
	}
	if d.store != nil {
		in.Dataset.URI = a.Steps.Store.URL(data.Object)
	}
	if c := t.init.Checkpoint; c != nil {
		in.Init = &job.Init{URI: filepath.Join(d.checkpoints(), c.ManifestSHA256), ManifestSHA256: c.ManifestSHA256}
		if d.store != nil {
			in.Init.URI = a.Steps.Store.URL(path.Dir(objectOf(t.init.step, checkpoint.Prefix+"manifest.json")))
		}
	}
	return in, nil
}

// files is the job's directory as the worker sees it.
func (d jobDir) files(ctx context.Context) job.Files {
	if d.store != nil {
		return files.Store(ctx, d.store, d.prefix())
	}
	return files.Disk(d.path())
}

// request is what the back end is given.
func (d jobDir) request(s experiment.Spec, digest string) job.Request {
	r := trainspec.Request(*s.Job)
	r.Job, r.SpecSHA256, r.Dir = d.job, digest, d.path()
	r.Spec = filepath.Join(d.path(), trainspec.FileSpec)
	if d.store != nil {
		r.Spec, r.Output = d.store.URL(d.key(trainspec.FileSpec)), d.store.URL(d.prefix())+"/"
	}
	return r
}

// put writes spec.json, and in a folder the inputs, before the first attempt.
func (a *Activities) put(ctx context.Context, d jobDir, t training, note func(string)) error {
	if d.store != nil {
		return d.store.Put(ctx, d.key(trainspec.FileSpec), bytes.NewReader(d.spec))
	}
	data, _ := t.data.File(FileDataset)
	if err := a.putDataset(ctx, t.data, d.datasetAt(data.SHA256), data.Size); err != nil {
		return fmt.Errorf("put the dataset where the job finds it: %w", err)
	}
	if t.init.Checkpoint != nil {
		if _, err := checkpoint.Fetch(ctx, a.Steps, t.init.step, d.checkpoints(), checkpoint.All, note); err != nil {
			return err
		}
	}
	return files.Disk(d.path()).Put(ctx, trainspec.FileSpec, d.spec)
}

// putDataset copies a step's dataset to a path that is named by its digest. What is
// read is checked against the step's manifest.
func (a *Activities) putDataset(ctx context.Context, m artifact.Manifest, to string, size int64) (err error) {
	if info, err := os.Stat(to); err == nil && info.Size() == size {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // the job may run as another user
		return err
	}
	from, err := a.Steps.Open(ctx, m, FileDataset)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	return atomicfile.Write(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

const removeWithin = time.Minute

// remove frees what the job has used once all that counts is with the step. A
// directory of no job is none.
func (d jobDir) remove(ctx context.Context) error {
	if d.job == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	listed, err := d.steps.Store.List(ctx, artifact.WorkFolder(d.step, artifact.FolderJob)+"/")
	for _, o := range listed {
		err = errors.Join(err, d.steps.Store.Delete(ctx, o.Key))
	}
	if d.store == nil || d.here {
		err = errors.Join(err, os.RemoveAll(d.path()))
	}
	return err
}

// recordKey is where the history of a step's attempts is in the store.
func recordKey(step experiment.StepID) string {
	return artifact.WorkFolder(step, artifact.FolderJob) + "/" + FileHistory
}

// JobHistory is what became of the attempts at a step's job, so far or, once the step
// is done, in all; without attempts if there were none.
func JobHistory(ctx context.Context, steps artifact.Steps, step experiment.StepID) (runner.History, error) {
	m, done, err := steps.Find(ctx, step)
	if err != nil {
		return runner.History{}, err
	}
	var body []byte
	if done {
		body, err = steps.Read(ctx, m, FileHistory)
	} else {
		body, err = record{steps.Store, recordKey(step)}.Load(ctx)
	}
	if err != nil {
		return runner.History{}, err
	}
	return runner.ReadHistory(body)
}

// record keeps the history of a job's attempts in the store.
type record struct {
	store artifact.Store
	key   string
}

// Load implements runner.Record.
func (r record) Load(ctx context.Context) (body []byte, err error) {
	f, err := r.store.Get(ctx, r.key)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// Save implements runner.Record.
func (r record) Save(ctx context.Context, body []byte) error {
	return r.store.Put(ctx, r.key, bytes.NewReader(body))
}
