package s3_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/experiment"
)

func freshStep() experiment.StepID { return experiment.StepID{Kind: "test", Key: rand.Text()} }

func who(name string) artifact.Claimant {
	return artifact.Claimant{Experiment: name, Attempt: name, Work: name, Try: 1, Host: "here"}
}

func claim(t *testing.T, s artifact.Steps, id experiment.StepID, name string) *artifact.Hold {
	t.Helper()
	h, _, done, err := s.Claim(t.Context(), id, who(name), func(artifact.Lease) {})
	if err != nil || done {
		t.Fatalf("claim by %s: done %v, %v", name, done, err)
	}
	t.Cleanup(h.Release)
	return h
}

func body(text string) []artifact.Body { return []artifact.Body{artifact.Bytes("f", []byte(text))} }

// TestAHolderBehindACutNetworkIsRefusedWhenItIsBack cuts a holder off from the
// store until another has taken its step over.
func TestAHolderBehindACutNetworkIsRefusedWhenItIsBack(t *testing.T) {
	stack := devtest.Shared(t)
	var cut sync.RWMutex
	_, settings := between(t, stack, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		cut.RLock()
		defer cut.RUnlock()
		next.ServeHTTP(w, r)
	})
	id := freshStep()
	far := artifact.Steps{Store: open(t, settings), LeaseFor: 500 * time.Millisecond}
	near := artifact.Steps{Store: stack.Store(), LeaseFor: far.LeaseFor}

	late := claim(t, far, id, "late")
	cut.Lock()
	next := claim(t, near, id, "next")
	cut.Unlock()
	if _, err := late.Commit(t.Context(), nil, time.Now(), body("late")); !errors.Is(err, artifact.ErrLost) {
		t.Errorf("the late commit: %v; want ErrLost", err)
	}
	m, err := next.Commit(t.Context(), nil, time.Now(), body("next"))
	if err != nil || m.Lease != 2 {
		t.Fatalf("committed under lease %d, %v", m.Lease, err)
	}
	if got, err := near.Read(t.Context(), m, "f"); err != nil || string(got) != "next" {
		t.Errorf("read %q, %v", got, err)
	}
	left, err := stack.Store().List(t.Context(), "steps/test/"+id.Key+"/late-t1/")
	if err != nil || len(left) != 0 {
		t.Errorf("the late attempt left %v, %v", left, err)
	}
}

// TestAPutThatWasDoneAndAnsweredWithAnErrorIsDone has the server do puts and
// then lose its answers, for each kind of object of a commit.
func TestAPutThatWasDoneAndAnsweredWithAnErrorIsDone(t *testing.T) {
	stack := devtest.Shared(t)
	for _, part := range []string{"-held", "-end", "manifest.json", "/f"} {
		var lost atomic.Int32
		_, settings := between(t, stack, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, part) && lost.Add(1) == 1 {
				next.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})
		steps := artifact.Steps{Store: open(t, settings)}
		id := freshStep()
		m, err := claim(t, steps, id, "a").Commit(t.Context(), nil, time.Now(), body("x"))
		if err != nil || lost.Load() < 2 {
			t.Errorf("%s: %v, after %d puts; want it done, after a second put", part, err, lost.Load())
			continue
		}
		if got, err := steps.Read(t.Context(), m, "f"); err != nil || string(got) != "x" {
			t.Errorf("%s: read %q, %v", part, got, err)
		}
	}
}

// TestOfManyAtOnceOneDoesTheStep races on a real server.
func TestOfManyAtOnceOneDoesTheStep(t *testing.T) {
	stack := devtest.Shared(t)
	steps := artifact.Steps{Store: stack.Store()}
	id := freshStep()
	var did atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			h, m, done, err := steps.Claim(t.Context(), id, who(rand.Text()), func(artifact.Lease) {})
			if err == nil && !done {
				did.Add(1)
				m, err = h.Commit(t.Context(), nil, time.Now(), body("x"))
			}
			if err != nil || m.ID != id {
				t.Errorf("%v: %v", m.ID, err)
			}
		})
	}
	wg.Wait()
	if did.Load() != 1 {
		t.Errorf("%d did the step; want 1", did.Load())
	}
	left, err := steps.Store.List(t.Context(), "steps/test/"+id.Key+"/")
	if err != nil || len(left) != 2 {
		t.Errorf("left %v, %v; want the object and the manifest", left, err)
	}
}

// TestSweepingOnARealServer leaves an object that no manifest names, and lets it
// be swept by the server's clock.
func TestSweepingOnARealServer(t *testing.T) {
	stack := devtest.Start(t) // of its own: a sweep sees all of a bucket
	steps := artifact.Steps{Store: stack.Store()}
	id := freshStep()
	held := claim(t, steps, id, "first")
	held.Release()
	if err := steps.Store.Put(t.Context(), "steps/test/"+id.Key+"/first-t1/f", strings.NewReader("half")); err != nil {
		t.Fatal(err)
	}
	m, err := claim(t, steps, id, "second").Commit(t.Context(), nil, time.Now(), body("whole"))
	if err != nil {
		t.Fatal(err)
	}
	swept, err := steps.Sweep(t.Context(), artifact.SweepOptions{Older: time.Hour})
	if err != nil || swept.Objects != 0 {
		t.Errorf("within the grace: %+v, %v", swept, err)
	}
	// A grace that ends in the future stands for hours gone by.
	swept, err = steps.Sweep(t.Context(), artifact.SweepOptions{Older: -time.Hour})
	if err != nil || swept.Objects != 5 {
		t.Errorf("swept %+v, %v; want the half object, two leases and their ends", swept, err)
	}
	if _, err := steps.Verify(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
}
