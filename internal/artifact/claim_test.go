package artifact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

// brief leases run out within a test.
func brief(store artifact.Store) artifact.Steps {
	s := over(store)
	s.LeaseFor = 100 * time.Millisecond
	return s
}

func claimant(name string) artifact.Claimant {
	return artifact.Claimant{Experiment: name, Attempt: name, Work: "work-" + name, Try: 1, Host: "here"}
}

// held claims a step that must be free.
func held(t *testing.T, s artifact.Steps, who artifact.Claimant) *artifact.Hold {
	t.Helper()
	h, _, done, err := s.Claim(t.Context(), train, who, func(artifact.Lease) {})
	if err != nil || done {
		t.Fatalf("claim: done %v, %v", done, err)
	}
	t.Cleanup(h.Release)
	return h
}

func mustCommit(t *testing.T, h *artifact.Hold, content string) artifact.Manifest {
	t.Helper()
	m, err := h.Commit(t.Context(), nil, begun, files(t, content))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAHeldStepIsCommittedAndNothingElseIsLeft(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	h := held(t, s, claimant("a"))
	m := mustCommit(t, h, "weights")
	h.Release()
	if m.Lease != 1 || m.Attempt != "a-t1" {
		t.Errorf("the manifest names attempt %q and lease %d", m.Attempt, m.Lease)
	}
	if keys := store.Keys(""); len(keys) != 3 {
		t.Errorf("left %q; want two objects and the manifest", keys)
	}
	_, found, done, err := s.Claim(t.Context(), train, claimant("b"), nil)
	if err != nil || !done || found.Attempt != m.Attempt {
		t.Errorf("a second claim: done %v by %q, %v", done, found.Attempt, err)
	}
}

func TestOfManyWhoWantAStepOneWorksAndTheOthersAdopt(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	s.LeaseFor = 2 * time.Second
	var worked atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			h, m, done, err := s.Claim(t.Context(), train, claimant(fmt.Sprint("exp-", i)), func(artifact.Lease) {})
			if err == nil && !done {
				defer h.Release()
				worked.Add(1)
				m, err = h.Commit(t.Context(), nil, begun, files(t, "weights"))
			}
			if err != nil || m.Attempt == "" {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if worked.Load() != 1 {
		t.Errorf("%d worked; want 1", worked.Load())
	}
	if keys := store.Keys(""); len(keys) != 3 {
		t.Errorf("left %q; want two objects and the manifest", keys)
	}
}

func TestWhoWaitsIsToldForWhomAndAdoptsTheResult(t *testing.T) {
	s := brief(artifacttest.NewMemory())
	first := held(t, s, claimant("first"))
	var told sync.Once
	_, m, done, err := s.Claim(t.Context(), train, claimant("second"), func(l artifact.Lease) {
		if l.Owner.Experiment != "first" {
			t.Errorf("waits for %+v", l.Owner)
		}
		told.Do(func() { mustCommit(t, first, "weights") })
	})
	if err != nil || !done || m.Attempt != "first-t1" {
		t.Errorf("done %v by %q, %v", done, m.Attempt, err)
	}
}

func TestALivingLeaseIsNotTakenOver(t *testing.T) {
	s := brief(artifacttest.NewMemory())
	h := held(t, s, claimant("first"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*s.LeaseFor)
	defer cancel()
	_, _, done, err := s.Claim(ctx, train, claimant("second"), func(artifact.Lease) {})
	if done || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("done %v, %v; want to wait on", done, err)
	}
	if h.Context().Err() != nil {
		t.Error("the holder lost its hold")
	}
	mustCommit(t, h, "weights")
}

// stuck is a store whose user is stopped, as by SIGSTOP or a cut network: what
// it asks for waits until the user goes on.
type stuck struct {
	*artifacttest.Memory
	mu sync.RWMutex
}

func (s *stuck) gate() { s.mu.RLock(); defer s.mu.RUnlock() }

func (s *stuck) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	s.gate()
	return s.Memory.Put(ctx, key, body)
}

func (s *stuck) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	s.gate()
	return s.Memory.PutIfAbsent(ctx, key, body)
}

