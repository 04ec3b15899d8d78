package pool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
	"floe/internal/serve/pool"
	"floe/internal/serve/servetest"
)

func TestMain(m *testing.M) {
	servetest.Main(nil)
	os.Exit(m.Run())
}

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

const patience = 2 * time.Minute

// worker is a machine with a folder, on which pools come and go.
type worker struct {
	t         *testing.T
	local     serve.Local
	exclusive bool
}

func newWorker(t *testing.T, exclusive bool) *worker {
	t.Helper()
	root := t.TempDir()
	b, err := process.New(process.Settings{Root: filepath.Join(root, "jobs")})
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t, serve.Local{Jobs: b, Root: filepath.Join(root, "servers")}, exclusive}
	t.Cleanup(func() {
		if err := w.local.Sweep(context.Background(), "", func(string) bool { return false }, time.Second); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *worker) pool() *pool.Pool {
	p := pool.New(pool.Settings{Local: w.local, Directory: endpoint.Environment(), Exclusive: w.exclusive, GPUs: "3"})
	w.t.Cleanup(p.Close)
	return p
}

func want(adapters int, more ...string) pool.Want {
	return pool.Want{
		Trainer: experiment.TrainerSpec{
			Kind: experiment.TrainerTRL, Model: &experiment.ModelSpec{URI: "Qwen/Qwen3-4B", Revision: "1cfa9a72"},
			Recipe: &experiment.RecipeSpec{Tuning: "lora", LoraRank: 20},
		},
		Serve:  experiment.ServeSpec{Kind: "vllm", Program: servetest.Command("vllm"), Adapters: adapters, Idle: 60, Start: 2, Args: more},
		Tokens: 9000,
	}
}

func (w *worker) checkpoint(label string) *serve.Checkpoint {
	dir := filepath.Join(w.local.Root, "..", "checkpoints", label)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		w.t.Fatal(err)
	}
	return &serve.Checkpoint{Label: label, Dir: filepath.Clean(dir), SHA256: job.Digest([]byte(label))}
}

func with(base pool.Want, c *serve.Checkpoint) pool.Want {
	base.Checkpoint = c
	return base
}

func full(base pool.Want, c *serve.Checkpoint) pool.Want {
	recipe := *base.Trainer.Recipe
	recipe.Tuning = "full"
	base.Trainer.Recipe, base.Checkpoint, base.Full = &recipe, c, true
	return base
}

func used(t *testing.T, p *pool.Pool, w pool.Want) *pool.Use {
	t.Helper()
	u, err := p.Use(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Done(false) })
	return u
}

func call(u *pool.Use) (string, *endpoint.Trouble) {
	r, trouble := u.Endpoint.Call(context.Background(), endpoint.Request{Model: u.Model, MaxTokens: 9, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "who?"}}})
	return r.Text, trouble
}

// says is what a model in use answers.
func says(t *testing.T, u *pool.Use) string {
	t.Helper()
	text, trouble := call(u)
	if trouble != nil {
		t.Fatal(trouble)
	}
	return text
}

func pidIn(t *testing.T, text string) (pid int) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "pid %d", &pid); err != nil {
		t.Fatalf("%q names no process", text)
	}
	return pid
}

func alive(pid int) bool {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(body), ") Z ")
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// heard keeps what a use reports.
type heard struct {
	mu    sync.Mutex
	notes []string
}

func (h *heard) tell(note string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, note)
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.notes, func(n string) bool { return strings.Contains(n, text) })
}

// waiting is a use under way.
type waiting struct {
	heard

	done chan struct{}
	use  *pool.Use
	err  error
}

func begin(ctx context.Context, p *pool.Pool, w pool.Want) *waiting {
	b := &waiting{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.use, b.err = p.Use(ctx, w, b.tell)
	}()
	return b
}

func (w *waiting) got(t *testing.T) *pool.Use {
	t.Helper()
	<-w.done
	if w.err != nil {
		t.Fatal(w.err)
	}
	t.Cleanup(func() { w.use.Done(false) })
	return w.use
}

func TestBaseAndCheckpointsOfOneModelShareAServer(t *testing.T) {
	w := newWorker(t, false)
	p := w.pool()
	c := w.checkpoint("exp-round-0")
	var told heard
	base, err := p.Use(t.Context(), want(2), told.tell)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Done(false)
	adapter := used(t, p, with(want(2), c))
	said, adapted := says(t, base), says(t, adapter)
	if pidIn(t, said) != pidIn(t, adapted) {
		t.Errorf("two servers: %s, %s", said, adapted)
	}
	for _, flag := range []string{
		`model Qwen/Qwen3-4B`, `adapter ""`, `gpus "3"`, `"--revision" "1cfa9a72"`, `"--max-model-len" "9000"`, `"--max-loras" "2"`, `"--max-lora-rank" "32"`,
	} {
		if !strings.Contains(said, flag) {
			t.Errorf("no %s in %s", flag, said)
		}
	}
	if !strings.Contains(adapted, c.Dir) || adapter.Model != c.Name() {
		t.Errorf("%s answers %s", adapter.Model, adapted)
	}
	if base.Server != "vllm 0-scripted, model Qwen/Qwen3-4B@1cfa9a72" || base.Prices != nil {
		t.Errorf("recorded as %q, %v", base.Server, base.Prices)
	}
	if !told.has("starting server vllm-") || !told.has("of Qwen/Qwen3-4B") || !told.has("warming up base") {
		t.Errorf("told %q", told.notes)
	}
	shared := *c
	shared.Label = "other-round-0" // the same checkpoint, of an experiment that shares it
	if again := used(t, p, with(want(2), &shared)); again.Model != c.Name() {
		t.Errorf("loaded twice: %s and %s", c.Name(), again.Model)
	}
}

func TestTheLeastRecentlyUsedCheckpointMakesRoomUnlessItIsInUse(t *testing.T) {
	w := newWorker(t, false)
	p := w.pool()
	one, two, three := w.checkpoint("one"), w.checkpoint("two"), w.checkpoint("three")
	first, second := used(t, p, with(want(2), one)), used(t, p, with(want(2), two))
	next := begin(t.Context(), p, with(want(2), three))
	until(t, "a word that there is no place", func() bool { return next.has("waiting for a place") })
	second.Done(false)
	third := next.got(t)
	if !next.has("unloading " + two.Name()) {
		t.Errorf("told %q", next.notes)
	}
	if _, trouble := call(second); trouble == nil {
		t.Error("the checkpoint that was unloaded answers")
	}
	if pidIn(t, says(t, first)) != pidIn(t, says(t, third)) {
		t.Error("two servers")
	}
	first.Done(false)
	third.Done(false)
	used(t, p, with(want(2), one)).Done(false) // the newer one now
	used(t, p, with(want(2), two)).Done(false)
	if text, trouble := call(first); trouble != nil || !strings.Contains(text, one.Dir) {
		t.Errorf("the checkpoint that was used last had to go: %v", trouble)
	}
}

func TestAWholeModelHasAServerOfItsOwn(t *testing.T) {
	w := newWorker(t, false)
	p := w.pool()
	c := w.checkpoint("exp-round-0")
	u := used(t, p, full(want(2), c))
	if said := says(t, u); !strings.Contains(said, "model "+c.Dir) || u.Model != c.Name() || strings.Contains(said, "--enable-lora") || strings.Contains(said, "--revision") {
		t.Errorf("%s answers %s", u.Model, said)
	}
}
