package artifact_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/experiment"
)

// relisting is a store whose listings a test changes; n counts them from 1.
type relisting struct {
	*artifacttest.Memory
	n      int
	change func(n int, prefix string, listed []artifact.Object) []artifact.Object
}

func (r *relisting) List(ctx context.Context, prefix string) ([]artifact.Object, error) {
	listed, err := r.Memory.List(ctx, prefix)
	r.n++
	return r.change(r.n, prefix, listed), err
}

func drop(listed []artifact.Object, part string) []artifact.Object {
	return slices.DeleteFunc(listed, func(o artifact.Object) bool { return strings.Contains(o.Key, part) })
}

// old is a store with a step that is done, and garbage around it, all past the grace.
func old(t *testing.T) *artifacttest.Memory {
	t.Helper()
	store := artifacttest.NewMemory()
	litter(t, store)
	store.Age(2 * day)
	return store
}

var nothing = map[experiment.StepID]bool{}

func TestNothingIsSweptOnDoubtfulEvidence(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(n int, prefix string, listed []artifact.Object) []artifact.Object
	}{
		{"the second listing lacks an object", "two listings of steps/ disagree", func(n int, prefix string, listed []artifact.Object) []artifact.Object {
			if prefix == "steps/" && n%2 == 1 {
				return drop(listed, "policy.bin")
			}
			return listed
		}},
		{"the first listing lacks an object", "two listings of steps/ disagree", func(n int, prefix string, listed []artifact.Object) []artifact.Object {
			if prefix == "steps/" && n%2 == 0 {
				return drop(listed, "policy.bin")
			}
			return listed
		}},
		{"both lack the manifest", "can be read and is not listed", func(_ int, prefix string, listed []artifact.Object) []artifact.Object {
			if prefix == "steps/" {
				return drop(listed, "/manifest.json")
			}
			return listed
		}},
		{"a manifest is listed that is not there", "is listed and cannot be read", func(_ int, prefix string, listed []artifact.Object) []artifact.Object {
			if prefix != "steps/" {
				return listed
			}
			ghost := artifact.Object{Key: "steps/zz/ghost/manifest.json", Modified: listed[0].Modified}
			return append(listed, ghost)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := old(t)
			before := store.Keys("")
			s := artifact.Steps{Store: &relisting{Memory: store, change: c.change}}
			_, err := s.Sweep(t.Context(), artifact.SweepOptions{Older: day, Referenced: nothing})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing was deleted") {
				t.Errorf("got %v; want an error with %q", err, c.want)
			}
			if after := store.Keys(""); !slices.Equal(before, after) {
				t.Errorf("%d objects of %d are left", len(after), len(before))
			}
		})
	}
}

func TestNothingIsSweptWhileAManifestCannotBeRead(t *testing.T) {
	for name, harm := range map[string]func(*artifacttest.Memory){
		"torn": func(m *artifacttest.Memory) {
			_ = m.Put(context.Background(), trainManifest, strings.NewReader("torn"))
			m.Age(2 * day)
		},
		"not given": func(m *artifacttest.Memory) {
			m.OnGet = func(key string, content []byte) ([]byte, error) {
				if key == trainManifest {
					return nil, errors.New("disk error")
				}
				return content, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := old(t)
			if err := store.Put(t.Context(), "steps/other/k/dead-t1/f", strings.NewReader("garbage")); err != nil {
				t.Fatal(err)
			}
			harm(store)
			store.Age(2 * day)
			before := store.Keys("")
			_, err := over(store).Sweep(t.Context(), artifact.SweepOptions{Older: day, Referenced: nothing})
			if err == nil || name == "torn" && !strings.Contains(err.Error(), "nothing was deleted: 1 manifests cannot be read: "+train.Kind+"/"+train.Key) {
				t.Errorf("got %v; want it to name the manifest", err)
			}
			if after := store.Keys(""); !slices.Equal(before, after) {
				t.Errorf("%d objects of %d are left", len(after), len(before))
			}
		})
	}
}

func TestWhatIsSweptLiesInQuarantineAndComesBack(t *testing.T) {
	store := old(t)
	s := over(store)
	before := store.Keys("steps/")
	o := artifact.SweepOptions{Keep: 7 * day, Referenced: nothing}
	swept := sweep(t, s, o)
	if left := store.Keys("steps/"); len(left) != 0 || swept.Aside == "" || swept.Until == nil {
		t.Fatalf("left %q after %+v; want all in quarantine", left, swept)
	}
	if got := store.Keys("quarantine/swept/" + swept.Aside + "/steps/"); len(got) != len(before) {
		t.Errorf("the quarantine has %d objects; want %d", len(got), len(before))
	}
	if again := sweep(t, s, o); again.Objects != 0 || again.Purged.Objects != 0 {
		t.Errorf("the next sweep took %+v", again)
	}
	moments, err := s.Moments(t.Context())
	if err != nil || !slices.Equal(moments, []string{swept.Aside}) {
		t.Errorf("the quarantine has %q, %v; want %q", moments, err, swept.Aside)
	}
	back, err := s.Restore(t.Context(), swept.Aside)
	if err != nil || back.Objects != len(before) || len(back.Taken) != 0 {
		t.Errorf("restored %+v, %v; want %d objects", back, err, len(before))
	}
	if after := store.Keys("steps/"); !slices.Equal(before, after) {
		t.Errorf("restored %q; want %q", after, before)
	}
	if _, err := s.Verify(t.Context(), train); err != nil {
		t.Error(err)
	}
	if _, err := s.Restore(t.Context(), swept.Aside); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("restored twice: %v; want ErrNotFound", err)
	}
}