func TestAStoppedHolderThatComesBackIsRefused(t *testing.T) {
	var log bytes.Buffer
	store := artifacttest.NewMemory()
	cut := &stuck{Memory: store}
	stale := brief(cut)
	stale.Log = logTo(&log)
	late := held(t, stale, claimant("late"))
	if err := late.SavePartial(t.Context(), 90, []byte("far")); err != nil {
		t.Fatal(err)
	}

	cut.mu.Lock() // it stops
	s := brief(store)
	next := held(t, s, claimant("next"))
	if next.Token() != 2 {
		t.Errorf("token %d; want 2", next.Token())
	}
	if err := next.SavePartial(t.Context(), 50, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	cut.mu.Unlock() // it comes back

	if _, err := late.Commit(t.Context(), nil, begun, files(t, "late")); !errors.Is(err, artifact.ErrLost) {
		t.Errorf("the late commit: %v; want ErrLost", err)
	}
	<-late.Context().Done() // it stops itself
	if cause := context.Cause(late.Context()); !errors.Is(cause, artifact.ErrLost) {
		t.Errorf("the late holder's context ended by %v", cause)
	}
	if err := late.SavePartial(t.Context(), 95, []byte("farther")); !errors.Is(err, artifact.ErrLost) {
		t.Errorf("a late checkpoint: %v; want ErrLost", err)
	}
	late.Release()
	if step, state, ok, err := s.LatestPartial(t.Context(), train); err != nil || !ok || step != 50 || string(state) != "mine" {
		t.Errorf("the newest checkpoint is %d %q, %v; want the later holder's", step, state, err)
	}
	wantNotDone(t, s)
	if left := store.Keys(trainFolder + "late-t1/"); len(left) != 0 {
		t.Errorf("the late attempt left %q", left)
	}
	if m := mustCommit(t, next, "next"); m.Attempt != "next-t2" || m.Lease != 2 {
		t.Errorf("committed by %q under lease %d", m.Attempt, m.Lease)
	}
	if !strings.Contains(log.String(), "refused") || !strings.Contains(log.String(), "late-t1") {
		t.Errorf("the log does not tell of the refusal:\n%s", log.String())
	}
}

func TestALateCommitIsRefusedAlsoAfterTheOtherHasFinished(t *testing.T) {
	store := artifacttest.NewMemory()
	cut := &stuck{Memory: store}
	late := held(t, brief(cut), claimant("late"))
	cut.mu.Lock()
	next := held(t, brief(store), claimant("next"))
	mustCommit(t, next, "next")
	next.Release()
	cut.mu.Unlock()
	if _, err := late.Commit(t.Context(), nil, begun, files(t, "late")); !errors.Is(err, artifact.ErrLost) {
		t.Errorf("the late commit: %v; want ErrLost", err)
	}
	if m, ok, err := over(store).Find(t.Context(), train); !ok || err != nil || m.Attempt != "next-t2" {
		t.Errorf("the step is done by %q, %v, %v", m.Attempt, ok, err)
	}
}

func TestAHolderWhoseWorkEndedBeforeItNoticedSaysThatItWasTakenOver(t *testing.T) {
	var log bytes.Buffer
	s := over(artifacttest.NewMemory()) // leases of 20 s: no renewal within the test
	s.Log = logTo(&log)
	who := claimant("a")
	late := held(t, s, who)
	who.Try, who.Attempt = 2, "a2"
	held(t, over(s.Store), who)
	late.Release()
	late.Release()
	if n := strings.Count(log.String(), "taken over while it was worked on"); n != 1 {
		t.Errorf("told %d times; want once:\n%s", n, log.String())
	}
}

func TestALaterTryOfTheSameWorkNeedNotWait(t *testing.T) {
	s := over(artifacttest.NewMemory()) // leases of 20 s
	who := claimant("a")
	held(t, s, who)
	who.Try, who.Attempt = 2, "a2"
	h, _, done, err := s.Claim(t.Context(), train, who, func(l artifact.Lease) { t.Errorf("waits for %+v", l.Owner) })
	if err != nil || done || h.Token() != 2 {
		t.Fatalf("done %v, %v", done, err)
	}
	h.Release()
}

func TestAReleasedStepIsFreeAtOnce(t *testing.T) {
	s := over(artifacttest.NewMemory())
	held(t, s, claimant("a")).Release()
	h, _, done, err := s.Claim(t.Context(), train, claimant("b"), func(l artifact.Lease) { t.Errorf("waits for %+v", l.Owner) })
	if err != nil || done || h.Token() != 2 {
		t.Fatalf("done %v, %v", done, err)
	}
	h.Release()
}

// TestDeathBetweenAnyTwoPutsLeavesAStepThatCanBeDone lets a committing process
// die after each of its puts. Whoever comes next does the step or, where the end
// of the lease was written, finishes that commit.
func TestDeathBetweenAnyTwoPutsLeavesAStepThatCanBeDone(t *testing.T) {
	finished := 0
	for n := range 5 {
		store := artifacttest.NewMemory()
		dying := &mortal{Memory: store, left: n}
		h, _, done, err := brief(dying).Claim(t.Context(), train, claimant("a"), nil)
		if err == nil && !done {
			_, err = h.Commit(t.Context(), nil, begun, files(t, "weights"))
		}
		if err == nil {
			t.Fatalf("after %d puts it was not dead", n)
		}
		next, m, done, err := brief(store).Claim(t.Context(), train, claimant("b"), func(artifact.Lease) {})
		if err != nil {
			t.Fatalf("after %d puts: %v", n, err)
		}
		if done {
			finished++
		} else {
			m = mustCommit(t, next, "weights")
		}
		if got, err := over(store).Read(t.Context(), m, "policy.bin"); err != nil || string(got) != "weights" {
			t.Errorf("after %d puts: read %q, %v", n, got, err)
		}
	}
	if finished != 1 {
		t.Errorf("%d commits were finished by the next; want the one whose lease had ended", finished)
	}
}

// mortal is a store whose user dies after some puts; it never does anything
// again, not even delete.
type mortal struct {
	*artifacttest.Memory
	mu   sync.Mutex
	left int
}

var errDead = errors.New("killed")

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left <= 0 {
		return errDead
	}
	m.left--
	return nil
}

