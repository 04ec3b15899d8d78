package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/checkpoint"
	"floe/internal/experiment"
	"floe/internal/importtest"
	"floe/internal/job"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

// trained is a step with a checkpoint, in a store that counts what is read.
type trained struct {
	steps artifact.Steps
	store *artifacttest.Memory
	step  artifact.Manifest
	sum   string
	reads *atomic.Int64
}

var content = map[string]string{
	"adapter_model.safetensors": strings.Repeat("weights ", 1000), "adapter_config.json": "{}", "state/optimizer.bin": "moments",
}

func manifest(t *testing.T) []byte {
	t.Helper()
	m := job.Manifest{
		Schema: job.CheckpointSchema, Step: 2, Kind: "lora", Trainer: "trl", BaseModel: job.BaseRef{URI: "Qwen/Qwen3-4B"},
		SpecSHA256: job.Digest(nil), Versions: map[string]string{}, Written: time.Unix(0, 0).UTC(),
	}
	for _, path := range []string{"adapter_model.safetensors", "adapter_config.json", "state/optimizer.bin"} {
		role := job.RoleModel
		if strings.HasPrefix(path, "state/") {
			role = job.RoleState
		}
		m.Files = append(m.Files, job.File{Path: path, Size: int64(len(content[path])), SHA256: job.Digest([]byte(content[path])), Role: role})
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// train commits a step with these files and a manifest.
func train(t *testing.T, files map[string]string, manifest []byte) trained {
	t.Helper()
	w := trained{store: artifacttest.NewMemory(), reads: new(atomic.Int64), sum: job.Digest(manifest)}
	w.steps = artifact.Steps{Store: w.store}
	bodies := []artifact.Body{artifact.Bytes("result.json", []byte("{}"))}
	if manifest != nil {
		bodies = append(bodies, artifact.Bytes("checkpoint/manifest.json", manifest))
	}
	for name, text := range files {
		bodies = append(bodies, artifact.Bytes("checkpoint/"+name, []byte(text)))
	}
	var err error
	if w.step, _, err = w.steps.Commit(t.Context(), experiment.StepID{Kind: "train", Key: "k1"}, "a1", nil, time.Now(), bodies); err != nil {
		t.Fatal(err)
	}
	w.store.OnGet = func(key string, content []byte) ([]byte, error) {
		if !strings.HasSuffix(key, "manifest.json") {
			w.reads.Add(1)
		}
		return content, nil
	}
	return w
}

func (w trained) fetch(t *testing.T, folder string, part checkpoint.Part) checkpoint.Copy {
	t.Helper()
	c, err := checkpoint.Fetch(t.Context(), w.steps, w.step, folder, part, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func TestAServerGetsTheModelAndATrainingAll(t *testing.T) {
	w, folder := train(t, content, manifest(t)), t.TempDir()
	c := w.fetch(t, folder, checkpoint.Model)
	if c.Dir != filepath.Join(folder, w.sum) || c.SHA256 != w.sum || c.Manifest.Kind == "full" || has(c.Dir, "state/optimizer.bin") {
		t.Errorf("got %+v", c)
	}
	if s := c.Served("exp-round-0"); s.Dir != c.Dir || !strings.HasPrefix(s.Name(), "exp-round-0-"+w.sum[:12]) {
		t.Errorf("served as %+v", s)
	}
	c = w.fetch(t, folder, checkpoint.All)
	if err := job.VerifyFiles(os.DirFS(c.Dir), ".", c.Manifest, nil); err != nil {
		t.Error(err)
	}
	if _, sum, err := job.ReadManifest(os.DirFS(c.Dir), "."); err != nil || sum != w.sum {
		t.Errorf("the copy's manifest has the digest %s, %v; want %s", sum, err, w.sum)
	}
}

func TestWhatIsWholeStaysAndWhatIsNotIsFetchedAgain(t *testing.T) {
	w, folder := train(t, content, manifest(t)), t.TempDir()
	c := w.fetch(t, folder, checkpoint.All)
	before := w.reads.Load()
	w.fetch(t, folder, checkpoint.All)
	if n := w.reads.Load() - before; n != 0 {
		t.Errorf("%d files were fetched again; want none", n)
	}
	weights := filepath.Join(c.Dir, "adapter_model.safetensors")
	bad := bytes.Replace([]byte(content["adapter_model.safetensors"]), []byte("w"), []byte("x"), 1) // of the same size
	elsewhere := filepath.Join(t.TempDir(), "other")
	for what, spoil := range map[string]func() error{
		"gone":         func() error { return os.Remove(weights) },
		"another byte": func() error { return os.WriteFile(weights, bad, 0o600) },
		"cut off":      func() error { return os.Truncate(weights, 3) },
		"a link":       func() error { return errors.Join(os.Rename(weights, elsewhere), os.Symlink(elsewhere, weights)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		before := w.reads.Load()
		w.fetch(t, folder, checkpoint.Model)
		if n := w.reads.Load() - before; n != 1 {
			t.Errorf("%s: %d files were fetched; want one", what, n)
		}
		if err := job.VerifyFiles(os.DirFS(c.Dir), ".", c.Manifest, nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if info, err := os.Lstat(weights); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", what, info, err)
		}
	}
}

func TestAFetchThatBrokeOffGoesOn(t *testing.T) {
	w, folder := train(t, content, manifest(t)), t.TempDir()
	var calls atomic.Int64
	w.store.OnGet = func(key string, content []byte) ([]byte, error) {
		if !strings.HasSuffix(key, "manifest.json") && calls.Add(1) == 2 {
			return nil, errors.New("the network is gone")
		}
		return content, nil
	}
	if _, err := checkpoint.Fetch(t.Context(), w.steps, w.step, folder, checkpoint.All, nil); err == nil || !strings.Contains(err.Error(), "network is gone") {
		t.Fatalf("%v", err)
	}
	dir := filepath.Join(folder, w.sum)
	if has(dir, "manifest.json") {
		t.Error("a torn copy has a manifest")
	}
	w.fetch(t, folder, checkpoint.All)
	if n := calls.Load(); n != 4 {
		t.Errorf("%d files were asked for; want the first once and two more, after the one that failed", n)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOfManyThatFetchTheSameOneDoes(t *testing.T) {
	w, folder := train(t, content, manifest(t)), t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { w.fetch(t, folder, checkpoint.All) })
	}
	all.Wait()
	if n := w.reads.Load(); n != int64(len(content)) {
		t.Errorf("%d files were fetched; want %d", n, len(content))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := checkpoint.Fetch(ctx, w.steps, w.step, folder, checkpoint.All, nil); err == nil {
		t.Error("a fetch whose context had ended went on")
	}
}

func TestCopiesThatNobodyFetchesAreRemoved(t *testing.T) {
	old, fresh, folder := train(t, content, manifest(t)), train(t, content, append(manifest(t), '\n')), t.TempDir()
	c := old.fetch(t, folder, checkpoint.Model)
	fresh.fetch(t, folder, checkpoint.Model)
	if !has(c.Dir, "manifest.json") {
		t.Fatal("a copy was removed that was fetched just now")
	}
	past := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(c.Dir+".lock", past, past); err != nil {
		t.Fatal(err)
	}
	kept := fresh.fetch(t, folder, checkpoint.Model)
	if has(folder, filepath.Base(c.Dir)) || !has(kept.Dir, "manifest.json") {
		t.Error("the old copy stayed, or the other one did not")
	}
	if again := old.fetch(t, folder, checkpoint.All); job.VerifyFiles(os.DirFS(again.Dir), ".", again.Manifest, nil) != nil {
		t.Error("the copy that was removed is not whole again")
	}
}

func TestDamageIsToldAfterASecondLook(t *testing.T) {
	w := train(t, content, manifest(t))
	var once atomic.Bool
	forever := false
	w.store.OnGet = func(key string, content []byte) ([]byte, error) {
		if strings.HasSuffix(key, "adapter_config.json") && (forever || once.CompareAndSwap(false, true)) {
			return []byte("[]"), nil
		}
		return content, nil
	}
	w.fetch(t, t.TempDir(), checkpoint.Model) // a bit that was flipped on the way
	forever = true
	_, err := checkpoint.Fetch(t.Context(), w.steps, w.step, t.TempDir(), checkpoint.Model, nil)
	if damaged, ok := errors.AsType[*artifact.CorruptError](err); !ok || !strings.HasSuffix(damaged.Object, "adapter_config.json") {
		t.Errorf("%v; want the damage named", err)
	}
}

func TestAStepWithoutAWholeCheckpointSaysWhatIsMissing(t *testing.T) {
	fetch := func(w trained) error {
		_, err := checkpoint.Fetch(t.Context(), w.steps, w.step, t.TempDir(), checkpoint.Model, nil)
		return err
	}
	if err := fetch(train(t, nil, nil)); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("%v", err)
	}
	other := map[string]string{"adapter_model.safetensors": "other weights", "adapter_config.json": "{}"}
	err := fetch(train(t, other, manifest(t)))
	for _, want := range []string{"no file checkpoint/state/optimizer.bin", "adapter_model.safetensors is recorded with 13 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err := fetch(train(t, content, bytes.Replace(manifest(t), []byte("checkpoint/v1"), []byte("checkpoint/v9"), 1))); err == nil || !strings.Contains(err.Error(), "floe.checkpoint/v1") {
		t.Errorf("%v", err)
	}
}

func TestAFetchTellsHowFarItIs(t *testing.T) {
	w := train(t, content, manifest(t))
	var notes []string
	if _, err := checkpoint.Fetch(t.Context(), w.steps, w.step, t.TempDir(), checkpoint.Model, func(n string) { notes = append(notes, n) }); err != nil {
		t.Fatal(err)
	}
	if len(notes) == 0 || !strings.Contains(notes[0], "fetching checkpoint: ") || !strings.Contains(notes[0], " of 8002 bytes") {
		t.Errorf("told %q", notes)
	}
}
