package pool_test

import (
	"errors"
	"strings"
	"testing"

	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/serve"
	"floe/internal/serve/pool"
	"floe/internal/serve/servetest"
)

func TestWhatNoRetryMendsIsFinal(t *testing.T) {
	p := newWorker(t, false).pool()
	bad := func(change func(*pool.Want)) pool.Want {
		w := want(1)
		change(&w)
		return w
	}
	adapter := &serve.Checkpoint{Label: "x", Dir: "/x", SHA256: job.Digest(nil)}
	for what, c := range map[string]struct {
		want  pool.Want
		says  string
		final bool
	}{
		"no model":        {bad(func(w *pool.Want) { w.Trainer.Model = nil }), "no language model", true},
		"settings":        {bad(func(w *pool.Want) { w.Serve.Memory = 7 }), "memory share is 7", true},
		"a kind":          {bad(func(w *pool.Want) { w.Serve.Kind = "magic" }), "want one of", true},
		"not an adapter":  {bad(func(w *pool.Want) { *w = full(*w, adapter); w.Full = false }), "want a whole model", true},
		"endpoint's name": {bad(func(w *pool.Want) { w.Serve = experiment.ServeSpec{Kind: "external", Endpoint: "nowhere"} }), "no endpoint is called", true},
		"folder": {bad(func(w *pool.Want) {
			w.Serve = experiment.ServeSpec{Kind: "external", Endpoint: "http://127.0.0.1:1/v1", Load: true, Folder: "/shared", Adapters: 1}
			w.Checkpoint = adapter
		}), "below serve.folder, /shared", true},
		"no program": {bad(func(w *pool.Want) { w.Serve.Program = []string{"/none/vllm"} }), "no such file", false},
		"unreachable": {bad(func(w *pool.Want) {
			w.Serve = experiment.ServeSpec{Kind: "external", Endpoint: "http://127.0.0.1:1/v1"}
		}), "connection refused", false},
	} {
		if u, err := p.Use(t.Context(), c.want, nil); err == nil || !strings.Contains(err.Error(), c.says) || pool.Final(err) != c.final {
			t.Errorf("%s: %v, final %t; want %q, final %t", what, err, pool.Final(err), c.says, c.final)
			if u != nil {
				u.Done(true)
			}
		}
	}
}

func TestAServerOfAnotherModelIsFoundOutAndStopped(t *testing.T) {
	w := newWorker(t, false)
	t.Setenv(servetest.EnvWrongRoot, "/models/other")
	_, err := w.pool().Use(t.Context(), want(1), nil)
	if wrong, ok := errors.AsType[*serve.WrongModelError](err); !ok || wrong.Found != "/models/other" || !pool.Final(err) {
		t.Errorf("%v", err)
	}
	until(t, "its end", func() bool {
		st, err := w.local.Jobs.Status(t.Context(), "serve-"+entries(t, w.local.Root)[0]+"-a1")
		return err == nil && st.State.Final()
	})
}
