package artifact_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/experiment"
)

const day = 24 * time.Hour

func sweep(t *testing.T, s artifact.Steps, o artifact.SweepOptions) artifact.Swept {
	t.Helper()
	o.Older = day
	swept, err := s.Sweep(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return swept
}

func reasons(s artifact.Swept) map[string]int {
	n := map[string]int{}
	for _, r := range s.Reasons {
		n[r.Reason] = r.Objects
	}
	return n
}

// litter leaves what a life of crashes leaves: two objects of an attempt that
// died, the leases and checkpoints of a step that was taken over, a check.
func litter(t *testing.T, store *artifacttest.Memory) artifact.Manifest {
	t.Helper()
	s := brief(store)
	put := func(key string) {
		t.Helper()
		if err := store.Put(t.Context(), key, strings.NewReader("1234567")); err != nil {
			t.Fatal(err)
		}
	}
	dead := held(t, s, claimant("dead"))
	dead.Release()
	put(trainFolder + "dead-t1/policy.bin")
	put(trainFolder + "dead-t1/result.json")
	put("checks/left")
	h := held(t, s, claimant("done"))
	if err := h.SavePartial(t.Context(), 5, []byte("state")); err != nil {
		t.Fatal(err)
	}
	return mustCommit(t, h, "weights")
}

func TestWhatNobodyNeedsIsSweptAfterItsGrace(t *testing.T) {
	store := artifacttest.NewMemory()
	m := litter(t, store)
	s := over(store)
	if young := sweep(t, s, artifact.SweepOptions{}); young.Objects != 0 {
		t.Errorf("swept %+v within the grace", young)
	}
	store.Age(2 * day)
	before := store.Keys("")
	dry := sweep(t, s, artifact.SweepOptions{DryRun: true})
	if after := store.Keys(""); !slices.Equal(before, after) {
		t.Error("a dry run changed the store")
	}
	swept := sweep(t, s, artifact.SweepOptions{})
	want := map[string]int{artifact.SweptUnnamed: 2, artifact.SweptLease: 4, artifact.SweptCheckpoint: 2, artifact.SweptCheck: 1}
	for why, n := range want {
		if reasons(swept)[why] != n || reasons(dry)[why] != n {
			t.Errorf("%s: swept %d, announced %d; want %d", why, reasons(swept)[why], reasons(dry)[why], n)
		}
	}
	if keys := store.Keys(""); len(keys) != 3 || swept.Objects != 9 || swept.Bytes < 3*7 {
		t.Errorf("left %q after %+v", keys, swept)
	}
	if _, err := s.Verify(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
}

func TestAStepUnderWayIsNotSwept(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	s.LeaseFor = 50 * time.Millisecond
	h := held(t, s, claimant("a"))
	if err := h.SavePartial(t.Context(), 5, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), trainFolder+"a-t1/policy.bin", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	store.Age(2 * day)
	until(t, "the lease is renewed", func() bool {
		listed, err := store.List(t.Context(), trainFolder+"lease/")
		return err == nil && len(listed) == 1 && time.Since(listed[0].Modified) < day
	})
	if swept := sweep(t, s, artifact.SweepOptions{Referenced: map[experiment.StepID]bool{}}); swept.Objects != 0 {
		t.Errorf("swept %+v", swept)
	}
	mustCommit(t, h, "weights")
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestAHolderThatSleptPastTheGraceCannotCommitWhatWasSwept stops a holder for
// days, after it had written its objects.
func TestAHolderThatSleptPastTheGraceCannotCommitWhatWasSwept(t *testing.T) {
	store := artifacttest.NewMemory()
	cut := &stuck{Memory: store}
	late := held(t, over(cut), claimant("late"))
	cut.mu.Lock()
	if err := store.Put(t.Context(), trainFolder+"late-t1/policy.bin", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	store.Age(2 * day)
	if swept := sweep(t, over(store), artifact.SweepOptions{}); reasons(swept)[artifact.SweptUnnamed] != 1 {
		t.Errorf("swept %+v", swept)
	}
	cut.mu.Unlock()
	if _, err := late.Commit(t.Context(), nil, begun, files(t, "late")); !errors.Is(err, artifact.ErrLost) {
		t.Errorf("the late commit: %v; want ErrLost", err)
	}
}

func TestCheckpointsOfAStepThatIsNotDoneStay(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	h := held(t, s, claimant("cancelled"))
	if err := h.SavePartial(t.Context(), 5, []byte("state")); err != nil {
		t.Fatal(err)
	}
	h.Release()
	store.Age(30 * day)
	if swept := sweep(t, s, artifact.SweepOptions{}); swept.Objects != 0 {
		t.Errorf("swept %+v", swept)
	}
	if swept := sweep(t, s, artifact.SweepOptions{Referenced: map[experiment.StepID]bool{train: true}}); swept.Objects != 0 {
		t.Errorf("swept of a step that is referred to: %+v", swept)
	}
	if swept := sweep(t, s, artifact.SweepOptions{Referenced: map[experiment.StepID]bool{}}); reasons(swept)[artifact.SweptUnreferenced] != 4 {
		t.Errorf("swept %+v; want all of a step that nothing refers to", swept)
	}
}

func TestADamagedStepIsFoundSetAsideAndDoneAgain(t *testing.T) {
	for name, harm := range map[string]func(*artifacttest.Memory, string){
		"a flipped bit":    func(m *artifacttest.Memory, key string) { m.Corrupt(key) },
		"a missing object": func(m *artifacttest.Memory, key string) { _ = m.Delete(context.Background(), key) },
		"a torn manifest": func(m *artifacttest.Memory, _ string) {
			_ = m.Put(context.Background(), trainManifest, strings.NewReader(`{"schema":`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := artifacttest.NewMemory()
			s := over(store)
			first := mustCommit(t, held(t, s, claimant("first")), "weights")
			if _, err := s.Verify(t.Context(), train); err != nil {
				t.Fatal(err)
			}
			f, _ := first.File("policy.bin")
			harm(store, f.Object)
			var corrupt *artifact.CorruptError
			if _, err := s.Verify(t.Context(), train); !errors.As(err, &corrupt) {
				t.Fatalf("verify: %v; want a CorruptError", err)
			}
			to, err := s.Quarantine(t.Context(), train)
			if err != nil || len(store.Keys(to)) != 1 {
				t.Fatalf("quarantine to %q: %v", to, err)
			}
			if _, err := s.Verify(t.Context(), train); !errors.Is(err, artifact.ErrNotFound) {
				t.Errorf("verify after quarantine: %v; want ErrNotFound", err)
			}
			second := mustCommit(t, held(t, s, claimant("second")), "weights")
			g, _ := second.File("policy.bin")
			if g.SHA256 != f.SHA256 || g.Object == f.Object {
				t.Errorf("done again as %+v; was %+v", g, f)
			}
			store.Age(30 * day)
			sweep(t, s, artifact.SweepOptions{})
			if kept := store.Keys(trainFolder + "first-t1/"); len(kept) == 0 {
				t.Error("what was set aside was swept")
			}
			if _, err := s.Verify(t.Context(), train); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAFinishedCommitDoesNotComeBackFromQuarantine quarantines a step whose lease
// still holds its manifest, because the step had been taken over once.
func TestAFinishedCommitDoesNotComeBackFromQuarantine(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	held(t, s, claimant("first")).Release()
	mustCommit(t, held(t, s, claimant("second")), "weights")
	if _, err := s.Quarantine(t.Context(), train); err != nil {
		t.Fatal(err)
	}
	if h := held(t, s, claimant("third")); h.Token() != 4 {
		t.Errorf("token %d; want 4: after the two and the quarantine's", h.Token())
	}
}

func TestUnfinishedWorkStaysUntilItsStepIsDone(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	h := held(t, s, claimant("asks"))
	kept := []string{
		artifact.WorkFolder(h.ID(), artifact.FolderAnswers) + "/0001.jsonl.zst",
		artifact.WorkFolder(h.ID(), artifact.FolderJob) + "/train-1/checkpoints/step-000010/manifest.json",
	}
	for _, key := range kept {
		if err := store.Put(t.Context(), key, strings.NewReader("paid for")); err != nil {
			t.Fatal(err)
		}
	}
	h.Release()
	store.Age(2 * day)
	sweep(t, s, artifact.SweepOptions{})
	for _, key := range kept {
		if !slices.Contains(store.Keys(""), key) {
			t.Errorf("%s is gone, and the step is not done", key)
		}
	}
	mustCommit(t, held(t, s, claimant("goes-on")), "weights")
	store.Age(2 * day)
	if swept := sweep(t, s, artifact.SweepOptions{}); reasons(swept)[artifact.SweptCheckpoint] != len(kept) {
		t.Errorf("swept %+v; want the unfinished work of a step that is done", swept)
	}
}
