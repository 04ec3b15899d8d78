package trainjob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"floe/internal/devtest/skill"
	"floe/internal/env"
	"floe/internal/job"
)

// readFile reads a file or an s3:// object.
func readFile(ctx context.Context, uri string) ([]byte, error) {
	dir, err := place(ctx, uri[:max(0, strings.LastIndex(uri, "/"))])
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(dir, path.Base(uri))
}

func (a *attempt) readSpec(ctx context.Context) error {
	body, err := readFile(ctx, os.Getenv("FLOE_JOB_SPEC"))
	if err == nil {
		a.spec, a.digest, err = job.ReadSpec(bytes.NewReader(body))
	}
	if err == nil {
		a.settings, err = readSettings(a.spec.Settings)
	}
	if err != nil {
		return ends(job.ExitBadSpec, "%v", err)
	}
	if want := (a.spec.Epochs*a.spec.Dataset.Rows + a.settings.Batch - 1) / a.settings.Batch; a.spec.ExpectedSteps != want {
		return ends(job.ExitBadSpec, "expected_steps: found %d; want %d", a.spec.ExpectedSteps, want)
	}
	if l := a.spec.Limits; l.WallSeconds > 0 {
		a.until = a.started.Add(time.Duration(l.WallSeconds-l.GraceSeconds) * time.Second)
	}
	a.say("trainer %s, spec %s, %d steps", a.spec.Trainer, a.digest, a.spec.ExpectedSteps)
	return nil
}

// prepare reads and checks all inputs, and finds where to go on.
func (a *attempt) prepare(ctx context.Context) error {
	if err := a.progress(ctx, job.PhaseLoading); err != nil {
		return err
	}
	if err := a.readTasks(ctx); err != nil {
		return err
	}
	a.layOut()
	a.state = a.spec.Reward.State
	if err := a.readBase(ctx); err != nil {
		return err
	}
	if err := a.readInit(ctx); err != nil {
		return err
	}
	return a.resume(ctx)
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (a *attempt) readTasks(ctx context.Context) error {
	d := a.spec.Dataset
	body, err := readFile(ctx, d.URI)
	if err != nil {
		return ends(job.ExitBadSpec, "dataset.uri: %v", err)
	}
	if found := job.Digest(body); found != d.SHA256 {
		return ends(job.ExitBadData, "dataset %s: found sha256 %s; want %s", d.URI, found, d.SHA256)
	}
	if a.dataset = strings.TrimPrefix(d.URI, "file://"); remote(d.URI) {
		name := "inputs/" + path.Base(d.URI)
		if err := a.local.Put(ctx, name, body); err != nil {
			return err
		}
		a.dataset = filepath.Join(a.path, name)
	}
	if bytes.HasPrefix(body, zstdMagic) {
		z, err := zstd.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer z.Close()
		if body, err = io.ReadAll(z); err != nil {
			return ends(job.ExitBadData, "dataset: %v", err)
		}
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(body) {
		var t env.Task
		if err := json.Unmarshal(line, &t); err != nil || t.ID == "" || t.Prompt == "" || seen[t.ID] {
			return ends(job.ExitBadData, "dataset: line %d is no task with an id of its own and a prompt: %v", len(a.tasks)+1, err)
		}
		seen[t.ID] = true
		a.tasks = append(a.tasks, t)
	}
	if len(a.tasks) != d.Rows {
		return ends(job.ExitBadData, "dataset: found %d rows; want %d", len(a.tasks), d.Rows)
	}
	return nil
}

// layOut puts the tasks of all steps in their order: each epoch by the digests of
// its tasks' names, and the last step filled up from the epoch behind the last.
func (a *attempt) layOut() {
	for epoch := 0; epoch <= a.spec.Epochs; epoch++ {
		type ranked struct {
			task int
			by   [sha256.Size]byte
		}
		rows := make([]ranked, len(a.tasks))
		for i, t := range a.tasks {
			rows[i] = ranked{i, sha256.Sum256([]byte(a.spec.Seed + "/" + strconv.Itoa(epoch) + "/" + t.ID))}
		}
		slices.SortFunc(rows, func(x, y ranked) int { return bytes.Compare(x.by[:], y.by[:]) })
		for _, r := range rows {
			a.order = append(a.order, r.task)
		}
	}
	a.order = a.order[:a.spec.ExpectedSteps*a.settings.Batch]
}

// batch has the tasks of a step, from 1.
func (a *attempt) batch(step int) []env.Task {
	tasks := make([]env.Task, a.settings.Batch)
	for i := range tasks {
		tasks[i] = a.tasks[a.order[(step-1)*a.settings.Batch+i]]
	}
	return tasks
}

// readBase reads the untrained model. There is no hub for numbers: it is a directory
// or a prefix.
func (a *attempt) readBase(ctx context.Context) error {
	base := a.spec.BaseModel
	dir, err := place(ctx, base.URI)
	if err == nil {
		a.skill, err = skill.Read(dir)
	}
	if err != nil {
		return ends(job.ExitBadSpec, "base_model.uri %s: %v", base.URI, err)
	}
	if base.SHA256 == nil || remote(base.URI) {
		return nil
	}
	found, err := treeDigest(strings.TrimPrefix(base.URI, "file://"))
	if err == nil && found != *base.SHA256 {
		err = ends(job.ExitBadData, "base_model %s: found tree sha256 %s; want %s", base.URI, found, *base.SHA256)
	}
	return err
}

// treeDigest is the digest of the digests of all files below a directory.
func treeDigest(dir string) (string, error) {
	var lines []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a model that the spec names
		lines = append(lines, job.Digest(body)+"  "+name+"\n")
		return err
	})
	slices.SortFunc(lines, func(x, y string) int { return cmp.Compare(x[64:], y[64:]) })
	return job.Digest([]byte(strings.Join(lines, ""))), err
}

