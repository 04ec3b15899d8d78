package pool_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/outage"
	"floe/internal/serve"
	"floe/internal/serve/pool"
	"floe/internal/serve/servetest"
)

const key = "canary-5e1d77"

// theirs is a scripted server of somebody else, which wants a key, and a pool that
// knows it as lab.
func theirs(t *testing.T) (*servetest.Server, *pool.Pool) {
	t.Helper()
	scripted := servetest.New("vllm", "Qwen/Qwen3-4B", "qwen", nil)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		scripted.ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "endpoints.yaml")
	for name, text := range map[string]string{
		file:                          "lab: {url: " + at.URL + "/v1, key_file: lab.key, prompt_price: 1, reply_price: 2}\nwrong: {url: " + at.URL + "/v1, key_file: wrong.key}\n",
		filepath.Join(dir, "lab.key"): key, filepath.Join(dir, "wrong.key"): "canary-of-another",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	directory, err := endpoint.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	p := pool.New(pool.Settings{Directory: directory, Exclusive: true}) // which says nothing about others' devices
	t.Cleanup(p.Close)
	return scripted, p
}

func lab(load bool, folder string) pool.Want {
	w := want(1)
	w.Serve = experiment.ServeSpec{Kind: experiment.ServeExternal, Endpoint: "lab", Model: "qwen", Load: load, Folder: folder, Adapters: 1}
	return w
}

func TestAServerOfOthersIsAskedWithItsKeyAndPrices(t *testing.T) {
	_, p := theirs(t)
	u := used(t, p, lab(false, ""))
	if said := says(t, u); !strings.Contains(said, "model Qwen/Qwen3-4B") || u.Prices == nil || u.Prices.Reply != 2 {
		t.Errorf("%s, prices %+v", said, u.Prices)
	}
	if u.Server != "external vllm 0-scripted, model Qwen/Qwen3-4B" {
		t.Errorf("recorded as %q", u.Server)
	}
	u.Done(true)
	says(t, u) // theirs stays
	unnamed := lab(false, "")
	unnamed.Serve.Model = ""
	if _, err := p.Use(t.Context(), unnamed, nil); !pool.Final(err) || !strings.Contains(err.Error(), "serves nothing as base") {
		t.Errorf("%v", err)
	}
	wrong := lab(false, "")
	wrong.Serve.Endpoint = "wrong"
	if _, err := p.Use(t.Context(), wrong, nil); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestACheckpointThatNobodyLoadedIsAskedFor(t *testing.T) {
	scripted, p := theirs(t)
	w := newWorker(t, false)
	c := w.checkpoint("exp-round-0")
	if _, err := p.Use(t.Context(), with(lab(false, ""), c), nil); !pool.Final(err) || !strings.Contains(err.Error(), c.Name()) {
		t.Errorf("%v", err)
	}
	load(t, scripted, c)
	if said := says(t, used(t, p, with(lab(false, ""), c))); !strings.Contains(said, c.Dir) {
		t.Errorf("it answers %s", said)
	}
}

func TestCheckpointsAreLoadedIntoAServerOfOthersAndOnlyTheirsStay(t *testing.T) {
	scripted, p := theirs(t)
	w := newWorker(t, false)
	alien, one, two := w.checkpoint("alien"), w.checkpoint("one"), w.checkpoint("two")
	load(t, scripted, alien)
	folder := filepath.Dir(one.Dir)
	first := used(t, p, with(lab(true, folder), one))
	if said := says(t, first); !strings.Contains(said, one.Dir) {
		t.Errorf("it answers %s", said)
	}
	next := begin(t.Context(), p, with(lab(true, folder), two))
	until(t, "a word that there is no place", func() bool { return next.has("waiting for a place") })
	base := used(t, p, lab(true, folder)) // needs no place
	says(t, base)
	first.Done(false)
	if said := says(t, next.got(t)); !strings.Contains(said, two.Dir) {
		t.Errorf("it answers %s", said)
	}
	if got := scripted.Adapters(); !slices.Equal(got, []string{alien.Name(), two.Name()}) {
		t.Errorf("loaded are %q; want what others loaded, and the one in use", got)
	}
}

// A model server that was killed comes back without the adapters that were loaded.
func TestAForgottenCheckpointIsLoadedAgain(t *testing.T) {
	scripted, p := theirs(t)
	w := newWorker(t, false)
	one := w.checkpoint("one")
	u := used(t, p, with(lab(true, filepath.Dir(one.Dir)), one))
	for range 5 { // more often than it may happen without an answer
		scripted.Forget()
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				_, trouble := u.Endpoint.Call(t.Context(), endpoint.Request{Model: u.Model, MaxTokens: 1, Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: "1"}}})
				if trouble != nil {
					t.Errorf("trouble: %v; want the model loaded again, and an answer", trouble)
				}
			})
		}
		asking.Wait()
		if got := scripted.Adapters(); !slices.Equal(got, []string{one.Name()}) {
			t.Errorf("loaded are %q; want it once", got)
		}
	}
	scripted.Forgets(true)
	_, trouble := u.Endpoint.Call(t.Context(), endpoint.Request{Model: u.Model, MaxTokens: 1})
	if trouble == nil || !trouble.Final || !strings.Contains(trouble.Reason, "forgot it each time") {
		t.Errorf("a server that keeps nothing: %v; want a final sentence about that", trouble)
	}
	if _, err := p.Use(t.Context(), with(lab(true, filepath.Dir(one.Dir)), one), nil); err == nil || !strings.Contains(err.Error(), "forgot it each time") {
		t.Errorf("a use of it: %v; want the same", err)
	}
}

func TestACheckpointThatOthersLoadStaysWithThem(t *testing.T) {
	scripted, p := theirs(t)
	c := newWorker(t, false).checkpoint("exp-round-0")
	load(t, scripted, c)
	u := used(t, p, with(lab(false, ""), c))
	scripted.Forget()
	_, trouble := u.Endpoint.Call(t.Context(), endpoint.Request{Model: u.Model, MaxTokens: 1})
	if trouble == nil || !trouble.Final || len(scripted.Adapters()) > 0 {
		t.Errorf("%v, loaded are %q; want a final 404: floe does not load here", trouble, scripted.Adapters())
	}
}

func TestAServerOfOthersThatIsAwayIsAnOutage(t *testing.T) {
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	p := newWorker(t, false).pool()
	w := want(1)
	w.Serve = experiment.ServeSpec{Kind: experiment.ServeExternal, Endpoint: at.URL + "/v1"}
	for range 2 {
		_, err := p.Use(t.Context(), w, nil)
		if o, is := outage.As(err); !is || o.Service != "the model server at "+strings.TrimPrefix(at.URL, "http://") || pool.Final(err) {
			t.Errorf("%v; want an outage of that server", err)
		}
		at.Close() // now it refuses connections
	}
}

// load loads a checkpoint as whoever runs the server does.
func load(t *testing.T, s *servetest.Server, c *serve.Checkpoint) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/load_lora_adapter", strings.NewReader(`{"lora_name": "`+c.Name()+`", "lora_path": "`+c.Dir+`"}`))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
}