func TestWhatWasSweptLeavesTheQuarantineAfterItsTime(t *testing.T) {
	store := old(t)
	s := over(store)
	o := artifact.SweepOptions{Keep: 7 * day, Referenced: nothing}
	swept := sweep(t, s, o)
	store.Age(8 * day)
	dry := o
	dry.DryRun = true
	if looked := sweep(t, s, dry); looked.Purged.Objects == 0 || len(store.Keys("quarantine/")) != looked.Purged.Objects {
		t.Errorf("a dry run says %+v and leaves %d", looked.Purged, len(store.Keys("quarantine/")))
	}
	purged := sweep(t, s, o)
	if left := store.Keys(""); len(left) != 0 || purged.Purged.Objects == 0 || purged.Purged.Bytes == 0 {
		t.Errorf("left %q after %+v, which followed %+v", left, purged, swept)
	}
}

func TestARestoreNeverWritesOverWhatWasDoneAgain(t *testing.T) {
	store := old(t)
	s := over(store)
	swept := sweep(t, s, artifact.SweepOptions{Keep: 7 * day, Referenced: nothing})
	again := mustCommit(t, held(t, s, claimant("again")), "weights")
	back, err := s.Restore(t.Context(), swept.Aside)
	if err != nil || !slices.Contains(back.Taken, trainManifest) {
		t.Errorf("restored %+v, %v; want the manifest to be left in quarantine", back, err)
	}
	if m, done, err := s.Find(t.Context(), train); err != nil || !done || m.Attempt != again.Attempt {
		t.Errorf("found %+v, %v, %v; want the step as it was done again", m, done, err)
	}
}

// TestAFullStoreIsSweptFree refuses every write: neither the time can be asked with
// one, nor has the quarantine room.
func TestAFullStoreIsSweptFree(t *testing.T) {
	store := old(t)
	s := over(store)
	if err := store.Put(t.Context(), "steps/other/k/dead-t1/f", strings.NewReader("garbage")); err != nil {
		t.Fatal(err)
	}
	store.Age(2 * day)
	store.BeforePut = func(string) error { return fmt.Errorf("no room: %w", artifact.ErrFull) }
	swept, err := s.Sweep(t.Context(), artifact.SweepOptions{Older: day, Keep: 7 * day})
	if err != nil || !swept.Full || swept.Objects == 0 || swept.Aside != "" {
		t.Errorf("swept %+v, %v; want garbage to be deleted at once", swept, err)
	}
	if left := store.Keys("steps/other/"); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	if _, err := s.Verify(t.Context(), train); err != nil {
		t.Error(err)
	}
}

// TestAFullStoreKeepsWhatAnAttemptMayStillCommit has an attempt that was stopped: to
// take it over needs a write.
func TestAFullStoreKeepsWhatAnAttemptMayStillCommit(t *testing.T) {
	store := artifacttest.NewMemory()
	cut := &stuck{Memory: store}
	late := held(t, over(cut), claimant("late"))
	cut.mu.Lock()
	if err := store.Put(t.Context(), trainFolder+"late-t1/policy.bin", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	store.Age(2 * day)
	store.BeforePut = func(string) error { return fmt.Errorf("no room: %w", artifact.ErrFull) }
	swept, err := over(store).Sweep(t.Context(), artifact.SweepOptions{Older: day, Keep: 7 * day})
	if err != nil || swept.Objects != 0 || !slices.Equal(swept.Held, []string{train.Kind + "/" + train.Key}) {
		t.Errorf("swept %+v, %v; want the step to be held back", swept, err)
	}
	store.BeforePut = nil
	cut.mu.Unlock()
	mustCommit(t, late, "late")
}

func TestADoneStepWithoutItsFilesKeepsWhatItCouldBeMendedFrom(t *testing.T) {
	store := old(t)
	if err := store.Delete(t.Context(), store.Keys(trainFolder + "done-t2/")[0]); err != nil {
		t.Fatal(err)
	}
	before := store.Keys(trainFolder)
	swept := sweep(t, over(store), artifact.SweepOptions{})
	if after := store.Keys(trainFolder); !slices.Equal(before, after) || !slices.Equal(swept.Incomplete, []string{train.Kind + "/" + train.Key}) {
		t.Errorf("swept %+v; want nothing of a damaged step to go", swept)
	}
}