func (m *mortal) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Memory.Put(ctx, key, body)
}

func (m *mortal) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Memory.PutIfAbsent(ctx, key, body)
}

func (m *mortal) Delete(ctx context.Context, key string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Memory.Delete(ctx, key)
}

func TestLostAnswersToPutsCostNothing(t *testing.T) {
	for _, lost := range []error{artifact.ErrExists, errors.New("connection reset")} {
		for _, part := range []string{"-held", "-end", "manifest.json"} {
			store := artifacttest.NewMemory()
			fail := artifacttest.Nth(1, lost)
			store.AfterPut = func(key string) error {
				if strings.HasSuffix(key, part) {
					return fail(key)
				}
				return nil
			}
			s := over(store)
			m := mustCommit(t, held(t, s, claimant("a")), "weights")
			if got, err := s.Read(t.Context(), m, "policy.bin"); err != nil || string(got) != "weights" {
				t.Errorf("%s of %s: read %q, %v", lost, part, got, err)
			}
			if keys := store.Keys(""); len(keys) != 3 {
				t.Errorf("%s of %s: left %q", lost, part, keys)
			}
		}
	}
}

func TestALeaseThatCannotBeReadIsTakenOverInTime(t *testing.T) {
	store := artifacttest.NewMemory()
	if err := store.Put(t.Context(), trainFolder+"lease/00000004-held", strings.NewReader("torn")); err != nil {
		t.Fatal(err)
	}
	s := brief(store)
	who := claimant("a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // less than the 20 s that such a lease lasts
	defer cancel()
	if _, _, _, err := s.Claim(ctx, train, who, func(artifact.Lease) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("claim: %v; want to wait", err)
	}
	if err := store.Put(t.Context(), trainFolder+"lease/00000004-end", strings.NewReader("torn")); err != nil {
		t.Fatal(err)
	}
	var corrupt *artifact.CorruptError
	if _, _, _, err := s.Claim(t.Context(), train, who, func(artifact.Lease) {}); !errors.As(err, &corrupt) {
		t.Errorf("claim: %v; want a CorruptError: who ended it decides who may commit", err)
	}
}

func TestClaimsWithBadNamesAreRefused(t *testing.T) {
	s := over(artifacttest.NewMemory())
	for _, name := range []string{"", "a/b", "lease", "partial"} {
		if _, _, _, err := s.Claim(t.Context(), train, claimant(name), nil); err == nil {
			t.Errorf("attempt %q was accepted", name)
		}
	}
}