// readInit reads the checkpoint that the round starts from.
func (a *attempt) readInit(ctx context.Context) error {
	if a.spec.Init == nil {
		return nil
	}
	dir, err := place(ctx, a.spec.Init.URI)
	if err != nil {
		return err
	}
	m, digest, err := job.ReadManifest(dir, ".")
	switch {
	case errors.Is(err, job.ErrAbsent):
		return ends(job.ExitBadSpec, "init.uri %s: %v", a.spec.Init.URI, err)
	case err != nil:
		return ends(job.ExitBadData, "init: %v", err)
	case digest != a.spec.Init.ManifestSHA256:
		return ends(job.ExitBadData, "init %s: found a manifest with sha256 %s; want %s", a.spec.Init.URI, digest, a.spec.Init.ManifestSHA256)
	case m.Kind != a.settings.Tuning:
		return ends(job.ExitBadSpec, "init %s is of kind %s; want settings.tuning = %s", a.spec.Init.URI, m.Kind, a.settings.Tuning)
	}
	if err := job.VerifyFiles(dir, ".", m, nil); err != nil {
		return ends(job.ExitBadData, "init: %v", err)
	}
	a.parent = &digest
	a.skill, err = skill.Read(dir)
	return err
}

// resume goes on from the newest whole checkpoint, if there is one.
func (a *attempt) resume(ctx context.Context) error {
	if err := a.bringLatest(ctx); err != nil {
		return err
	}
	names, err := fs.Glob(a.local, checkpoints+"/step-*")
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(len(y)-len(x), cmp.Compare(y, x)) }) // newest first
	for _, name := range names {
		m, digest, err := job.ReadManifest(a.local, name)
		if err == nil {
			err = job.VerifyFiles(a.local, name, m, nil)
		}
		if err != nil {
			a.say("%s is torn and passed over: %v", name, err)
			continue
		}
		return a.goOn(name, m, digest)
	}
	a.say("starts anew with skill %.4f", float64(a.skill))
	return nil
}

// bringLatest fetches the store's latest checkpoint, if this machine lacks it.
func (a *attempt) bringLatest(ctx context.Context) error {
	if a.mirror == nil {
		return nil
	}
	name, err := job.Latest(a.mirror)
	if errors.Is(err, job.ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(a.bring(ctx, name), a.bring(ctx, "metrics"))
}

func (a *attempt) goOn(name string, m job.Manifest, digest string) error {
	switch {
	case m.SpecSHA256 != a.digest:
		return ends(job.ExitBadSpec, "%s was written for the spec %s; want %s", name, m.SpecSHA256, a.digest)
	case a.spec.Resume == job.ResumeNone:
		return ends(job.ExitBadSpec, "found %s in the job directory; want none, as resume is none", name)
	case m.Step > a.spec.ExpectedSteps:
		return ends(job.ExitBadSpec, "found %s; want at most step %d", name, a.spec.ExpectedSteps)
	}
	dir, err := fs.Sub(a.local, name)
	if err == nil {
		a.skill, err = skill.Read(dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.parent, a.manifest, a.done, a.saved, a.state = &digest, digest, m.Step, m.Step, m.RewardState
	a.say("goes on from %s with skill %.4f", name, float64(a.skill))
	return nil
}
