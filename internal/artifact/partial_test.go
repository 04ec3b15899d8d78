package artifact_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

const partials = trainFolder + "partial/"

func save(t *testing.T, s artifact.Steps, step int, state string) {
	t.Helper()
	if err := s.SavePartial(t.Context(), train, step, []byte(state)); err != nil {
		t.Fatal(err)
	}
}

func wantLatest(t *testing.T, s artifact.Steps, step int, state string) {
	t.Helper()
	gotStep, got, ok, err := s.LatestPartial(t.Context(), train)
	if err != nil || !ok || gotStep != step || string(got) != state {
		t.Errorf("latest partial: step %d, %q, %v, %v; want step %d, %q", gotStep, got, ok, err, step, state)
	}
}

func wantNone(t *testing.T, s artifact.Steps) {
	t.Helper()
	if step, _, ok, err := s.LatestPartial(t.Context(), train); ok || err != nil {
		t.Errorf("latest partial: step %d, %v, %v; want none", step, ok, err)
	}
}

func objectOf(t *testing.T, store *artifacttest.Memory, step int, file string) string {
	t.Helper()
	for _, k := range store.Keys(fmt.Sprintf("%s00000000-%08d-", partials, step)) {
		if strings.HasSuffix(k, "/"+file) {
			return k
		}
	}
	t.Fatalf("no %s of step %d in %q", file, step, store.Keys(partials))
	return ""
}

func TestTheNewestPartialIsTheLatest(t *testing.T) {
	s := over(artifacttest.NewMemory())
	wantNone(t, s)
	for _, step := range []int{0, 9, 10, 100} {
		save(t, s, step, fmt.Sprint("state ", step))
		wantLatest(t, s, step, fmt.Sprint("state ", step))
	}
}

func TestTwoPartialsAreKept(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	for step := range 5 {
		save(t, s, step*50, strings.Repeat("x", step))
	}
	if keys := store.Keys(partials); len(keys) != 4 {
		t.Errorf("kept %q; want two states with their records", keys)
	}
	objectOf(t, store, 200, "state")
	objectOf(t, store, 150, "state")
	save(t, s, 200, "xxxx") // saving again changes nothing
	if keys := store.Keys(partials); len(keys) != 4 {
		t.Errorf("kept %q; want two states with their records", keys)
	}
}

func TestDamagedPartialsArePassedOverAndTold(t *testing.T) {
	damage := map[string]func(*testing.T, *artifacttest.Memory){
		"damaged state":  func(t *testing.T, m *artifacttest.Memory) { m.Corrupt(objectOf(t, m, 100, "state")) },
		"damaged record": func(t *testing.T, m *artifacttest.Memory) { m.Corrupt(objectOf(t, m, 100, "manifest.json")) },
		"missing state": func(t *testing.T, m *artifacttest.Memory) {
			_ = m.Delete(t.Context(), objectOf(t, m, 100, "state"))
		},
		"missing record": func(t *testing.T, m *artifacttest.Memory) {
			_ = m.Delete(t.Context(), objectOf(t, m, 100, "manifest.json"))
		},
		"record of another step": func(t *testing.T, m *artifacttest.Memory) {
			_ = m.Put(t.Context(), objectOf(t, m, 100, "manifest.json"), strings.NewReader(`{"schema":"floe.partial/v1","step":7}`))
		},
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			store := artifacttest.NewMemory()
			s := over(store)
			var told bytes.Buffer
			s.Log = logTo(&told)
			save(t, s, 50, "good")
			save(t, s, 100, "better")
			do(t, store)
			wantLatest(t, s, 50, "good")
			if !strings.Contains(told.String(), "00000100-") {
				t.Errorf("the log does not name the partial that was passed over: %s", told.String())
			}
			save(t, s, 100, "better") // the resumed work mends it
			wantLatest(t, s, 100, "better")
		})
	}
}

func TestDeathInsideASaveLeavesTheOneBefore(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	save(t, s, 50, "good")
	store.BeforePut = artifacttest.Nth(2, errors.New("killed"))
	if err := s.SavePartial(t.Context(), train, 100, []byte("torn")); err == nil {
		t.Fatal("the save worked; the case is broken")
	}
	wantLatest(t, s, 50, "good")
	save(t, s, 100, "other state of the same step")
	wantLatest(t, s, 100, "other state of the same step")
	save(t, s, 150, "next")
	if keys := store.Keys(partials); len(keys) != 4 {
		t.Errorf("kept %q; want the torn one to be gone", keys)
	}
}

func TestWorkThatStartsOverIsSavedAgain(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	save(t, s, 100, "a")
	save(t, s, 150, "b")
	store.Corrupt(objectOf(t, store, 100, "state"))
	store.Corrupt(objectOf(t, store, 150, "state"))
	wantNone(t, s)
	save(t, s, 50, "from the start")
	wantLatest(t, s, 50, "from the start")
}

func TestDroppedPartialsAreGone(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	save(t, s, 50, "a")
	save(t, s, 100, "b")
	m := commit(t, s, "run-1", "done")
	if err := s.DropPartials(t.Context(), train); err != nil {
		t.Fatal(err)
	}
	wantNone(t, s)
	if keys := store.Keys(partials); len(keys) != 0 {
		t.Errorf("left %q", keys)
	}
	if _, err := s.Read(t.Context(), m, "policy.bin"); err != nil {
		t.Errorf("the step itself was harmed: %v", err)
	}
	if err := s.DropPartials(t.Context(), train); err != nil {
		t.Errorf("dropping nothing: %v", err)
	}
}

func TestImpossiblePartialsAreRefused(t *testing.T) {
	s := over(artifacttest.NewMemory())
	for _, step := range []int{-1, 100_000_000} {
		if err := s.SavePartial(t.Context(), train, step, nil); err == nil {
			t.Errorf("step %d was accepted", step)
		}
	}
}
